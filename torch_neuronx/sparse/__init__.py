"""Kernels of sparse tensors that PyTorch leaves to a backend: see torch_neuronx.layouts.

Each is a few programs on indices and values. Nothing is made dense, and the host reads numbers only
where a shape depends on data. docs/sparse.md is the user's view.
"""

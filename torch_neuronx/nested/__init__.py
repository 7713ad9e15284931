"""Kernels of strided nested tensors that PyTorch leaves to a backend: see torch_neuronx.layouts.

The jagged layout needs none: it is a subclass in Python over operators on its values and offsets.
docs/nested.md is the user's view.
"""

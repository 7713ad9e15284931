"""`python -m torch_neuronx.sweep`: every architecture of Transformers, timm and Diffusers, reduced,
on the device beside the CPU.

Nothing here is imported by the backend. `catalog` lists what there is, `reduction` and `inputs`
make a small model and a batch for it, `checks` compares, `workers` runs the checks in processes
that may crash, `results` and `page` keep and show what was found.
"""

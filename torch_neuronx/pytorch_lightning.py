"""Makes the device known to the package pytorch_lightning, as torch_neuronx.lightning does to
lightning: `pytorch_lightning.Trainer(accelerator="neuron", strategy="neuron")`."""

from torch_neuronx._lightning import register

NeuronAccelerator, NeuronStrategy = register("pytorch_lightning")

__all__ = ["NeuronAccelerator", "NeuronStrategy"]

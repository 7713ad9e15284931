"""Makes the device known to Lightning: `import torch_neuronx.lightning`, then

    lightning.Trainer(accelerator="neuron", strategy="neuron")
    lightning.Fabric(accelerator="neuron", strategy="neuron")

Imported by the user, and only then is lightning imported. `torch_neuronx.pytorch_lightning` does
the same for the package pytorch_lightning, whose classes are others.
"""

from torch_neuronx._lightning import register

NeuronAccelerator, NeuronStrategy = register("lightning.pytorch")
FabricNeuronAccelerator, FabricNeuronStrategy = register("lightning.fabric")

__all__ = [
    "FabricNeuronAccelerator",
    "FabricNeuronStrategy",
    "NeuronAccelerator",
    "NeuronStrategy",
]

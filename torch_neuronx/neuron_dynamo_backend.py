"""The settings of torch.compile's backend "neuron" under the name that TorchNeuron gives them."""

from torch_neuronx.compile.options import set_model_name

__all__ = ["set_model_name"]

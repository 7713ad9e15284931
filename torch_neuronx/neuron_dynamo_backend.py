"""What TorchNeuron has under this name for torch.compile's backend "neuron"."""

from torch_neuronx.compile.options import set_model_name
from torch_neuronx.runtime.metrics import get_dynamo_metrics, reset_dynamo_metrics

__all__ = ["get_dynamo_metrics", "reset_dynamo_metrics", "set_model_name"]

"""What Inductor, which has no code for the device, finds when given neuron tensors: a refusal.

Inductor asks a private backend's device module for these classes (`init_backend_registration`) and
uses them only for graphs of that device. torch.neuron hands them out by name.
"""

from __future__ import annotations

from typing import Any, NoReturn

from torch._inductor.codegen.common import DeviceOpOverrides, register_device_op_overrides


class _Refusing(type):
    """Of a class whose first use, of an attribute or a call, says that there is no such thing."""

    def __getattr__(cls, name: str) -> NoReturn:
        raise RuntimeError(
            "torch.compile's backend 'inductor' has no code for neuron tensors: use "
            "torch.compile(..., backend='neuron')."
        )

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls.refused


class Scheduling(metaclass=_Refusing):
    pass


PythonWrapperCodegen = CppWrapperCodegen = WrapperFxCodegen = Scheduling

register_device_op_overrides("neuron", DeviceOpOverrides())

"""The options that a program is compiled with, as a serialized CompileOptionsProto.

XLA:CPU has two generations of code generators. The newer one, its default, makes better code of
some operations on large tensors and takes longer to make any. So a `quick` compile, for programs of
few elements, asks for the older one, and for loops that are not unrolled. Used by identity, cache
and platforms.
"""

from collections.abc import Iterator
from functools import cache

from torch_neuronx.runtime import platforms

# Programs whose largest tensor has so many elements run as fast either way, nearly all of them.
FEW_ELEMENTS = 16384
_QUICK = ("xla_cpu_disable_new_fusion_emitters", "xla_cpu_disable_loop_unrolling")

# Numbers of fields, from xla/pjrt/proto/compile_options.proto and xla/xla.proto.
_EXECUTABLE_OPTIONS = 2  # of ExecutableAndOptionsProto, which is what a plugin serializes
_BUILD_OPTIONS, _OVERRIDES = 3, 7  # of CompileOptionsProto
_DEBUG_OPTIONS, _DEVICE_ASSIGNMENT = 3, 9  # of ExecutableBuildOptionsProto
_BACKEND_EXTRA_OPTIONS = 500  # of DebugOptions

_CONSTANT = b"""
func.func public @main() -> tensor<f32> {
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  return %0 : tensor<f32>
}
"""


def compile_options(device: int, quick: bool = False) -> bytes:
    """The options of programs that run on `device`: one replica, one partition.

    An executable is compiled once and loaded for each device it runs on: a launch of a portable
    one is about 1.2 us slower. XLA:CPU is told to let NaN win minima and maxima, which its "fast"
    ones lose, and to leave out XNNPACK, which keeps the packed weights of a matmul for as long as
    their address stays the same: an update in place would go unseen.
    """
    assignment = bytes.fromhex("080110011a030a01") + bytes([device])
    build = bytes.fromhex("08ffffffffffffffffff0120012801")
    return (
        _field(_BUILD_OPTIONS, build + _field(_DEVICE_ASSIGNMENT, assignment))
        + _switched_off("xla_cpu_enable_fast_min_max")
        + _switched_off("xla_cpu_use_xnnpack")
        + (_quick_options() if quick else b"")
    )


def debug_options(executable: bytes) -> bytes:
    """The DebugOptions that a serialized executable was compiled with. Raises LookupError."""
    message = executable
    for number in (_EXECUTABLE_OPTIONS, _BUILD_OPTIONS, _DEBUG_OPTIONS):
        message = dict(fields(message))[number]
    return message


@cache
def _quick_options() -> bytes:
    """What a quick compile adds: nothing where the plugin is not XLA:CPU's, or one so old that its
    executables do not say how they were compiled.

    No override can set an entry of a map, which the extra options are. So the plugin's own
    DebugOptions go back to it with our entries; each executable that it serializes has them.
    """
    client = platforms.client()
    if client.platform_name != "cpu":
        return b""
    try:
        known = debug_options(client.compile(_CONSTANT, compile_options(0)).serialize())
    except (RuntimeError, LookupError):
        return b""
    entries = (_field(1, name.encode()) + _field(2, b"") for name in _QUICK)
    extra = b"".join(_field(_BACKEND_EXTRA_OPTIONS, entry) for entry in entries)
    return _field(_BUILD_OPTIONS, _field(_DEBUG_OPTIONS, known + extra))


def _switched_off(name: str) -> bytes:
    """The override of a flag: an OptionOverrideProto whose bool_field is false."""
    return _field(_OVERRIDES, _field(1, name.encode()) + _field(2, b"\x10\x00"))


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    groups = []
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*groups, value])


def fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Number and content of each field of a protobuf message. Raises LookupError."""
    at = 0
    while at < len(message):
        tag, at = _read_varint(message, at)
        start = at
        match tag & 7:
            case 0:
                _, at = _read_varint(message, at)
            case 1:
                at += 8
            case 2:
                length, start = _read_varint(message, at)
                at = start + length
            case 5:
                at += 4
            case _:
                raise LookupError("this is not a protobuf message")
        yield tag >> 3, message[start:at]


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    """The number at an offset, and the offset behind it."""
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at

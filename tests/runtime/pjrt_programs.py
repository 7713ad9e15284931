"""What the tests of the PJRT layer share: the plugins, small programs and how to run them.

No tests, and no tensors on a neuron device: test_pjrt.py and test_pjrt_client.py use it.
"""

import importlib.util
from pathlib import Path

import torch

# Importable package -> the plugin in its folder.
PLUGINS = {
    "lammps_jax_pjrt_cpu": "pjrt_c_api_cpu_plugin.so",
    "xla_plugins.xla_cpu_pjrt": "xla_cpu_pjrt.so",
}

# CompileOptionsProto: device_ordinal -1, one replica, one partition, compile_portable_executable.
PORTABLE = b"\x1a\x0f\x08" + b"\xff" * 9 + b"\x01\x20\x01\x28\x01\x20\x01"

ADD = b"""module {
  func.func @main(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = stablehlo.add %a, %b : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}"""

ADD_IN_PLACE = ADD.replace(
    b"%a: tensor<4x4xf32>", b"%a: tensor<4x4xf32> {tf.aliasing_output = 0 : i32}"
)

TRANSPOSE = b"""module {
  func.func @main(%a: tensor<2x3xf32>) -> tensor<3x2xf32> {
    %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    return %0 : tensor<3x2xf32>
  }
}"""

# Column-major result: its device layout is not the default one.
TRANSPOSE_COLUMN_MAJOR = TRANSPOSE.replace(
    b"-> tensor<3x2xf32> {\n    %0", b'-> (tensor<3x2xf32> {mhlo.layout_mode = "{0,1}"}) {\n    %0'
)

SLOW = b"""module {
  func.func @main(%a: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
    %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0]
        : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    return %0 : tensor<1024x1024xf32>
  }
}"""

# 2**45 floats: more than any machine's address space has left.
HUGE = b"""module {
  func.func @main(%a: tensor<f32>) -> tensor<35184372088832xf32> {
    %0 = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<35184372088832xf32>
    return %0 : tensor<35184372088832xf32>
  }
}"""

MATRIX = [(torch.float32, [4, 4])]


def find_plugins():
    paths = []
    for package, file in PLUGINS.items():
        try:
            spec = importlib.util.find_spec(package)
        except ModuleNotFoundError:
            continue
        if spec is not None:
            paths += [Path(folder) / file for folder in spec.submodule_search_locations or []]
    return [path for path in paths if path.exists()]


def put(client, tensor, device=0):
    data = tensor.contiguous().view(-1).view(torch.uint8) if tensor.numel() else tensor.new_empty(0)
    return client.from_host(bytes(data.tolist()), tensor.dtype, list(tensor.shape), device)


def get(buffer):
    contents = bytearray(buffer.to_host())
    if not contents:
        return torch.empty(buffer.dims, dtype=buffer.dtype)
    return torch.frombuffer(contents, dtype=torch.uint8).view(buffer.dtype).view(buffer.dims)


def run(client, program, arguments, results=MATRIX, non_donatable=(), device=0):
    executable = client.compile(program, PORTABLE)
    outputs, done = client.execute(executable, arguments, results, list(non_donatable), device)
    done.wait()
    return outputs


def matrix(value):
    return torch.full((4, 4), float(value))

// What the boxed kernel needs to know of an operator, analysed once.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace neuron::dispatch {

// How an operator reaches the device; decided by its entry in the lowering
// registry (torch_neuronx/lowering/registry.py).
enum class Road : uint8_t {
  Unknown,    // not asked yet
  Program,    // a rule or a decomposition makes a program
  Composite,  // PyTorch's own kernel in terms of other operators
  Host,       // runs on the CPU
};

enum class ArgKind : uint8_t { Tensor, TensorList, Number, NumberList, Plain };

struct ArgInfo {
  ArgKind kind;
  bool runtime = false;  // a number that is an input of the program, not part of it
  bool written = false;
  c10::TypePtr type;          // without Optional
  c10::IValue default_value;  // None where the schema has none
};

struct OpInfo {
  explicit OpInfo(const c10::OperatorHandle& op);

  c10::OperatorHandle op;
  std::string name;  // "aten::add.Tensor"
  uint64_t id;       // dense, process-local
  std::vector<ArgInfo> args;
  size_t num_returns;
  bool host_indices;    // index tensors may live on the CPU (x[cpu_index])
  bool is_range;        // its numbers make the result's shape: arange
  bool notes_writes;    // its kernel tells autograd of its writes: PyTorch's own of _foreach_ do
  bool uses_precision;  // contracts in float32: torch.set_float32_matmul_precision is in the key

  std::atomic<Road> road{Road::Unknown};
  std::string host_reason;
  std::atomic<int64_t> executed{0};
  std::atomic<int64_t> fallbacks{0};
};

// The one OpInfo of an operator; made on first use, lives as long as the process.
OpInfo& op_info(const c10::OperatorHandle& op);
// All operators seen so far.
std::vector<OpInfo*> known_ops();

}  // namespace neuron::dispatch

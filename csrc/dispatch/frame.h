// One call of an operator, seen by the dispatcher: its tensors, the storages
// behind them, its run-time numbers, and the key that names its program.
#pragma once

#include "csrc/device/slot.h"
#include "csrc/dispatch/op_info.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <forward_list>
#include <optional>
#include <string>
#include <vector>

namespace neuron::dispatch {

using Key = c10::SmallVector<uint64_t, 64>;

// A storage among the arguments. `buffer` is null for an uninitialized one.
struct Base {
  device::Slot* slot;
  c10::StorageImpl* storage;
  pjrt::BufferPtr buffer;
};

struct TensorArg {
  const at::Tensor* tensor;  // on the stack, or among the frame's moved ones
  int base;
  bool written;
  bool requires_offset;  // its storage offset is an input of the program
};

// A run-time number or a list of them: `count` values of `dtype` at `bytes`.
struct NumberArg {
  c10::ScalarType dtype;
  bool wrapped;  // promotes as a Python number
  bool is_list;
  c10::SmallVector<uint8_t, 16> bytes;
  int64_t count;
};

class Frame {
 public:
  // Analyses the top of the stack. Throws PyTorch's device mismatch error.
  Frame(const OpInfo& info, torch::jit::Stack& stack);

  const OpInfo& info;
  torch::jit::Stack& stack;
  c10::SmallVector<TensorArg, 8> tensors;
  c10::SmallVector<Base, 8> bases;
  c10::SmallVector<NumberArg, 4> numbers;
  Key key;
  uint64_t hash;
  int device = -1;
  std::optional<at::Generator> generator;

  c10::ArrayRef<c10::IValue> arguments() const {
    return torch::jit::last(stack, info.args.size());
  }
  // Whether the argument's number, or its list of numbers, is an input of this call's program.
  bool is_runtime(const ArgInfo& arg, const c10::IValue& value) const;
  // Per tensor: whether the caller kept no reference to it. Empty: it kept them all.
  std::vector<bool> given_away;
  // Whether nothing but the call refers to the base's storage.
  bool is_dying(int base) const;
  // Whether a tensor on the host is moved to the device (x[cpu_index]).
  bool is_moved(const at::Tensor& tensor, bool written) const;

 private:
  std::forward_list<at::Tensor> moved_;
  bool numbers_are_static_ = false;

  bool add_range_count();
  void add_argument(const ArgInfo& arg, const c10::IValue& value);
  void add_tensor(const at::Tensor& tensor, bool written);
  void add_device_tensor(const at::Tensor& tensor, bool written);
  void add_overlaps(const at::Tensor& tensor, int base, bool written);
  void add_host_tensor(const at::Tensor& tensor, bool written);
  int add_base(const at::Tensor& tensor);
  void add_number(const ArgInfo& arg, const c10::IValue& value);
  void add_number_list(const c10::IValue& value);
  void add_plain(const c10::IValue& value);
  void tag(uint64_t kind, uint64_t payload = 0) {
    key.push_back(kind << 56 | payload);
  }
  void set_device(at::Device device);
};

// Whether a run-time number has its schema's default value: then it is no input.
bool is_default(const ArgInfo& arg, const c10::IValue& value);

// The key as bytes that mean the same in every process.
std::string portable_key(const Frame& frame);

}  // namespace neuron::dispatch

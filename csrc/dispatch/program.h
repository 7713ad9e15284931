// A compiled operator call, as the miss handler returns it and the table keeps it.
#pragma once

#include "csrc/pjrt/executable.h"

#include <ATen/core/ivalue.h>
#include <c10/core/ScalarType.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace neuron::dispatch {

// One parameter of the program, in order.
struct Input {
  enum Kind : uint8_t { Base, Number, Offset, Rng } kind;
  int index = 0;  // of the base, the run-time number or the tensor
};

// The dimension of a new tensor whose size depends on the data.
struct Counted {
  int64_t dim;
  int count;         // which of the program's counts it has
  pjrt::Dims order;  // the dimensions from the outermost in memory on
};

// One result of the program, in order. `Counts` are the sizes that depend on the data, int64.
struct Result {
  enum Kind : uint8_t { New, Write, Check, Counts } kind;
  c10::ScalarType dtype = c10::ScalarType::Undefined;
  pjrt::Dims physical;        // dims of the buffer
  pjrt::Dims sizes, strides;  // New: of the tensor, or the largest that it may have
  std::optional<Counted> counted;
  size_t nbytes = 0;
  int base = -1;  // Write: whose slot receives the buffer
};

// How a returned tensor sees the storage of another one, in elements of its own dtype.
struct View {
  c10::ScalarType dtype;
  std::vector<int64_t> sizes, strides;
  int64_t offset;  // from where the other tensor begins
  bool conj, neg;  // of what is there
};

// One value that the operator returns. What a base was written with can be returned too, through a
// view: as a tensor of its own, which has the base's buffer until one of them is written.
struct Return {
  enum Kind : uint8_t { FromResult, FromArgument, List, None, Value } kind;
  int index = 0;             // of the result or of the tensor argument
  std::optional<View> view;  // of the result's tensor or the argument
  std::vector<Return> elements;
  c10::IValue value;
};

// The exception of a check that a kernel makes: the one it threw, whose ticket is the value.
constexpr const char* kKernelFailure = "KernelFailure";

// A check computed by the program: raised as `exception` when it failed.
struct Check {
  std::string exception;  // "IndexError", "RuntimeError", ...
  std::string message;    // "{}" stands for the offending value
};

struct Program {
  enum Kind : uint8_t { Launch, Resize, Host, Composite } kind;
  std::string name;

  // Launch
  std::shared_ptr<pjrt::Executable> executable;
  std::vector<Input> inputs;
  std::vector<Result> results;
  std::vector<Return> returns;
  std::vector<Check> checks;
  std::vector<bool> donated;  // per input: a base that the program may write into
  std::vector<bool> dying;    // per input: only when the call alone holds it
  uint64_t rng_increment = 0;
  size_t new_bytes = 0;  // that the results add to the device's memory

  // Resize: tensor arguments and the shapes that out= must take
  struct Target {
    int tensor;
    std::vector<int64_t> sizes, strides;
  };
  std::vector<Target> targets;

  // Host
  std::string reason;
};

// Fills `donated`, `dying`, `new_bytes` and the results' byte counts. `bases` are the donated ones;
// those that the program does not write to as well are donated when they die with the call.
void finish(Program& program, const std::vector<int>& bases);

}  // namespace neuron::dispatch

#include "csrc/kernels/call.h"

#include "csrc/kernels/attributes.h"
#include "csrc/kernels/failures.h"
#include "csrc/kernels/generator.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <cstring>
#include <exception>
#include <string>
#include <vector>

namespace neuron::kernels {
namespace {

using torch::jit::Stack;

template <typename Frame>
const XLA_FFI_Buffer& buffer(const Frame& list, void** values, int64_t i) {
  TORCH_CHECK(i < list.size, "a kernel's call has too few buffers");
  return *static_cast<const XLA_FFI_Buffer*>(values[i]);
}

at::Tensor tensor_of(const XLA_FFI_Buffer& buffer) {
  return at::from_blob(
      buffer.data, at::IntArrayRef(buffer.dims, buffer.rank), at::dtype(dtype_of(buffer.dtype))
  );
}

// The operands in order, as the arguments that take them: tensors that lie in memory as
// those of the call did. "places" has, for each dimension of one operand after the other,
// its place among the buffer's, which are in the order of memory.
class Operands {
 public:
  Operands(const XLA_FFI_Args& args, c10::ArrayRef<int64_t> places)
      : args_(args), places_(places) {}

  // The value of an argument that takes `count` operands: a tensor, a list of them, or
  // a generator made from its (seed, offset).
  c10::IValue take(const c10::Argument& argument, int64_t count) {
    if (is_generator(*argument.real_type())) {
      const XLA_FFI_Buffer& state = next();
      places_ = places_.slice(1);
      return make_generator(static_cast<const uint64_t*>(state.data));
    }
    if (argument.real_type()->kind() != c10::TypeKind::ListType) {
      return tensor();
    }
    c10::List<at::Tensor> list;
    for (int64_t i = 0; i < count; ++i) {
      list.push_back(tensor());
    }
    return list;
  }

 private:
  static bool is_generator(const c10::Type& type) {
    if (const auto* optional = type.castRaw<c10::OptionalType>()) {
      return is_generator(*optional->getElementType());
    }
    return type.kind() == c10::TypeKind::GeneratorType;
  }

  at::Tensor tensor() {
    const at::Tensor whole = tensor_of(next());
    const auto places = places_.slice(0, whole.dim());
    places_ = places_.slice(whole.dim());
    return whole.permute(places);
  }

  const XLA_FFI_Buffer& next() {
    return buffer(args_, args_.args, taken_++);
  }

  const XLA_FFI_Args& args_;
  c10::ArrayRef<int64_t> places_;
  int64_t taken_ = 0;
};

// "counts" has one number for each argument: how many operands it takes.
Stack arguments(
    const c10::FunctionSchema& schema, const Attributes& attributes, const XLA_FFI_Args& args
) {
  const auto counts = attributes.integers("counts");
  const auto& declared = schema.arguments();
  TORCH_CHECK(
      counts.size() == declared.size(), "a call of ", schema.name(), " has other arguments"
  );
  const Attributes plain = attributes.dictionary("plain");
  Operands operands(args, attributes.integers("places"));
  Stack stack;
  for (size_t i = 0; i < declared.size(); ++i) {
    stack.push_back(
        counts[i] > 0 ? operands.take(declared[i], counts[i]) : plain.value(declared[i])
    );
  }
  return stack;
}

// The tensors among an operator's results; those that its masks leave out are undefined.
std::vector<at::Tensor> results_of(const Stack& stack) {
  std::vector<at::Tensor> tensors;
  for (const auto& value : stack) {
    if (value.isTensor() && value.toTensor().defined()) {
      tensors.push_back(value.toTensor());
    } else if (value.isTensorList()) {
      const auto list = value.toTensorVector();
      tensors.insert(tensors.end(), list.begin(), list.end());
    }
  }
  return tensors;
}

// Puts the results where the program wants them, each in its own order of dimensions:
// "orders" has that of one result after the other, from the outermost in memory.
void store(
    const std::vector<at::Tensor>& results,
    c10::ArrayRef<int64_t> orders,
    const XLA_FFI_Rets& rets,
    int64_t first
) {
  TORCH_CHECK(
      static_cast<int64_t>(results.size()) == rets.size - first,
      "the kernel gave ",
      results.size(),
      " results where the program expects ",
      rets.size - first
  );
  for (const auto& result : results) {
    const at::Tensor target = tensor_of(buffer(rets, rets.rets, first++));
    TORCH_CHECK(
        result.dim() == target.dim() && result.scalar_type() == target.scalar_type() &&
            orders.size() >= static_cast<size_t>(result.dim()),
        "the kernel gave a result of another type than the program expects"
    );
    const auto ordered = result.permute(orders.slice(0, result.dim()));
    TORCH_CHECK(
        ordered.sizes() == target.sizes(),
        "the kernel gave a result of the sizes ",
        ordered.sizes(),
        " where the program expects ",
        target.sizes()
    );
    target.copy_(ordered);
    orders = orders.slice(result.dim());
  }
}

void run_kernel(const XLA_FFI_CallFrame& frame, const Attributes& attributes, int64_t first) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(
      std::string(attributes.string("op")).c_str(),
      std::string(attributes.string("overload")).c_str()
  );
  Stack stack = arguments(op.schema(), attributes, frame.args);
  op.callBoxed(stack);
  store(results_of(stack), attributes.integers("orders"), frame.rets, first);
}

void clear(const XLA_FFI_Rets& rets, int64_t first) {
  for (; first < rets.size; ++first) {
    const at::Tensor target = tensor_of(buffer(rets, rets.rets, first));
    std::memset(target.data_ptr(), 0, target.nbytes());
  }
}

}  // namespace

void run(const XLA_FFI_CallFrame& frame) {
  const Attributes attributes(frame.attrs);
  if (attributes.integer("may_fail") == 0) {
    return run_kernel(frame, attributes, 0);
  }
  auto* status = static_cast<int64_t*>(buffer(frame.rets, frame.rets.rets, 0).data);
  status[0] = status[1] = 0;
  try {
    run_kernel(frame, attributes, 1);
  } catch (const std::exception&) {
    clear(frame.rets, 1);
    status[0] = 1;
    status[1] = keep_failure(std::current_exception());
  }
}

}  // namespace neuron::kernels

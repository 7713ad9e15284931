#include "csrc/dispatch/launch.h"

#include "csrc/device/device.h"
#include "csrc/device/generator.h"
#include "csrc/device/runtime.h"
#include "csrc/device/stream.h"
#include "csrc/dispatch/counted.h"
#include "csrc/dispatch/numbers.h"
#include "csrc/kernels/failures.h"
#include "csrc/kernels/handler.h"
#include "csrc/pjrt/client.h"

#include <c10/core/Allocator.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace neuron::dispatch {
namespace {

// References that a launch may add to a base's buffer: the slot's and the frame's.
constexpr size_t kOwnReferences = 2;

std::atomic<bool> compile_only{false};

struct Arguments {
  c10::SmallVector<PJRT_Buffer*, 16> handles;
  c10::SmallVector<int64_t, 8> kept;  // not donated although the program could reuse them
  c10::SmallVector<pjrt::BufferPtr, 8> owned;
  void add(pjrt::BufferPtr buffer) {
    handles.push_back(buffer->handle());
    owned.push_back(std::move(buffer));
  }
};

template <typename T>
c10::ArrayRef<uint8_t> as_bytes(const T& value) {
  return {reinterpret_cast<const uint8_t*>(&value), sizeof(T)};
}

pjrt::BufferPtr number_input(const NumberArg& number, int device) {
  if (number.is_list) {
    return number_buffer(number.dtype, number.bytes, {number.count}, device);
  }
  return number_buffer(number.dtype, number.bytes, {}, device);
}

pjrt::BufferPtr rng_input(const Program& program, const Frame& frame) {
  auto [seed, offset] = device::reserve(frame.generator, frame.device, program.rng_increment);
  uint64_t state[2] = {seed, offset};
  return number_buffer(at::kUInt64, as_bytes(state), {2}, frame.device);
}

// Whether a base that the program may write into has to keep its contents.
bool is_held(const Program& program, size_t input, const Frame& frame) {
  const Base& base = frame.bases[program.inputs[input].index];
  return base.buffer.use_count() > kOwnReferences ||
         (program.dying[input] && !frame.is_dying(program.inputs[input].index));
}

Arguments bind(const Program& program, Frame& frame) {
  Arguments arguments;
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const Input& input = program.inputs[i];
    switch (input.kind) {
      case Input::Base: {
        const auto& buffer = frame.bases[input.index].buffer;
        TORCH_CHECK(
            buffer->has_contents(),
            "a tensor made under torch_neuronx.compile_only() has no contents to compute with"
        );
        arguments.handles.push_back(buffer->handle());
        if (program.donated[i] && is_held(program, i, frame)) {
          arguments.kept.push_back(static_cast<int64_t>(i));
        }
        break;
      }
      case Input::Number:
        arguments.add(number_input(frame.numbers[input.index], frame.device));
        break;
      case Input::Offset: {
        int64_t offset = frame.tensors[input.index].tensor->storage_offset();
        arguments.add(number_buffer(at::kLong, as_bytes(offset), {}, frame.device));
        break;
      }
      case Input::Rng:
        arguments.add(rng_input(program, frame));
        break;
    }
  }
  return arguments;
}

std::string format(const std::string& message, int64_t value) {
  auto at = message.find("{}");
  return at == std::string::npos
             ? message
             : message.substr(0, at) + std::to_string(value) + message.substr(at + 2);
}

[[noreturn]] void raise(const Check& check, int64_t value) {
  if (check.exception == kKernelFailure) {
    kernels::rethrow_failure(value);
  }
  auto message = format(check.message, value);
  TORCH_CHECK_INDEX(check.exception != "IndexError", message);
  TORCH_CHECK_VALUE(check.exception != "ValueError", message);
  TORCH_CHECK_NOT_IMPLEMENTED(check.exception != "NotImplementedError", message);
  TORCH_CHECK(false, message);
}

// Waits for the program's checks; returns the index of the first that failed, or -1.
int failed_check(const pjrt::Buffer& buffer, int64_t& value) {
  c10::SmallVector<int64_t, 8> flags(buffer.nbytes() / sizeof(int64_t));
  device::read(buffer, flags.data());
  for (size_t i = 0; i + 1 < flags.size(); i += 2) {
    if (flags[i] != 0) {
      value = flags[i + 1];
      return static_cast<int>(i / 2);
    }
  }
  return -1;
}

// Donated buffers' memory now belongs to the results that replace them.
void release_donated(const Program& program, Frame& frame, const Arguments& arguments) {
  auto kept = arguments.kept.begin();
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    if (kept != arguments.kept.end() && *kept == static_cast<int64_t>(i)) {
      ++kept;
    } else if (program.donated[i]) {
      frame.bases[program.inputs[i].index].buffer->donated();
    }
  }
}

using Buffers = c10::SmallVector<pjrt::BufferPtr, 8>;

Buffers execute(const Program& program, Frame& frame) {
  auto& client = device::Runtime::get().client();
  if (program.new_bytes != 0) {
    client.memory(frame.device).reserve_check(program.new_bytes);
  }
  auto arguments = bind(program, frame);
  kernels::follow_num_threads();
  c10::SmallVector<PJRT_Buffer*, 8> handles(program.results.size());
  auto completion = program.executable->execute(
      arguments.handles, arguments.kept, {handles.data(), handles.size()}, frame.device
  );
  release_donated(program, frame, arguments);
  Buffers buffers;
  for (size_t i = 0; i < handles.size(); ++i) {
    const Result& result = program.results[i];
    buffers.push_back(c10::make_intrusive<pjrt::Buffer>(
        client, handles[i], result.dtype, result.physical, frame.device
    ));
  }
  device::track(frame.device, std::move(completion), program.name);
  return buffers;
}

// What a launch under compile_only leaves: the same keys for later calls, no memory.
Buffers without_contents(const Program& program, int device) {
  auto& client = device::Runtime::get().client();
  Buffers buffers;
  for (const auto& result : program.results) {
    buffers.push_back(
        c10::make_intrusive<pjrt::Buffer>(client, nullptr, result.dtype, result.physical, device)
    );
  }
  return buffers;
}

bool has_contents(const Base& base) {
  return base.buffer && base.buffer->has_contents();
}

// Whether the program took the base's old buffer, so that its slot must move on.
bool was_donated(const Program& program, const Frame& frame, int base) {
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    if (program.inputs[i].kind == Input::Base && program.inputs[i].index == base) {
      return program.donated[i] && frame.bases[base].buffer.use_count() <= kOwnReferences;
    }
  }
  return false;
}

void raise_failed_check(const Program& program, Frame& frame, Buffers& buffers) {
  for (size_t i = 0; i < program.results.size(); ++i) {
    if (program.results[i].kind != Result::Check) {
      continue;
    }
    int64_t value = 0;
    int failed = failed_check(*buffers[i], value);
    if (failed < 0) {
      continue;
    }
    for (size_t k = 0; k < program.results.size(); ++k) {
      const Result& result = program.results[k];
      if (result.kind == Result::Write && was_donated(program, frame, result.base)) {
        frame.bases[result.base].slot->set_buffer(std::move(buffers[k]));
      }
    }
    raise(program.checks[failed], value);
  }
}

// `tensor`, or another tensor of its storage and version.
at::Tensor seen_as(const at::Tensor& tensor, const std::optional<View>& view) {
  if (!view) {
    return tensor;
  }
  const auto type = c10::scalarTypeToTypeMeta(view->dtype);
  auto result = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(tensor.storage()), device::kTensorKeys, type
  );
  auto* impl = result.unsafeGetTensorImpl();
  const auto begin = tensor.storage_offset() * tensor.itemsize() / type.itemsize();
  impl->set_sizes_and_strides(view->sizes, view->strides, begin + view->offset);
  impl->_set_neg(view->neg);
  if (view->conj) {
    impl->_set_conj(true);
  }
  if (!result.is_inference() && !tensor.is_inference()) {
    impl->set_version_counter(tensor.unsafeGetTensorImpl()->version_counter());
  }
  return result;
}

// The tensors made of a program's results, each at its first use.
class Returned {
 public:
  Returned(const Program& program, Frame& frame, Buffers& buffers)
      : program_(program),
        frame_(frame),
        buffers_(buffers),
        tensors_(buffers.size()),
        counts_(read_counts(program, buffers)) {}

  c10::IValue operator()(const Return& ret) {
    switch (ret.kind) {
      case Return::FromResult:
        return seen_as(tensor(ret.index), ret.view);
      case Return::FromArgument:
        return seen_as(*frame_.tensors[ret.index].tensor, ret.view);
      case Return::List: {
        c10::List<at::Tensor> list;
        list.reserve(ret.elements.size());
        for (const auto& element : ret.elements) {
          list.push_back((*this)(element).toTensor());
        }
        return list;
      }
      case Return::None:
        return at::Tensor();
      case Return::Value:
        return ret.value;
    }
    TORCH_INTERNAL_ASSERT(false);
  }

 private:
  const at::Tensor& tensor(int index) {
    if (!tensors_[index].defined()) {
      const Result& result = program_.results[index];
      auto buffer = std::move(buffers_[index]);
      tensors_[index] =
          result.counted
              ? counted_tensor(std::move(buffer), result, counts_)
              : wrap_buffer(
                    std::move(buffer), result.dtype, result.sizes, result.strides, result.nbytes
                );
    }
    return tensors_[index];
  }

  const Program& program_;
  Frame& frame_;
  Buffers& buffers_;
  c10::SmallVector<at::Tensor, 8> tensors_;
  std::vector<int64_t> counts_;
};

}  // namespace

at::Tensor wrap_buffer(
    pjrt::BufferPtr buffer,
    c10::ScalarType dtype,
    c10::IntArrayRef sizes,
    c10::IntArrayRef strides,
    size_t nbytes
) {
  static c10::Allocator* const allocator = c10::GetAllocator(c10::DeviceType::PrivateUse1);
  auto data = device::make_slot(nbytes, buffer->device());
  static_cast<device::Slot*>(data.get_context())->set_buffer(std::move(buffer));
  auto storage = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), nbytes, std::move(data), allocator, /*resizable=*/true
  );
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(std::move(storage)), device::kTensorKeys, c10::scalarTypeToTypeMeta(dtype)
  );
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  return tensor;
}

void set_compile_only(bool value) {
  compile_only = value;
}

void launch(const Program& program, Frame& frame) {
  const bool runs = C10_LIKELY(!compile_only.load(std::memory_order_relaxed));
  auto buffers = [&] {
    if (!runs) {
      return without_contents(program, frame.device);
    }
    try {
      return execute(program, frame);
    } catch (c10::Error& error) {
      error.add_context("when running " + program.name + " on neuron");
      throw;
    }
  }();
  if (runs && !program.checks.empty()) {
    raise_failed_check(program, frame, buffers);
  }
  for (size_t i = 0; i < program.results.size(); ++i) {
    const Result& result = program.results[i];
    if (result.kind == Result::Write && (runs || !has_contents(frame.bases[result.base]))) {
      frame.bases[result.base].slot->set_buffer(buffers[i]);
    }
  }
  Returned returned(program, frame, buffers);
  c10::SmallVector<c10::IValue, 4> values;
  for (const auto& ret : program.returns) {
    values.push_back(returned(ret));
  }
  torch::jit::drop(frame.stack, frame.info.args.size());
  for (auto& value : values) {
    frame.stack.push_back(std::move(value));
  }
}

void finish(Program& program, const std::vector<int>& bases) {
  auto is_donated = [&](int base) {
    return std::find(bases.begin(), bases.end(), base) != bases.end();
  };
  for (auto& result : program.results) {
    result.nbytes = c10::multiply_integers(result.physical) * c10::elementSize(result.dtype);
    if (result.kind != Result::Write || !is_donated(result.base)) {
      program.new_bytes += result.nbytes;
    }
  }
  auto is_written = [&](int base) {
    return std::any_of(program.results.begin(), program.results.end(), [&](const Result& result) {
      return result.kind == Result::Write && result.base == base;
    });
  };
  for (const auto& input : program.inputs) {
    const bool donated = input.kind == Input::Base && is_donated(input.index);
    program.donated.push_back(donated);
    program.dying.push_back(donated && !is_written(input.index));
  }
}

}  // namespace neuron::dispatch

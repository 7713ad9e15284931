#include "csrc/dispatch/frame.h"

#include "csrc/device/device.h"
#include "csrc/dispatch/overflow.h"

#include <ATen/Context.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/ops/empty.h>
#include <c10/util/flat_hash_map.h>

#include <algorithm>
#include <cstring>

namespace neuron::dispatch {
namespace {

// The kinds of words in a key. Part of the portable key: append only.
enum Tag : uint64_t {
  kNone = 1,
  kWholeTensor,    // contiguous and all of its buffer: sizes follow
  kStridedTensor,  // dtype, flags, sizes, strides follow
  kBase,
  kEmptyBase,
  kKnownBase,
  kRuntimeNumber,
  kDefaultNumber,
  kNumberList,
  kInt,
  kDouble,
  kBool,
  kComplex,
  kString,
  kList,
  kDevice,
  kOther,
  kPrecision,
  kOverflow,  // a number that a dtype of the call cannot hold: PyTorch may refuse the call
};

// Whether a list of numbers is of several types, as [1, 2.5] is.
bool is_mixed(const c10::IValue& value) {
  if (!value.isList() || value.isDoubleList()) {
    return false;
  }
  auto list = value.toListRef();
  return std::any_of(list.begin(), list.end(), [&](const c10::IValue& element) {
    return element.isInt() != list[0].isInt() || element.isDouble() != list[0].isDouble() ||
           element.isBool() != list[0].isBool();
  });
}

uint64_t bits(double value) {
  uint64_t result;
  std::memcpy(&result, &value, sizeof(result));
  return result;
}

uint64_t hash_words(c10::ArrayRef<uint64_t> words) {
  uint64_t h = 0x9e3779b97f4a7c15ULL ^ words.size();
  for (uint64_t word : words) {
    h = (h ^ word) * 0xff51afd7ed558ccdULL;
    h ^= h >> 32;
  }
  return h;
}

// Bytes from the start of the storage to the end of the view.
size_t end_of_view(const at::TensorBase& tensor) {
  if (tensor.numel() == 0) {
    return 0;
  }
  int64_t last = tensor.storage_offset();
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    last += (tensor.size(d) - 1) * tensor.stride(d);
  }
  return (last + 1) * tensor.element_size();
}

template <typename T>
NumberArg number_arg(c10::ScalarType dtype, bool wrapped, T value) {
  NumberArg number{dtype, wrapped, false, {}, 1};
  number.bytes.resize(sizeof(T));
  std::memcpy(number.bytes.data(), &value, sizeof(T));
  return number;
}

NumberArg python_number(const c10::IValue& value) {
  if (value.isInt() || value.isSymInt()) {
    return number_arg<int64_t>(
        at::kLong,
        true,
        value.isInt() ? value.toInt() : value.toSymInt().guard_int(__FILE__, __LINE__)
    );
  }
  if (value.isUnsigned()) {
    return number_arg<uint64_t>(at::kUInt64, true, value.toUInt());
  }
  if (value.isBool()) {
    return number_arg<bool>(at::kBool, true, value.toBool());
  }
  if (value.isComplexDouble()) {
    return number_arg<c10::complex<double>>(at::kComplexDouble, true, value.toComplexDouble());
  }
  return number_arg<double>(at::kDouble, true, value.toDouble());
}

}  // namespace

Frame::Frame(const OpInfo& op, torch::jit::Stack& s) : info(op), stack(s) {
  key.push_back(0);
  if (op.uses_precision) {
    tag(kPrecision, static_cast<uint64_t>(at::globalContext().float32MatmulPrecision()));
  }
  if (op.is_range) {
    numbers_are_static_ = !add_range_count();
  }
  auto values = arguments();
  for (size_t i = 0; i < values.size(); ++i) {
    add_argument(op.args[i], values[i]);
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (C10_UNLIKELY(!fits(numbers[i], *this))) {
      tag(kOverflow, i);
    }
  }
  if (device < 0) {
    device = device::current_device();
  }
  auto default_dtype = static_cast<uint64_t>(c10::get_default_dtype_as_scalartype());
  key[0] = op.id << 16 | default_dtype << 8 | static_cast<uint64_t>(device);
  hash = hash_words(key);
}

// The length of arange(start, end, step) stands for its bounds, which are then values
// like others: position ids of a growing text share a program. Only for integers,
// whose length is exact.
bool Frame::add_range_count() {
  auto values = arguments();
  // arange.start has no step: its third argument is the dtype, which is an integer too.
  const bool has_step = info.args[2].kind == ArgKind::Number;
  const int64_t step = has_step && values[2].isInt() ? values[2].toInt() : 1;
  const bool exact =
      values[0].isInt() && values[1].isInt() && (!has_step || values[2].isInt()) && step != 0;
  if (exact) {
    const int64_t span = values[1].toInt() - values[0].toInt();
    tag(kInt);
    key.push_back((span + step - (step > 0 ? 1 : -1)) / step);
  }
  return exact;
}

void Frame::add_argument(const ArgInfo& arg, const c10::IValue& value) {
  if (value.isNone()) {
    return tag(kNone);
  }
  switch (arg.kind) {
    case ArgKind::Tensor:
      return add_tensor(value.toTensor(), arg.written);
    case ArgKind::TensorList: {
      auto list = value.toListRef();
      tag(kList, list.size());
      for (const auto& element : list) {
        element.isNone() ? tag(kNone) : add_tensor(element.toTensor(), arg.written);
      }
      return;
    }
    case ArgKind::Number:
      return add_number(arg, value);
    case ArgKind::NumberList:
      if (is_runtime(arg, value)) {
        return add_number_list(value);
      }
      return add_plain(value);
    case ArgKind::Plain:
      return add_plain(value);
  }
}

void Frame::add_tensor(const at::Tensor& tensor, bool written) {
  if (!tensor.defined()) {
    return tag(kNone);
  }
  if (tensor.is_privateuseone()) {
    return add_device_tensor(tensor, written);
  }
  add_host_tensor(tensor, written);
}

void Frame::set_device(at::Device other) {
  if (device < 0) {
    device = other.index();
  }
  TORCH_CHECK(
      device == other.index(),
      "Expected all tensors to be on the same device, but found at least two devices, neuron:",
      device,
      " and neuron:",
      static_cast<int>(other.index()),
      "!"
  );
}

// PyTorch refuses to write where another argument partly overlaps. The offsets that
// decide it are not in the key, so the answer is.
void Frame::add_overlaps(const at::Tensor& tensor, int base, bool written) {
  for (const auto& other : tensors) {
    if (other.base == base && (written || other.written)) {
      key.push_back(static_cast<uint64_t>(at::get_overlap_status(tensor, *other.tensor)));
    }
  }
}

void Frame::add_device_tensor(const at::Tensor& tensor, bool written) {
  set_device(tensor.device());
  size_t known = bases.size();
  int base_index = add_base(tensor);
  const Base& base = bases[base_index];
  uint64_t dtype = static_cast<uint64_t>(tensor.scalar_type());
  bool fresh = bases.size() > known;
  if (fresh && base.buffer && tensor.is_contiguous() && tensor.storage_offset() == 0 &&
      base.buffer->dtype() == tensor.scalar_type() && tensor.sizes() == base.buffer->dims() &&
      base.storage->nbytes() == base.buffer->nbytes() && !tensor.is_conj() && !tensor.is_neg()) {
    tag(kWholeTensor, dtype << 32 | tensor.dim());
    key.append(tensor.sizes().begin(), tensor.sizes().end());
    tensors.push_back({&tensor, base_index, written, false});
    return;
  }
  if (!fresh) {
    tag(kKnownBase, base_index);
    add_overlaps(tensor, base_index, written);
  } else if (!base.buffer) {
    tag(kEmptyBase);
    key.push_back(base.storage->nbytes());
  } else {
    tag(kBase, static_cast<uint64_t>(base.buffer->dtype()) << 32 | base.buffer->dims().size());
    key.append(base.buffer->dims().begin(), base.buffer->dims().end());
    key.push_back(base.storage->nbytes());
  }
  bool requires_offset =
      tensor.storage_offset() != 0 || end_of_view(tensor) != base.storage->nbytes();
  uint64_t flags = requires_offset | tensor.is_conj() << 1 | tensor.is_neg() << 2;
  tag(kStridedTensor, dtype << 32 | flags << 16 | tensor.dim());
  key.append(tensor.sizes().begin(), tensor.sizes().end());
  key.append(tensor.strides().begin(), tensor.strides().end());
  tensors.push_back({&tensor, base_index, written, requires_offset});
}

int Frame::add_base(const at::Tensor& tensor) {
  auto* storage = tensor.storage().unsafeGetStorageImpl();
  // Linear search while there are few storages, a hash map for foreach lists.
  thread_local ska::flat_hash_map<c10::StorageImpl*, int> index;
  constexpr size_t kFew = 12;
  if (bases.size() < kFew) {
    for (size_t i = 0; i < bases.size(); ++i) {
      if (bases[i].storage == storage) {
        return static_cast<int>(i);
      }
    }
  } else {
    if (bases.size() == kFew) {
      index.clear();
      for (size_t i = 0; i < bases.size(); ++i) {
        index[bases[i].storage] = static_cast<int>(i);
      }
    }
    auto [found, inserted] = index.emplace(storage, static_cast<int>(bases.size()));
    if (!inserted) {
      return found->second;
    }
  }
  auto* slot = device::slot_of(*storage);
  bases.push_back({slot, storage, slot ? slot->buffer() : pjrt::BufferPtr()});
  return static_cast<int>(bases.size()) - 1;
}

bool Frame::is_dying(int base) const {
  for (size_t i = 0; i < given_away.size(); ++i) {
    if (tensors[i].base == base) {
      return given_away[i] && tensors[i].tensor->storage().use_count() == 1;
    }
  }
  return false;
}

bool Frame::is_moved(const at::Tensor& tensor, bool written) const {
  return tensor.is_cpu() && info.host_indices && !written &&
         isIntegralType(tensor.scalar_type(), true);
}

void Frame::add_host_tensor(const at::Tensor& tensor, bool written) {
  if (device >= 0 && is_moved(tensor, written)) {
    moved_.push_front(tensor.to(at::Device(at::kPrivateUse1, device)));
    return add_device_tensor(moved_.front(), false);
  }
  TORCH_CHECK(
      tensor.is_cpu() && tensor.dim() == 0 && !written && tensor.layout() == at::kStrided,
      "Expected all tensors to be on the same device, but found at least two devices, neuron:",
      std::max(device, 0),
      " and ",
      tensor.device(),
      "! (when calling ",
      info.name,
      ")"
  );
  bool wrapped = tensor.unsafeGetTensorImpl()->is_wrapped_number();
  NumberArg number{tensor.scalar_type(), wrapped, false, {}, 1};
  number.bytes.resize(tensor.element_size());
  auto plain = tensor.resolve_conj().resolve_neg();
  std::memcpy(number.bytes.data(), plain.const_data_ptr(), plain.element_size());
  numbers.push_back(std::move(number));
  tag(kRuntimeNumber, static_cast<uint64_t>(tensor.scalar_type()) << 1 | wrapped);
}

void Frame::add_number(const ArgInfo& arg, const c10::IValue& value) {
  if (!is_runtime(arg, value)) {
    return add_plain(value);
  }
  if (is_default(arg, value)) {
    return tag(kDefaultNumber);
  }
  numbers.push_back(python_number(value));
  tag(kRuntimeNumber, static_cast<uint64_t>(numbers.back().dtype) << 1 | 1);
}

bool Frame::is_runtime(const ArgInfo& arg, const c10::IValue& value) const {
  return arg.runtime && !numbers_are_static_ && !is_mixed(value);
}

void Frame::add_number_list(const c10::IValue& value) {
  NumberArg list{at::kDouble, true, true, {}, 0};
  auto append = [&](const NumberArg& number) {
    list.dtype = number.dtype;
    ++list.count;
    list.bytes.append(number.bytes.begin(), number.bytes.end());
  };
  if (value.isDoubleList()) {
    for (double element : value.toDoubleVector()) {
      append(number_arg<double>(at::kDouble, true, element));
    }
  } else {
    for (const auto& element : value.toListRef()) {
      append(python_number(element));
    }
  }
  tag(kNumberList, static_cast<uint64_t>(list.dtype));
  key.push_back(list.count);
  numbers.push_back(std::move(list));
}

void Frame::add_plain(const c10::IValue& value) {
  if (value.isNone()) {
    tag(kNone);
  } else if (value.isInt()) {
    tag(kInt);
    key.push_back(value.toInt());
  } else if (value.isBool()) {
    tag(kBool, value.toBool());
  } else if (value.isDouble()) {
    tag(kDouble);
    key.push_back(bits(value.toDouble()));
  } else if (value.isSymInt()) {
    tag(kInt);
    key.push_back(value.toSymInt().guard_int(__FILE__, __LINE__));
  } else if (value.isDevice()) {
    if (value.toDevice().is_privateuseone()) {
      auto index = value.toDevice().index();
      set_device(at::Device(at::kPrivateUse1, index < 0 ? 0 : index));
    }
    tag(kDevice, static_cast<uint64_t>(value.toDevice().type()));
  } else if (value.isGenerator()) {
    generator = value.toGenerator();
    tag(kOther);
  } else if (value.isString()) {
    const auto& text = value.toStringRef();
    tag(kString, text.size());
    for (size_t i = 0; i < text.size(); i += 8) {
      uint64_t word = 0;
      std::memcpy(&word, text.data() + i, std::min<size_t>(8, text.size() - i));
      key.push_back(word);
    }
  } else if (value.isComplexDouble()) {
    tag(kComplex);
    key.push_back(bits(value.toComplexDouble().real()));
    key.push_back(bits(value.toComplexDouble().imag()));
  } else if (value.isIntList()) {
    auto list = value.toIntVector();
    tag(kList, list.size());
    key.append(list.begin(), list.end());
  } else if (value.isDoubleList()) {
    tag(kList, value.toDoubleVector().size());
    for (double element : value.toDoubleVector()) {
      key.push_back(bits(element));
    }
  } else if (value.isBoolList()) {
    auto list = value.toBoolList();
    tag(kList, list.size());
    for (bool element : list) {
      tag(kBool, element);
    }
  } else if (value.isList()) {
    auto list = value.toListRef();
    tag(kList, list.size());
    for (const auto& element : list) {
      add_plain(element);
    }
  } else {
    TORCH_CHECK_NOT_IMPLEMENTED(
        false,
        info.name,
        ": an argument of type ",
        value.tagKind(),
        " is not supported on the neuron device"
    );
  }
}

bool is_default(const ArgInfo& arg, const c10::IValue& value) {
  const auto& other = arg.default_value;
  if (value.isInt() && other.isInt()) {
    return value.toInt() == other.toInt();
  }
  return value.isDouble() && other.isDouble() && bits(value.toDouble()) == bits(other.toDouble());
}

std::string portable_key(const Frame& frame) {
  std::string result = frame.info.name;
  result.push_back('\0');
  auto words = c10::ArrayRef<uint64_t>(frame.key).slice(1);  // without the operator's id and device
  result.append(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint64_t));
  return result;
}

}  // namespace neuron::dispatch

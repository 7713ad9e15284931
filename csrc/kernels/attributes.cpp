#include "csrc/kernels/attributes.h"

#include <c10/util/Exception.h>

#include <string>
#include <vector>

namespace neuron::kernels {
namespace {

// Numbers are written as int64 or float64, alone or in arrays.
struct Numbers {
  XLA_FFI_DataType dtype;
  const void* data;
  size_t count;
  bool is_list;

  template <typename T>
  T at(size_t i) const {
    if (dtype == XLA_FFI_DataType_S64) {
      return static_cast<T>(static_cast<const int64_t*>(data)[i]);
    }
    TORCH_CHECK(dtype == XLA_FFI_DataType_F64, "a kernel's number is neither int64 nor float64");
    return static_cast<T>(static_cast<const double*>(data)[i]);
  }

  template <typename T>
  std::vector<T> all() const {
    std::vector<T> values;
    for (size_t i = 0; i < count; ++i) {
      values.push_back(at<T>(i));
    }
    return values;
  }
};

Numbers numbers(XLA_FFI_AttrType type, const void* value) {
  if (type == XLA_FFI_AttrType_SCALAR) {
    const auto& scalar = *static_cast<const XLA_FFI_Scalar*>(value);
    return {scalar.dtype, scalar.value, 1, false};
  }
  TORCH_CHECK(type == XLA_FFI_AttrType_ARRAY, "a kernel's argument is no number");
  const auto& array = *static_cast<const XLA_FFI_Array*>(value);
  return {array.dtype, array.data, array.size, true};
}

c10::IValue number(const c10::Type& type, const Numbers& given) {
  switch (type.kind()) {
    case c10::TypeKind::BoolType:
      return given.at<int64_t>(0) != 0;
    case c10::TypeKind::FloatType:
      return given.at<double>(0);
    case c10::TypeKind::NumberType:
      if (given.dtype == XLA_FFI_DataType_F64) {
        return given.at<double>(0);
      }
      return given.at<int64_t>(0);
    default:  // SymInt, and the enumerations: ScalarType, Layout, MemoryFormat
      return given.at<int64_t>(0);
  }
}

c10::IValue list(const c10::Type& element, const Numbers& given) {
  switch (element.kind()) {
    case c10::TypeKind::BoolType: {
      c10::List<bool> flags;
      for (const int64_t flag : given.all<int64_t>()) {
        flags.push_back(flag != 0);
      }
      return flags;
    }
    case c10::TypeKind::FloatType:
      return given.all<double>();
    default:
      return given.all<int64_t>();
  }
}

}  // namespace

Attributes::Found Attributes::find(std::string_view name) const {
  for (int64_t i = 0; i < attrs_.size; ++i) {
    if (text(*attrs_.names[i]) == name) {
      return {attrs_.types[i], attrs_.attrs[i]};
    }
  }
  return {XLA_FFI_AttrType_STRING, nullptr};
}

const void* Attributes::get(std::string_view name, XLA_FFI_AttrType type) const {
  const Found found = find(name);
  TORCH_CHECK(
      found.value != nullptr && found.type == type, "a kernel's call has no attribute '", name, "'"
  );
  return found.value;
}

std::string_view Attributes::string(std::string_view name) const {
  return text(*static_cast<const XLA_FFI_ByteSpan*>(get(name, XLA_FFI_AttrType_STRING)));
}

int64_t Attributes::integer(std::string_view name) const {
  return numbers(XLA_FFI_AttrType_SCALAR, get(name, XLA_FFI_AttrType_SCALAR)).at<int64_t>(0);
}

c10::ArrayRef<int64_t> Attributes::integers(std::string_view name) const {
  const auto& array = *static_cast<const XLA_FFI_Array*>(get(name, XLA_FFI_AttrType_ARRAY));
  TORCH_CHECK(
      array.dtype == XLA_FFI_DataType_S64 || array.size == 0, "'", name, "' is no list of int64"
  );
  return {static_cast<const int64_t*>(array.data), array.size};
}

Attributes Attributes::dictionary(std::string_view name) const {
  return Attributes(*static_cast<const XLA_FFI_Attrs*>(get(name, XLA_FFI_AttrType_DICTIONARY)));
}

c10::IValue Attributes::value(const c10::Argument& argument) const {
  const Found found = find(argument.name());
  if (found.value == nullptr) {
    return argument.default_value() ? *argument.default_value() : c10::IValue();
  }
  if (found.type == XLA_FFI_AttrType_STRING) {
    return std::string(text(*static_cast<const XLA_FFI_ByteSpan*>(found.value)));
  }
  c10::TypePtr type = argument.real_type();
  if (const auto optional = type->cast<c10::OptionalType>()) {
    type = optional->getElementType();
  }
  const Numbers given = numbers(found.type, found.value);
  if (const auto listed = type->cast<c10::ListType>()) {
    return list(*listed->getElementType(), given);
  }
  return number(*type, given);
}

}  // namespace neuron::kernels

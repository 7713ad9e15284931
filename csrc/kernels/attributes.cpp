#include "csrc/kernels/attributes.h"

#include <c10/util/Exception.h>

#include <bit>
#include <string>

namespace neuron::kernels {
namespace {

// Numbers are written as int64 or float64, lists of them as int64: portable artifacts
// have no lists of float64, so these are given by their bits.
c10::IValue number(const c10::Type& type, const XLA_FFI_Scalar& scalar) {
  if (scalar.dtype == XLA_FFI_DataType_F64) {
    return *static_cast<const double*>(scalar.value);
  }
  TORCH_CHECK(
      scalar.dtype == XLA_FFI_DataType_S64, "a kernel's number is neither int64 nor float64"
  );
  const int64_t value = *static_cast<const int64_t*>(scalar.value);
  switch (type.kind()) {
    case c10::TypeKind::BoolType:
      return value != 0;
    case c10::TypeKind::FloatType:
      return static_cast<double>(value);
    default:  // int, Scalar, SymInt, and the enumerations: ScalarType, Layout, MemoryFormat
      return value;
  }
}

template <typename T>
c10::IValue list_of(c10::ArrayRef<int64_t> words, T (*decode)(int64_t)) {
  c10::List<T> values;
  values.reserve(words.size());
  for (const int64_t word : words) {
    values.push_back(decode(word));
  }
  return values;
}

c10::IValue list(const c10::Type& element, c10::ArrayRef<int64_t> words) {
  switch (element.kind()) {
    case c10::TypeKind::BoolType:
      return list_of<bool>(words, [](int64_t word) { return word != 0; });
    case c10::TypeKind::FloatType:
      return list_of<double>(words, [](int64_t word) { return std::bit_cast<double>(word); });
    default:
      return list_of<int64_t>(words, [](int64_t word) { return word; });
  }
}

c10::ArrayRef<int64_t> int64_list(const void* value) {
  const auto& array = *static_cast<const XLA_FFI_Array*>(value);
  TORCH_CHECK(
      array.dtype == XLA_FFI_DataType_S64 || array.size == 0, "a kernel's list is not of int64"
  );
  return {static_cast<const int64_t*>(array.data), array.size};
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
  const auto& scalar = *static_cast<const XLA_FFI_Scalar*>(get(name, XLA_FFI_AttrType_SCALAR));
  return number(*c10::IntType::get(), scalar).toInt();
}

c10::ArrayRef<int64_t> Attributes::integers(std::string_view name) const {
  return int64_list(get(name, XLA_FFI_AttrType_ARRAY));
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
  if (const auto listed = type->cast<c10::ListType>()) {
    return list(*listed->getElementType(), int64_list(found.value));
  }
  return number(*type, *static_cast<const XLA_FFI_Scalar*>(found.value));
}

}  // namespace neuron::kernels

#include "csrc/dispatch/overflow.h"

#include <c10/core/DefaultDtype.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

namespace neuron::dispatch {
namespace {

template <typename T>
double read(const uint8_t* data) {
  T value;
  std::memcpy(&value, data, sizeof(T));
  return static_cast<double>(value);
}

// The number as a double; 0 for the dtypes that only tensors have.
double real_value(c10::ScalarType dtype, const uint8_t* data) {
  switch (dtype) {
    case at::kLong:
      return read<int64_t>(data);
    case at::kUInt64:
      return read<uint64_t>(data);
    case at::kInt:
      return read<int32_t>(data);
    case at::kDouble:
      return read<double>(data);
    case at::kFloat:
      return read<float>(data);
    default:
      return 0;
  }
}

double largest(c10::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return std::numeric_limits<double>::max();
    case at::kFloat:
      return std::numeric_limits<float>::max();
    case at::kBFloat16:
      return std::numeric_limits<c10::BFloat16>::max();
    case at::kHalf:
      return std::numeric_limits<c10::Half>::max();
    default:
      return 0;  // no number fits the narrow ones for sure
  }
}

bool fits_dtype(double value, c10::ScalarType dtype) {
  if (dtype == at::kBool || c10::isComplexType(dtype)) {
    return true;
  }
  if (c10::isFloatingType(dtype)) {
    return !std::isfinite(value) || std::abs(value) <= largest(dtype);
  }
  if (!c10::isIntegralType(dtype, false)) {
    return true;
  }
  bool is_signed = c10::isSignedType(dtype);
  double bound = std::ldexp(1.0, static_cast<int>(c10::elementSize(dtype)) * 8 - is_signed);
  return value >= (is_signed ? -bound : 0) && value < bound;
}

bool all_fit(const NumberArg& number, c10::ScalarType dtype) {
  if (number.dtype == dtype) {
    return true;
  }
  if (c10::isComplexType(number.dtype)) {
    return c10::isComplexType(dtype);
  }
  size_t size = c10::elementSize(number.dtype);
  for (int64_t i = 0; i < number.count; ++i) {
    if (!fits_dtype(real_value(number.dtype, number.bytes.data() + i * size), dtype)) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool fits(const NumberArg& number, const Frame& frame) {
  std::optional<c10::ScalarType> seen;
  for (const auto& arg : frame.tensors) {
    auto dtype = arg.tensor->scalar_type();
    if (seen != dtype && !all_fit(number, dtype)) {
      return false;
    }
    seen = dtype;
  }
  auto values = frame.arguments();
  for (size_t i = 0; i < values.size(); ++i) {
    if (frame.info.args[i].type->kind() == c10::TypeKind::ScalarTypeType && values[i].isInt()) {
      seen = static_cast<c10::ScalarType>(values[i].toInt());
      if (!all_fit(number, *seen)) {
        return false;
      }
    }
  }
  return seen || all_fit(number, c10::get_default_dtype_as_scalartype());
}

}  // namespace neuron::dispatch

#include "csrc/kernels/ffi.h"

#include <c10/util/Exception.h>

#include <utility>

namespace neuron::kernels {
namespace {

using c10::ScalarType;

constexpr std::pair<XLA_FFI_DataType, ScalarType> kTypes[] = {
    {XLA_FFI_DataType_PRED, ScalarType::Bool},
    {XLA_FFI_DataType_S8, ScalarType::Char},
    {XLA_FFI_DataType_S16, ScalarType::Short},
    {XLA_FFI_DataType_S32, ScalarType::Int},
    {XLA_FFI_DataType_S64, ScalarType::Long},
    {XLA_FFI_DataType_U8, ScalarType::Byte},
    {XLA_FFI_DataType_U16, ScalarType::UInt16},
    {XLA_FFI_DataType_U32, ScalarType::UInt32},
    {XLA_FFI_DataType_U64, ScalarType::UInt64},
    {XLA_FFI_DataType_F16, ScalarType::Half},
    {XLA_FFI_DataType_BF16, ScalarType::BFloat16},
    {XLA_FFI_DataType_F32, ScalarType::Float},
    {XLA_FFI_DataType_F64, ScalarType::Double},
    {XLA_FFI_DataType_C64, ScalarType::ComplexFloat},
    {XLA_FFI_DataType_C128, ScalarType::ComplexDouble},
    {XLA_FFI_DataType_F8E5M2, ScalarType::Float8_e5m2},
    {XLA_FFI_DataType_F8E4M3FN, ScalarType::Float8_e4m3fn},
    {XLA_FFI_DataType_F8E5M2FNUZ, ScalarType::Float8_e5m2fnuz},
    {XLA_FFI_DataType_F8E4M3FNUZ, ScalarType::Float8_e4m3fnuz},
    {XLA_FFI_DataType_F8E8M0FNU, ScalarType::Float8_e8m0fnu}
};

}  // namespace

ScalarType dtype_of(XLA_FFI_DataType type) {
  for (const auto& [ffi_type, torch_type] : kTypes) {
    if (ffi_type == type) {
      return torch_type;
    }
  }
  TORCH_CHECK_NOT_IMPLEMENTED(false, "PyTorch has no dtype for XLA's element type ", int{type});
}

}  // namespace neuron::kernels

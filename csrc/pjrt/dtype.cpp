#include "csrc/pjrt/dtype.h"

#include "csrc/pjrt/api.h"

#include <c10/util/Exception.h>

#include <utility>

namespace neuron::pjrt {
namespace {

using c10::ScalarType;

constexpr std::pair<ScalarType, PJRT_Buffer_Type> kTypes[] = {
    {ScalarType::Bool, PJRT_Buffer_Type_PRED},
    {ScalarType::Char, PJRT_Buffer_Type_S8},
    {ScalarType::Short, PJRT_Buffer_Type_S16},
    {ScalarType::Int, PJRT_Buffer_Type_S32},
    {ScalarType::Long, PJRT_Buffer_Type_S64},
    {ScalarType::Byte, PJRT_Buffer_Type_U8},
    {ScalarType::UInt16, PJRT_Buffer_Type_U16},
    {ScalarType::UInt32, PJRT_Buffer_Type_U32},
    {ScalarType::UInt64, PJRT_Buffer_Type_U64},
    {ScalarType::Half, PJRT_Buffer_Type_F16},
    {ScalarType::BFloat16, PJRT_Buffer_Type_BF16},
    {ScalarType::Float, PJRT_Buffer_Type_F32},
    {ScalarType::Double, PJRT_Buffer_Type_F64},
    {ScalarType::ComplexFloat, PJRT_Buffer_Type_C64},
    {ScalarType::ComplexDouble, PJRT_Buffer_Type_C128},
    {ScalarType::Float8_e5m2, PJRT_Buffer_Type_F8E5M2},
    {ScalarType::Float8_e4m3fn, PJRT_Buffer_Type_F8E4M3FN},
    {ScalarType::Float8_e5m2fnuz, PJRT_Buffer_Type_F8E5M2FNUZ},
    {ScalarType::Float8_e4m3fnuz, PJRT_Buffer_Type_F8E4M3FNUZ},
    {ScalarType::Float8_e8m0fnu, PJRT_Buffer_Type_F8E8M0FNU}
};

}  // namespace

int to_pjrt_type(ScalarType dtype) {
  for (const auto& [torch_type, pjrt_type] : kTypes) {
    if (torch_type == dtype) {
      return pjrt_type;
    }
  }
  TORCH_CHECK_NOT_IMPLEMENTED(
      false,
      "neuron devices have no element type for ",
      dtype,
      "; view the tensor as another dtype first"
  );
}

ScalarType from_pjrt_type(int type) {
  for (const auto& [torch_type, pjrt_type] : kTypes) {
    if (pjrt_type == type) {
      return torch_type;
    }
  }
  TORCH_CHECK_NOT_IMPLEMENTED(false, "PyTorch has no dtype for PJRT's element type ", type);
}

}  // namespace neuron::pjrt

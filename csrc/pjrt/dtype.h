// PyTorch's element types as PJRT's.
#pragma once

#include <c10/core/ScalarType.h>

namespace neuron::pjrt {

// PJRT_Buffer_Type <-> c10::ScalarType, throwing NotImplementedError for a
// dtype that the other side lacks. PyTorch's quantized, bits and packed
// sub-byte types (float4_e2m1fn_x2) have no PJRT type of the same storage.
int to_pjrt_type(c10::ScalarType dtype);
c10::ScalarType from_pjrt_type(int type);

}  // namespace neuron::pjrt

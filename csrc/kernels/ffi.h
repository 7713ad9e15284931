// XLA's C interface for functions that programs call, and its element types as
// PyTorch's.
#pragma once

#include <c10/core/ScalarType.h>

#include <string_view>

// As csrc/pjrt/api.h: the function table's members are named as their types.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 13
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wchanges-meaning"
#endif
#include "xla/ffi/api/c_api.h"
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 13
#pragma GCC diagnostic pop
#endif

namespace neuron::kernels {

// Throws for a type that PyTorch lacks, which no program of ours has.
c10::ScalarType dtype_of(XLA_FFI_DataType type);

inline std::string_view text(const XLA_FFI_ByteSpan& span) {
  return {span.ptr, span.len};
}

}  // namespace neuron::kernels

// The attributes of a kernel's call: which operator, and the arguments that are no
// tensors, which an operator's schema gives their types.
#pragma once

#include "csrc/kernels/ffi.h"

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <c10/util/ArrayRef.h>

#include <cstdint>
#include <string_view>

namespace neuron::kernels {

class Attributes {
 public:
  explicit Attributes(const XLA_FFI_Attrs& attrs) : attrs_(attrs) {}

  std::string_view string(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  c10::ArrayRef<int64_t> integers(std::string_view name) const;
  // The dictionary `name`.
  Attributes dictionary(std::string_view name) const;
  // The value of an argument: what the attribute of its name says, else its default.
  c10::IValue value(const c10::Argument& argument) const;

 private:
  struct Found {
    XLA_FFI_AttrType type;
    const void* value;
  };
  Found find(std::string_view name) const;                         // value is null without one
  const void* get(std::string_view name, XLA_FFI_AttrType) const;  // throws without one

  const XLA_FFI_Attrs& attrs_;
};

}  // namespace neuron::kernels

// The FFI extension of a PJRT plugin: functions of ours that programs call by name
// (stablehlo.custom_call, API version 4). Used by csrc/kernels.
#pragma once

#include <string_view>

struct PJRT_Api;
struct XLA_FFI_CallFrame;
struct XLA_FFI_Error;

namespace neuron::pjrt {

using FfiHandler = XLA_FFI_Error*(XLA_FFI_CallFrame*);

// Makes `handler` the target `name` of the custom calls of programs that run on the
// host. XLA asks it for its version at once, and ignores one of a version that it does
// not support: only the handler learns which. False where the plugin has no such
// extension or refuses.
bool register_handler(const PJRT_Api* api, std::string_view name, FfiHandler* handler);

}  // namespace neuron::pjrt

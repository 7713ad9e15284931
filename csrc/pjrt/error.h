// PJRT errors as PyTorch's exceptions. Used by every file of this folder.
#pragma once

#include <string>
#include <string_view>

struct PJRT_Api;
struct PJRT_Error;

namespace neuron::pjrt {

// "message (CODE)"; frees the error.
std::string take_message(const PJRT_Api* api, PJRT_Error* error);

// Frees the error and throws it: RESOURCE_EXHAUSTED as c10::OutOfMemoryError,
// UNIMPLEMENTED as c10::NotImplementedError, the rest as c10::Error. `what`
// completes "failed to ...".
[[noreturn]] void throw_error(const PJRT_Api* api, PJRT_Error* error, std::string_view what);

// Throws unless `error` is null, which is success.
inline void check_error(const PJRT_Api* api, PJRT_Error* error, const char* what) {
  if (error != nullptr) [[unlikely]] {
    throw_error(api, error, what);
  }
}

// Frees an error that its caller cannot report, as a destructor.
void discard_error(const PJRT_Api* api, PJRT_Error* error) noexcept;

}  // namespace neuron::pjrt

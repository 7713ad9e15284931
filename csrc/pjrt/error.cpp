#include "csrc/pjrt/error.h"

#include "csrc/pjrt/api.h"

#include <c10/util/Exception.h>

#include <array>

namespace neuron::pjrt {
namespace {

constexpr std::array<const char*, 17> kCodeNames = {
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED"
};

PJRT_Error_Code code_of(const PJRT_Api* api, const PJRT_Error* error) {
  NEURON_PJRT_ARGS(PJRT_Error_GetCode_Args, args);
  args.error = error;
  args.code = PJRT_Error_Code_UNKNOWN;
  discard_error(api, api->PJRT_Error_GetCode(&args));
  return args.code;
}

std::string code_name(PJRT_Error_Code code) {
  const auto index = static_cast<size_t>(code);
  return index < kCodeNames.size() ? kCodeNames[index] : "code " + std::to_string(index);
}

}  // namespace

void discard_error(const PJRT_Api* api, PJRT_Error* error) noexcept {
  if (error == nullptr) {
    return;
  }
  NEURON_PJRT_ARGS(PJRT_Error_Destroy_Args, args);
  args.error = error;
  api->PJRT_Error_Destroy(&args);
}

std::string take_message(const PJRT_Api* api, PJRT_Error* error) {
  NEURON_PJRT_ARGS(PJRT_Error_Message_Args, args);
  args.error = error;
  api->PJRT_Error_Message(&args);
  std::string message(args.message, args.message_size);
  message.erase(message.find_last_not_of(". \n") + 1);
  message += " (" + code_name(code_of(api, error)) + ")";
  discard_error(api, error);
  return message;
}

void throw_error(const PJRT_Api* api, PJRT_Error* error, std::string_view what) {
  const PJRT_Error_Code code = code_of(api, error);
  const std::string message = take_message(api, error);
  TORCH_CHECK_WITH(
      OutOfMemoryError,
      code != PJRT_Error_Code_RESOURCE_EXHAUSTED,
      "neuron out of memory. The device failed to ",
      what,
      ": ",
      message,
      ". Delete tensors that are no longer needed, or use smaller ones."
  );
  TORCH_CHECK_NOT_IMPLEMENTED(
      code != PJRT_Error_Code_UNIMPLEMENTED,
      "The PJRT plugin failed to ",
      what,
      ", which it does not implement: ",
      message
  );
  TORCH_CHECK(false, "The PJRT plugin failed to ", what, ": ", message);
}

}  // namespace neuron::pjrt

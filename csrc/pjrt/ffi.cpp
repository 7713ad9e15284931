#include "csrc/pjrt/ffi.h"

#include "csrc/pjrt/api.h"
#include "csrc/pjrt/error.h"

namespace neuron::pjrt {
namespace {

// The extension's interface (xla/pjrt/c/pjrt_c_api_ffi_extension.h), which no package
// ships. An older one had one more argument: it refuses these for their size.
struct RegisterHandlerArgs {
  size_t struct_size;
  const char* target_name;
  size_t target_name_size;
  FfiHandler* handler;
  const char* platform_name;
  size_t platform_name_size;
  uint32_t traits;
};
constexpr size_t kArgsSize = offsetof(RegisterHandlerArgs, traits) + sizeof(uint32_t);

struct FfiExtension {
  PJRT_Extension_Base base;
  void* type_register;
  void* user_data_add;
  PJRT_Error* (*register_handler)(RegisterHandlerArgs*);
};

const FfiExtension* find_extension(const PJRT_Api* api) {
  for (auto* found = api->extension_start; found != nullptr; found = found->next) {
    if (found->type == PJRT_Extension_Type_FFI && found->struct_size >= sizeof(FfiExtension)) {
      return reinterpret_cast<const FfiExtension*>(found);
    }
  }
  return nullptr;
}

}  // namespace

bool register_handler(const PJRT_Api* api, std::string_view name, FfiHandler* handler) {
  const FfiExtension* extension = find_extension(api);
  if (extension == nullptr) {
    return false;
  }
  constexpr std::string_view kHost = "Host";
  RegisterHandlerArgs args{};
  args.struct_size = kArgsSize;
  args.target_name = name.data();
  args.target_name_size = name.size();
  args.handler = handler;
  args.platform_name = kHost.data();
  args.platform_name_size = kHost.size();
  PJRT_Error* error = extension->register_handler(&args);
  discard_error(api, error);
  return error == nullptr;
}

}  // namespace neuron::pjrt

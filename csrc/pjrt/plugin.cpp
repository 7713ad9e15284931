#include "csrc/pjrt/plugin.h"

#include "csrc/pjrt/api.h"
#include "csrc/pjrt/error.h"

#include <c10/util/Exception.h>

#include <dlfcn.h>

#include <array>
#include <filesystem>
#include <system_error>

namespace neuron::pjrt {
namespace {

using GetPjrtApi = const PJRT_Api* (*)();

constexpr std::array<const char*, 16> kExtensionNames = {
    "gpu_custom_call",
    "profiler",
    "custom_partitioner",
    "stream",
    "layouts",
    "ffi",
    "memory_descriptions",
    "triton",
    "raw_buffer",
    "phase_compile",
    "example",
    "unknown",
    "cross_host_transfers",
    "executable_metadata",
    "callback",
    "host_allocator"
};

GetPjrtApi find_entry_point(const std::string& path) {
  std::error_code ignored;
  TORCH_CHECK(
      std::filesystem::exists(path, ignored),
      "The PJRT plugin '",
      path,
      "' does not exist; set TORCH_NEURONX_PLATFORM to a platform's name or to a plugin's path"
  );
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    TORCH_CHECK(false, "'", path, "' cannot be loaded as a PJRT plugin: ", dlerror());
  }
  void* symbol = dlsym(library, "GetPjrtApi");
  TORCH_CHECK(
      symbol != nullptr, "'", path, "' is not a PJRT plugin: it has no function GetPjrtApi"
  );
  return reinterpret_cast<GetPjrtApi>(symbol);
}

void check_version(const std::string& path, const PJRT_Api* api) {
  const auto [major, minor] = plugin_version(api);
  const auto found =
      c10::str("The PJRT plugin '", path, "' has version ", major, ".", minor, " of the PJRT API");
  TORCH_CHECK(major == PJRT_API_MAJOR, found, "; install one of major version ", PJRT_API_MAJOR);
  // PJRT_Compile ends the part of the table that all supported versions have.
  TORCH_CHECK(
      api->struct_size >= static_cast<size_t>(PJRT_STRUCT_SIZE(PJRT_Api, PJRT_Compile)),
      found,
      ", which is too old; install a newer one"
  );
}

Option to_option(const PJRT_NamedValue& value) {
  switch (value.type) {
    case PJRT_NamedValue_kString:
      return std::string(value.string_value, value.value_size);
    case PJRT_NamedValue_kInt64:
      return value.int64_value;
    case PJRT_NamedValue_kFloat:
      return static_cast<double>(value.float_value);
    case PJRT_NamedValue_kBool:
      return value.bool_value;
    case PJRT_NamedValue_kInt64List:
      break;
  }
  std::string text;
  for (size_t i = 0; i < value.value_size; ++i) {
    text += (i == 0 ? "" : ".") + std::to_string(value.int64_array_value[i]);
  }
  return text;
}

}  // namespace

const PJRT_Api* load_plugin(const std::string& path) {
  const PJRT_Api* api = find_entry_point(path)();
  TORCH_CHECK(
      api != nullptr, "The PJRT plugin '", path, "' has no function table for this machine"
  );
  check_version(path, api);
  NEURON_PJRT_ARGS(PJRT_Plugin_Initialize_Args, args);
  if (NEURON_PJRT_HAS(api, PJRT_Plugin_Initialize)) {
    check_error(api, api->PJRT_Plugin_Initialize(&args), "set itself up");
  }
  return api;
}

std::pair<int, int> plugin_version(const PJRT_Api* api) {
  return {api->pjrt_api_version.major_version, api->pjrt_api_version.minor_version};
}

std::map<std::string, Option> plugin_attributes(const PJRT_Api* api) {
  std::map<std::string, Option> attributes;
  if (!NEURON_PJRT_HAS(api, PJRT_Plugin_Attributes)) {
    return attributes;
  }
  NEURON_PJRT_ARGS(PJRT_Plugin_Attributes_Args, args);
  check_error(api, api->PJRT_Plugin_Attributes(&args), "tell its attributes");
  for (size_t i = 0; i < args.num_attributes; ++i) {
    const PJRT_NamedValue& value = args.attributes[i];
    attributes.emplace(std::string(value.name, value.name_size), to_option(value));
  }
  return attributes;
}

std::vector<std::string> plugin_extensions(const PJRT_Api* api) {
  std::vector<std::string> names;
  for (const auto* extension = api->extension_start; extension != nullptr;
       extension = extension->next) {
    const auto type = static_cast<size_t>(extension->type);
    names.push_back(
        type < kExtensionNames.size() ? kExtensionNames[type] : "extension " + std::to_string(type)
    );
  }
  return names;
}

}  // namespace neuron::pjrt

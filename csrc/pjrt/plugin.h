// A PJRT plugin before it has a client: loading its shared library and asking
// what it is. Used by client.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

struct PJRT_Api;

namespace neuron::pjrt {

using Option = std::variant<std::string, int64_t, bool, double>;

// dlopens `path`, checks its version and runs its one-time set-up. The library
// is never closed: its threads live as long as the process.
const PJRT_Api* load_plugin(const std::string& path);

std::pair<int, int> plugin_version(const PJRT_Api* api);

// PJRT_Plugin_Attributes; lists of integers become strings such as "1.2.3".
std::map<std::string, Option> plugin_attributes(const PJRT_Api* api);

// Names of the plugin's API extensions ("ffi", "layouts", ...); "extension 21" for one that is
// younger than this build.
std::vector<std::string> plugin_extensions(const PJRT_Api* api);

}  // namespace neuron::pjrt

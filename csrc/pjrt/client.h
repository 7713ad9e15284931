// One PJRT plugin, opened: devices, transfers, compilation.
#pragma once

#include "csrc/pjrt/buffer.h"
#include "csrc/pjrt/executable.h"
#include "csrc/pjrt/memory.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

struct PJRT_Api;
struct PJRT_Client;
struct PJRT_Device;

namespace neuron::pjrt {

using Option = std::variant<std::string, int64_t, bool, double>;

class Client {
 public:
  // dlopens `plugin_path` and creates its client. Throws one clear sentence when
  // the path does not exist, is no PJRT plugin, or speaks another major version.
  static std::unique_ptr<Client> open(const std::string& plugin_path, const std::map<std::string, Option>& options);
  ~Client();

  const PJRT_Api* api() const;
  PJRT_Client* handle() const;
  PJRT_Device* device(int index) const;
  int device_count() const;
  std::string platform_name() const;
  std::string platform_version() const;
  std::string plugin_path() const;
  std::pair<int, int> api_version() const; // of the plugin
  std::map<std::string, Option> attributes() const; // PJRT_Plugin_Attributes (int64 lists as "1.2.3" strings)
  std::vector<std::string> extensions() const; // names of the plugin's API extensions
  std::map<std::string, int64_t> device_memory_stats(int device) const; // empty where unsupported

  MemoryAccounting& memory(int device); // statistics and limit, one per device

  // Host to device; `data` is row-major and may be reused on return.
  BufferPtr from_host(const void* data, c10::ScalarType dtype, c10::IntArrayRef dims, int device);

  // `program`: StableHLO portable artifact or MLIR text; `options`: serialized CompileOptionsProto.
  std::unique_ptr<Executable> compile(std::string_view program, std::string_view options);
  std::unique_ptr<Executable> deserialize(std::string_view serialized);

  // Throws the error as c10::Error / c10::OutOfMemoryError and frees it; no-op for nullptr.
  void check(struct PJRT_Error* error, const char* what) const;
};

// PJRT_Buffer_Type <-> c10::ScalarType, throwing NotImplementedError for a dtype PJRT lacks.
int to_pjrt_type(c10::ScalarType dtype);
c10::ScalarType from_pjrt_type(int type);

} // namespace neuron::pjrt

// One PJRT plugin, opened: devices, transfers, compilation.
//
// Buffers, executables and events refer to their client and must not outlive
// it. All members may be called from any thread.
#pragma once

#include "csrc/pjrt/buffer.h"
#include "csrc/pjrt/dtype.h"
#include "csrc/pjrt/executable.h"
#include "csrc/pjrt/memory.h"
#include "csrc/pjrt/plugin.h"

#include <c10/util/Exception.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct PJRT_Api;
struct PJRT_Client;
struct PJRT_Device;
struct PJRT_Error;
struct PJRT_LoadedExecutable;

namespace neuron::pjrt {

class Client {
 public:
  // dlopens `plugin_path` and creates its client. Throws one clear sentence when
  // the path does not exist, is no PJRT plugin, or speaks another major version.
  static std::unique_ptr<Client> open(
      const std::string& plugin_path, const std::map<std::string, Option>& options
  );
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const PJRT_Api* api() const {
    return api_;
  }
  PJRT_Client* handle() const {
    return handle_;
  }
  PJRT_Device* device(int index) const {
    check_device(index);
    return devices_[static_cast<size_t>(index)];
  }
  int device_count() const {
    return static_cast<int>(devices_.size());
  }
  std::string platform_name() const;
  std::string platform_version() const;
  std::string plugin_path() const {
    return plugin_path_;
  }
  std::pair<int, int> api_version() const;           // of the plugin
  std::map<std::string, Option> attributes() const;  // PJRT_Plugin_Attributes
  std::vector<std::string> extensions() const;       // names of the plugin's API extensions
  std::map<std::string, int64_t> device_memory_stats(int device) const;  // empty where unsupported

  // Whether the devices' memory is the host's own, so that the host may read it in place.
  bool host_memory() const {
    return host_memory_;
  }
  // Statistics and limit, one per device. from_host and copy_to_device respect
  // the limit; who launches a program checks it for the outputs.
  MemoryAccounting& memory(int device) {
    check_device(device);
    return memory_[static_cast<size_t>(device)];
  }

  // Host to device; `data` is row-major and may be reused on return.
  BufferPtr from_host(const void* data, c10::ScalarType dtype, c10::IntArrayRef dims, int device);

  // `program`: StableHLO portable artifact or MLIR text; `options`: serialized CompileOptionsProto.
  std::unique_ptr<Executable> compile(std::string_view program, std::string_view options);
  // `options` replace those that it was compiled with, to load it on another device.
  std::unique_ptr<Executable> deserialize(
      std::string_view serialized, std::string_view options = {}
  );

  // Throws the error as csrc/pjrt/error.h says and frees it; no-op for nullptr.
  void check(PJRT_Error* error, const char* what) const {
    if (error != nullptr) [[unlikely]] {
      fail(error, what);
    }
  }
  // As above, and counts an out-of-memory error with the device it happened on.
  void check(PJRT_Error* error, const char* what, int device) {
    if (error != nullptr) [[unlikely]] {
      fail_on(error, what, device);
    }
  }

 private:
  Client(std::string plugin_path, const PJRT_Api* api, PJRT_Client* handle);

  void check_device(int index) const {
    TORCH_CHECK(
        static_cast<size_t>(index) < devices_.size(),
        "neuron:",
        index,
        " does not exist; there are ",
        devices_.size(),
        " devices"
    );
  }
  [[noreturn]] void fail(PJRT_Error* error, const char* what) const;
  [[noreturn]] void fail_on(PJRT_Error* error, const char* what, int device);

  void list_devices();
  bool probe_host_memory();
  void init_memory();
  size_t memory_limit(int device) const;
  PJRT_Buffer* copy_in(const void* data, int type, c10::IntArrayRef dims, int device);
  PJRT_Buffer* place_small(
      const void* data, int type, c10::IntArrayRef dims, size_t nbytes, int device
  );

  std::string plugin_path_;
  const PJRT_Api* api_;
  PJRT_Client* handle_;
  std::vector<PJRT_Device*> devices_;
  bool host_memory_ = false;
  std::unique_ptr<MemoryAccounting[]> memory_;
};

}  // namespace neuron::pjrt

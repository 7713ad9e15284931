// The one runtime object: which platform this process uses, and its client.
//
// Nothing is opened before the first client(): importing torch, counting devices
// and asking whether a device is available all leave the PJRT plugin alone.
#pragma once

#include "csrc/pjrt/client.h"

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace neuron::device {

// What a platform resolver answers: the plugin to open and its client options.
struct PlatformConfig {
  std::string plugin_path;
  std::map<std::string, pjrt::Option> options;
};

class Runtime {
 public:
  static Runtime& get();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  bool initialized() const noexcept {
    return client_.load(std::memory_order_acquire) != nullptr;
  }

  // The client, opened by the first call. Thread-safe; one atomic load afterwards.
  // Throws when the platform cannot be opened (the next call tries again) and in
  // a process forked after it was opened.
  pjrt::Client& client() {
    if (pjrt::Client* client = client_.load(std::memory_order_acquire)) return *client;
    return open();
  }

  // Whether programs can call PyTorch's own kernels: csrc/kernels. Opens the client.
  bool runs_kernels();

  // Bytes of memory of a device, whatever limit was set since. Opens the client.
  size_t total_memory(int device);

  // Number of devices; opens nothing, never throws. See count_devices().
  int device_count() noexcept;

  // Installs the function that chooses the platform. It is called without any of
  // our locks held, perhaps more than once, before each attempt to open.
  void set_platform(std::function<PlatformConfig()> resolver);

  // True in a process forked from one that had opened the client: neither the
  // client nor buffers made by the parent are usable.
  bool in_bad_fork() const noexcept {
    return bad_fork_.load(std::memory_order_relaxed);
  }
  // Throws what client() would throw in a forked child.
  void check_fork() const;

 private:
  Runtime();
  pjrt::Client& open();
  static void after_fork_in_child() noexcept;

  std::atomic<pjrt::Client*> client_{nullptr};  // leaked: devices outlive static destructors
  std::atomic<bool> touched_{false};            // an attempt to open was made in this process
  std::atomic<bool> bad_fork_{false};
  std::mutex mutex_;
  std::function<PlatformConfig()> resolver_;
  // Written before client_ is:
  std::vector<size_t> total_memory_;  // by device
  bool runs_kernels_ = false;
};

}  // namespace neuron::device

#include "csrc/device/runtime.h"

#include "csrc/device/device.h"
#include "csrc/device/stream.h"
#include "csrc/kernels/handler.h"

#include <c10/util/Exception.h>
#include <pthread.h>

#include <cstdlib>
#include <utility>

namespace neuron::device {

namespace {

// Programs still running at exit use the runtime's threads; let them finish before
// the plugin's own static objects go.
void drain_at_exit() {
  Runtime& runtime = Runtime::get();
  if (!runtime.initialized()) return;
  for (int device = 0; device < runtime.device_count(); ++device) {
    try {
      synchronize_device(device);
    } catch (const std::exception&) {
      // Nobody is left to tell.
    }
  }
}

// XLA's plugins log that they were opened, on stderr, unless this variable says
// that the information level is not wanted.
class QuietLogs {
 public:
  QuietLogs() : mine_(std::getenv(kName) == nullptr) {
    if (mine_) setenv(kName, "1", 0);
  }
  ~QuietLogs() {
    if (mine_) unsetenv(kName);
  }

 private:
  static constexpr const char* kName = "TF_CPP_MIN_LOG_LEVEL";
  const bool mine_;
};

void check_device_count(const pjrt::Client& client, int wanted) {
  TORCH_CHECK(
      client.device_count() >= wanted,
      "The environment asks for ",
      wanted,
      " neuron devices (NEURON_RT_VISIBLE_CORES, "
      "NEURON_RT_NUM_CORES or LOCAL_WORLD_SIZE), but platform ",
      client.platform_name(),
      " has ",
      client.device_count(),
      "."
  );
}

}  // namespace

Runtime& Runtime::get() {
  static Runtime* const runtime = new Runtime();
  return *runtime;
}

Runtime::Runtime() {
  pthread_atfork(nullptr, nullptr, &Runtime::after_fork_in_child);
}

void Runtime::after_fork_in_child() noexcept {
  Runtime& runtime = get();
  if (!runtime.touched_.load(std::memory_order_relaxed)) return;
  runtime.bad_fork_.store(true, std::memory_order_relaxed);
  runtime.client_.store(nullptr, std::memory_order_release);
}

void Runtime::check_fork() const {
  TORCH_CHECK(
      !in_bad_fork(),
      "Cannot re-initialize neuron in forked subprocess. To use neuron with multiprocessing, you "
      "must use the 'spawn' start method"
  );
}

int Runtime::device_count() noexcept {
  static const int count = count_devices();
  return count;
}

bool Runtime::runs_kernels() {
  static_cast<void>(client());
  return runs_kernels_;
}

size_t Runtime::total_memory(int device) {
  static_cast<void>(client());
  return total_memory_[check_device(device)];
}

void Runtime::set_platform(std::function<PlatformConfig()> resolver) {
  std::lock_guard<std::mutex> lock(mutex_);
  resolver_ = std::move(resolver);
}

pjrt::Client& Runtime::open() {
  check_fork();
  std::function<PlatformConfig()> resolver;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    resolver = resolver_;
  }
  TORCH_CHECK(resolver, "No neuron platform is installed: import torch_neuronx first.");
  std::string malformed;
  count_devices(&malformed);
  TORCH_CHECK_VALUE(malformed.empty(), malformed);
  // Not under the lock: the resolver may take the GIL, which a thread that waits
  // for the lock may hold.
  const PlatformConfig config = resolver();

  std::lock_guard<std::mutex> lock(mutex_);
  if (pjrt::Client* client = client_.load(std::memory_order_acquire)) return *client;
  touched_.store(true, std::memory_order_relaxed);
  const QuietLogs quiet;
  std::unique_ptr<pjrt::Client> client = pjrt::Client::open(config.plugin_path, config.options);
  check_device_count(*client, device_count());
  for (int device = 0; device < device_count(); ++device) {
    total_memory_.push_back(client->memory(device).limit());
  }
  runs_kernels_ = kernels::install(*client);
  std::atexit(&drain_at_exit);
  client_.store(client.get(), std::memory_order_release);
  return *client.release();
}

}  // namespace neuron::device

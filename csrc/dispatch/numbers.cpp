#include "csrc/dispatch/numbers.h"

#include "csrc/device/runtime.h"
#include "csrc/pjrt/client.h"

#include <c10/util/flat_hash_map.h>

#include <cstring>
#include <mutex>
#include <tuple>

namespace neuron::dispatch {
namespace {

struct NumberKey {
  uint64_t low, high;
  uint64_t type;  // dtype and device
  bool operator==(const NumberKey& other) const {
    return low == other.low && high == other.high && type == other.type;
  }
};

struct NumberHash {
  size_t operator()(const NumberKey& key) const {
    return (key.low * 0x9e3779b97f4a7c15ULL) ^ (key.high * 0xff51afd7ed558ccdULL) ^
           (key.type << 17);
  }
};

// More distinct values than this are not worth keeping.
constexpr size_t kMaxNumbers = 4096;

struct NumberCache {
  std::mutex mutex;
  ska::flat_hash_map<NumberKey, pjrt::BufferPtr, NumberHash> buffers;
};

NumberCache& cache() {
  static auto* instance = new NumberCache();  // leaked: buffers must not outlive the client
  return *instance;
}

}  // namespace

pjrt::BufferPtr number_buffer(
    c10::ScalarType dtype, c10::ArrayRef<uint8_t> bytes, c10::IntArrayRef dims, int device
) {
  auto& client = device::Runtime::get().client();
  if (!dims.empty()) {
    return client.from_host(bytes.data(), dtype, dims, device);
  }
  NumberKey key{0, 0, static_cast<uint64_t>(dtype) << 16 | static_cast<uint64_t>(device)};
  std::memcpy(&key.low, bytes.data(), std::min<size_t>(8, bytes.size()));
  if (bytes.size() > 8) {
    std::memcpy(&key.high, bytes.data() + 8, bytes.size() - 8);
  }
  auto& numbers = cache();
  std::lock_guard<std::mutex> lock(numbers.mutex);
  auto found = numbers.buffers.find(key);
  if (found != numbers.buffers.end()) {
    return found->second;
  }
  if (numbers.buffers.size() >= kMaxNumbers) {
    numbers.buffers.clear();
  }
  auto buffer = client.from_host(bytes.data(), dtype, dims, device);
  numbers.buffers.emplace(key, buffer);
  return buffer;
}

void clear_numbers() {
  auto& numbers = cache();
  std::lock_guard<std::mutex> lock(numbers.mutex);
  numbers.buffers.clear();
}

}  // namespace neuron::dispatch

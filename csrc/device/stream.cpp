#include "csrc/device/stream.h"

#include "csrc/device/device.h"
#include "csrc/device/runtime.h"

#include <c10/util/Exception.h>

#include <array>
#include <atomic>
#include <deque>
#include <exception>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

namespace neuron::device {

namespace {

constexpr int kPoolSize = 32;
constexpr size_t kMaxDevices = std::numeric_limits<c10::DeviceIndex>::max() + size_t{1};

Origin no_origin() {
  return nullptr;
}

std::atomic<Origin (*)()> origin_of_caller{&no_origin};

Origin caller() {
  return origin_of_caller.load(std::memory_order_relaxed)();
}

bool succeeded(const pjrt::Event& event) {
  try {
    event.await();
    return true;
  } catch (const c10::Error&) {
    return false;
  }
}

// What one stream has in flight.
class StreamState {
 public:
  void add(pjrt::Event event, const std::string& name) {
    // One that failed takes its turn: what it was launched upon failed before it.
    if (event.is_ready() && succeeded(event)) return;
    Launch launch{std::move(event), name, caller()};
    std::lock_guard<std::mutex> lock(mutex_);
    prune();
    in_flight_.push_back(std::move(launch));
  }

  bool idle() {
    std::lock_guard<std::mutex> lock(mutex_);
    prune();
    return in_flight_.empty() && awaited_.empty();
  }

  std::shared_ptr<Completion> completion() {
    auto completion = Completion::create();
    std::lock_guard<std::mutex> lock(mutex_);
    prune();
    for (const Launch& launch : in_flight_) completion->depend_on(launch.event);
    for (const auto& other : awaited_) completion->depend_on(*other);
    completion->seal();
    return completion;
  }

  void await(std::shared_ptr<Completion> other) {
    if (other->done()) return;
    std::lock_guard<std::mutex> lock(mutex_);
    awaited_.push_back(std::move(other));
  }

  void synchronize() {
    completion()->wait();
    report_failure();
  }

  void report_failure() {
    if (std::exception_ptr error = take_error()) std::rethrow_exception(error);
  }

 private:
  struct Launch {
    pjrt::Event event;
    std::string name;
    Origin origin;
  };

  // Drops what has finished, as far as the oldest launch that has not.
  void prune() {
    while (!in_flight_.empty() && in_flight_.front().event.is_ready()) {
      settle(in_flight_.front());
      in_flight_.pop_front();
    }
    std::erase_if(awaited_, [](const auto& other) { return other->done(); });
  }

  // Keeps the error of a finished launch for the next synchronize.
  void settle(const Launch& launch) {
    try {
      launch.event.await();
    } catch (c10::Error& error) {
      const std::string where = launch.origin ? ", launched " + *launch.origin : "";
      error.add_context("when running " + launch.name + " on neuron" + where);
      if (!error_) error_ = std::current_exception();
    }
  }

  std::exception_ptr take_error() {
    std::lock_guard<std::mutex> lock(mutex_);
    prune();
    return std::exchange(error_, nullptr);
  }

  std::mutex mutex_;
  std::deque<Launch> in_flight_;
  std::vector<std::shared_ptr<Completion>> awaited_;
  std::exception_ptr error_;
};

struct DeviceStreams {
  std::array<StreamState, 1 + kPoolSize> states;  // by stream id; 0 is the default stream
  std::atomic<uint32_t> handed_out{0};
};

std::vector<DeviceStreams>& all_streams() {
  static auto* const streams = new std::vector<DeviceStreams>(Runtime::get().device_count());
  return *streams;
}

DeviceStreams& streams_of(int device) {
  return all_streams()[check_device(device)];
}

StreamState& state_of(const c10::Stream& stream) {
  TORCH_CHECK(
      stream.device_type() == kDeviceType && stream.id() >= 0 && stream.id() <= kPoolSize,
      "Not a neuron stream: ",
      stream
  );
  return streams_of(stream.device_index()).states[stream.id()];
}

c10::Stream make_stream(int device, c10::StreamId id) {
  const auto index = static_cast<c10::DeviceIndex>(check_device(device));
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(kDeviceType, index), id);
}

// Stream ids by device index.
thread_local std::array<uint8_t, kMaxDevices> current_ids{};

std::atomic<bool> launch_blocking{false};
std::atomic<uint64_t> read_bytes{0};

}  // namespace

void track(int device, pjrt::Event launch, const std::string& name) {
  if (C10_UNLIKELY(launch_blocking.load(std::memory_order_relaxed))) {
    launch.await();
    return;
  }
  all_streams()[device].states[current_ids[device]].add(std::move(launch), name);
}

void set_origin(Origin (*origin)()) {
  origin_of_caller = origin;
}

void set_launch_blocking(bool blocking) {
  launch_blocking = blocking;
}

c10::Stream default_stream(int device) {
  return make_stream(device, 0);
}

c10::Stream current_stream(int device) {
  const int index = check_device(device);
  return make_stream(index, current_ids[index]);
}

c10::Stream exchange_stream(c10::Stream stream) {
  static_cast<void>(state_of(stream));
  const c10::Stream previous = current_stream(stream.device_index());
  current_ids[stream.device_index()] = static_cast<uint8_t>(stream.id());
  return previous;
}

c10::Stream new_stream(int device) {
  return make_stream(device, 1 + streams_of(device).handed_out++ % kPoolSize);
}

bool query_stream(c10::Stream stream) {
  return state_of(stream).idle();
}

void report_failure(c10::Stream stream) {
  state_of(stream).report_failure();
}

void synchronize_stream(c10::Stream stream) {
  state_of(stream).synchronize();
}

void synchronize_device(int device) {
  for (StreamState& state : streams_of(device).states) state.synchronize();
}

void read(const pjrt::Buffer& buffer, void* dst) {
  read(buffer, dst, buffer.nbytes());
}

uint64_t bytes_read() {
  return read_bytes.load(std::memory_order_relaxed);
}

void read(const pjrt::Buffer& buffer, void* dst, size_t nbytes) {
  read_bytes.fetch_add(nbytes, std::memory_order_relaxed);
  try {
    buffer.front_to_host(dst, nbytes);
  } catch (const c10::Error&) {
    synchronize_device(buffer.device());
    throw;
  }
}

std::shared_ptr<Completion> completion_of(c10::Stream stream) {
  return state_of(stream).completion();
}

void wait_for(c10::Stream stream, std::shared_ptr<Completion> other) {
  state_of(stream).await(std::move(other));
}

}  // namespace neuron::device

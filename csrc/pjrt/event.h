// RAII over PJRT_Event: completion of device work.
#pragma once

#include <functional>
#include <string>

struct PJRT_Api;
struct PJRT_Event;

namespace neuron::pjrt {

class Event {
 public:
  Event() = default;
  Event(const PJRT_Api* api, PJRT_Event* handle) : api_(api), handle_(handle) {}
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;
  ~Event();

  bool defined() const {
    return handle_ != nullptr;
  }
  bool is_ready() const;  // true for an undefined event
  // Blocks, then throws the work's error (csrc/pjrt/error.h); `what` completes
  // its "failed to ...".
  void await(const char* what = "run a program") const;
  // Calls `callback(error message or empty)` once the event fires, perhaps at
  // once and perhaps on a thread of the runtime. It must not throw. The event
  // may be destroyed before it fires.
  void on_ready(std::function<void(std::string)> callback) const;

 private:
  const PJRT_Api* api_ = nullptr;
  PJRT_Event* handle_ = nullptr;
};

}  // namespace neuron::pjrt

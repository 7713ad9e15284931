#include "csrc/pjrt/event.h"

#include "csrc/pjrt/api.h"
#include "csrc/pjrt/error.h"

#include <memory>
#include <utility>

namespace neuron::pjrt {
namespace {

struct Callback {
  const PJRT_Api* api;
  std::function<void(std::string)> function;
};

// Called by the runtime: owns `error` and `user_arg`. An exception has nowhere
// to go, so it terminates.
void call(PJRT_Error* error, void* user_arg) noexcept {
  const std::unique_ptr<Callback> callback(static_cast<Callback*>(user_arg));
  callback->function(error == nullptr ? std::string() : take_message(callback->api, error));
}

}  // namespace

Event::Event(Event&& other) noexcept
    : api_(other.api_), handle_(std::exchange(other.handle_, nullptr)) {}

Event& Event::operator=(Event&& other) noexcept {
  std::swap(api_, other.api_);
  std::swap(handle_, other.handle_);
  return *this;
}

Event::~Event() {
  if (handle_ == nullptr) {
    return;
  }
  NEURON_PJRT_ARGS(PJRT_Event_Destroy_Args, args);
  args.event = handle_;
  discard_error(api_, api_->PJRT_Event_Destroy(&args));
}

bool Event::is_ready() const {
  if (handle_ == nullptr) {
    return true;
  }
  NEURON_PJRT_ARGS(PJRT_Event_IsReady_Args, args);
  args.event = handle_;
  check_error(api_, api_->PJRT_Event_IsReady(&args), "query an event");
  return args.is_ready;
}

void Event::await(const char* what) const {
  if (handle_ == nullptr) {
    return;
  }
  NEURON_PJRT_ARGS(PJRT_Event_Await_Args, args);
  args.event = handle_;
  check_error(api_, api_->PJRT_Event_Await(&args), what);
}

void Event::on_ready(std::function<void(std::string)> callback) const {
  if (handle_ == nullptr) {
    callback(std::string());
    return;
  }
  auto holder = std::make_unique<Callback>(Callback{api_, std::move(callback)});
  NEURON_PJRT_ARGS(PJRT_Event_OnReady_Args, args);
  args.event = handle_;
  args.callback = call;
  args.user_arg = holder.get();
  check_error(api_, api_->PJRT_Event_OnReady(&args), "register a callback on an event");
  (void)holder.release();
}

}  // namespace neuron::pjrt

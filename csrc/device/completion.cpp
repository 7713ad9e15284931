#include "csrc/device/completion.h"

#include <utility>

namespace neuron::device {

std::shared_ptr<Completion> Completion::create() {
  return std::make_shared<Completion>();
}

void Completion::depend_on(const pjrt::Event& event) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ++pending_;
  }
  event.on_ready([self = shared_from_this()](const std::string& error) { self->finish_one(error); }
  );
}

void Completion::depend_on(Completion& other) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ++pending_;
  }
  other.then([self = shared_from_this()](const std::string& error) { self->finish_one(error); });
}

void Completion::seal() {
  finish_one({});
}

bool Completion::done() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return pending_ == 0;
}

void Completion::wait() const {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return pending_ == 0; });
}

Completion::Clock::time_point Completion::time() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return time_;
}

std::string Completion::error() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return error_;
}

void Completion::finish_one(const std::string& error) {
  decltype(callbacks_) callbacks;
  std::string first_error;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (error_.empty()) error_ = error;
    if (--pending_ > 0) return;
    time_ = Clock::now();
    callbacks.swap(callbacks_);
    first_error = error_;
  }
  changed_.notify_all();
  for (const auto& callback : callbacks) callback(first_error);
}

void Completion::then(std::function<void(const std::string&)> callback) {
  std::string error;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (pending_ > 0) {
      callbacks_.push_back(std::move(callback));
      return;
    }
    error = error_;
  }
  callback(error);
}

}  // namespace neuron::device

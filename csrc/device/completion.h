// The moment when a set of device work has finished, as a value to wait for.
#pragma once

#include "csrc/pjrt/event.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace neuron::device {

class Completion : public std::enable_shared_from_this<Completion> {
 public:
  using Clock = std::chrono::steady_clock;

  // While it is being built a completion counts as unfinished: create it, add what
  // it depends on, then seal it.
  static std::shared_ptr<Completion> create();
  void depend_on(const pjrt::Event& event);
  void depend_on(Completion& other);
  void seal();

  bool done() const;
  // Blocks until done.
  void wait() const;
  // When the last piece of work finished, as the device's threads saw it; for work
  // that was already finished, when the completion was sealed. Only after done().
  Clock::time_point time() const;
  // The first error among the work, or empty. Only after done().
  std::string error() const;

 private:
  void finish_one(const std::string& error);
  void then(std::function<void(const std::string&)> callback);

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  int pending_ = 1;  // the builder's own count, given up by seal()
  Clock::time_point time_;
  std::string error_;
  std::vector<std::function<void(const std::string&)>> callbacks_;
};

}  // namespace neuron::device

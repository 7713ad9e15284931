// Events: a mark in a stream, reached when everything launched before it is done.
// Owned by c10::Event through the device guard.
#pragma once

#include "csrc/device/completion.h"

#include <c10/core/Stream.h>

#include <memory>
#include <optional>

namespace neuron::device {

class Event {
 public:
  // Marks the stream's present end; a later record replaces the mark.
  void record(c10::Stream stream);
  // Makes `stream` wait for the mark.
  void block(c10::Stream stream) const;
  bool query() const;
  // Blocks until the mark is reached, then throws the first error that the stream has not
  // reported, else the first of the work before the mark.
  void synchronize() const;
  // Milliseconds from when this mark was reached to when `end` was, both measured
  // where the work ran. Both must have been reached.
  double elapsed_ms(const Event& end) const;

 private:
  std::shared_ptr<Completion> mark_;  // null before the first record
  std::optional<c10::Stream> stream_;
};

}  // namespace neuron::device

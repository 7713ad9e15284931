// Streams: per device and thread, a current stream that remembers which programs
// launched on it are still running.
//
// Programs are ordered by the data they exchange, on whichever stream they were
// launched, so a stream orders nothing. It answers "has all this work finished?"
// for query, synchronize and events.
#pragma once

#include "csrc/device/completion.h"
#include "csrc/pjrt/event.h"

#include <c10/core/Stream.h>

#include <memory>
#include <string>

namespace neuron::device {

// Notes a launch on the calling thread's current stream of `device`. Hot path: a
// launch that has already finished is dropped at once.
// `name` says in its error what was launched.
void track(int device, pjrt::Event launch, const std::string& name);
// NEURON_LAUNCH_BLOCKING: makes track wait for the launch and throw its error.
void set_launch_blocking(bool blocking);

c10::Stream default_stream(int device);
c10::Stream current_stream(int device);
// Makes `stream` the thread's current one of its device; returns the previous.
c10::Stream exchange_stream(c10::Stream stream);
// A stream from a fixed pool, handed out in turn: the next 32 have distinct ids.
c10::Stream new_stream(int device);

// Whether everything launched on the stream so far has finished.
bool query_stream(c10::Stream stream);
// Block until it has, then throw the first error of a program launched there that
// was not reported yet. Call without the GIL.
void synchronize_stream(c10::Stream stream);
void synchronize_device(int device);

// The completion of everything launched on the stream so far.
std::shared_ptr<Completion> completion_of(c10::Stream stream);
// Makes later completions of `stream` include `other` (Stream.wait_event).
void wait_for(c10::Stream stream, std::shared_ptr<Completion> other);

}  // namespace neuron::device

// Streams: per device and thread, a current stream that remembers which programs
// launched on it are still running.
//
// Programs are ordered by the data they exchange, on whichever stream they were
// launched, so a stream orders nothing. It answers "has all this work finished?"
// for query, synchronize and events.
#pragma once

#include "csrc/device/completion.h"
#include "csrc/pjrt/buffer.h"
#include "csrc/pjrt/event.h"

#include <c10/core/Stream.h>

#include <memory>
#include <string>

namespace neuron::device {

// What launched a program, in words that end a sentence: "at train.py:12", "by a
// backward pass". Null when nothing is known.
using Origin = std::shared_ptr<const std::string>;

// Notes a launch on the calling thread's current stream of `device`. Hot path: a
// launch that has already finished is dropped at once.
// `name` and the origin say in its error what was launched.
void track(int device, pjrt::Event launch, const std::string& name);
// Installs what tells the calling thread's origin. Asked of launches that are still
// running after their call, and of failures.
void set_origin(Origin (*origin)());
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
// Throws the first error of a program launched there that was not reported yet.
void report_failure(c10::Stream stream);
// Block until everything has finished, then report a failure. Call without the GIL.
void synchronize_stream(c10::Stream stream);
void synchronize_device(int device);
// Copies a buffer's bytes to `dst`, or the first `nbytes` of them. The error of a failed program
// is the streams', which says what was launched, unless it was reported before.
void read(const pjrt::Buffer& buffer, void* dst);
void read(const pjrt::Buffer& buffer, void* dst, size_t nbytes);
// How many bytes were read since the process started.
uint64_t bytes_read();

// The completion of everything launched on the stream so far.
std::shared_ptr<Completion> completion_of(c10::Stream stream);
// Makes later completions of `stream` include `other` (Stream.wait_event).
void wait_for(c10::Stream stream, std::shared_ptr<Completion> other);

}  // namespace neuron::device

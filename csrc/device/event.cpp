#include "csrc/device/event.h"

#include "csrc/device/stream.h"

#include <c10/util/Exception.h>

namespace neuron::device {

void Event::record(c10::Stream stream) {
  mark_ = completion_of(stream);
  stream_ = stream;
}

void Event::block(c10::Stream stream) const {
  if (mark_) wait_for(stream, mark_);
}

bool Event::query() const {
  return !mark_ || mark_->done();
}

void Event::synchronize() const {
  if (!mark_) return;
  mark_->wait();
  report_failure(*stream_);
  const std::string error = mark_->error();
  TORCH_CHECK(error.empty(), error);
}

double Event::elapsed_ms(const Event& end) const {
  TORCH_CHECK_VALUE(
      mark_ && end.mark_, "Both events must be recorded before calculating elapsed time."
  );
  TORCH_CHECK(
      query() && end.query(), "Both events must be completed before calculating elapsed time."
  );
  return std::chrono::duration<double, std::milli>(end.mark_->time() - mark_->time()).count();
}

}  // namespace neuron::device

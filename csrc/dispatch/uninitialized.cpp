#include "csrc/dispatch/uninitialized.h"

#include <ATen/Context.h>
#include <ATen/native/ResizeCommon.h>

#include <atomic>

namespace neuron::dispatch {
namespace {

std::atomic<bool> fill_always{false};

bool is_filled() {
  const auto& context = at::globalContext();
  return fill_always.load(std::memory_order_relaxed) ||
         (context.deterministicAlgorithms() && context.deterministicFillUninitializedMemory());
}

}  // namespace

void set_fill_uninitialized(bool fill) {
  fill_always = fill;
}

at::Tensor uninitialized(at::Tensor fresh) {
  if (C10_UNLIKELY(is_filled()) && fresh.numel() != 0) {
    at::native::fill_empty_deterministic_(fresh);
  }
  return fresh;
}

void fill_growth(const at::Tensor& tensor, size_t old_nbytes) {
  if (C10_UNLIKELY(is_filled())) {
    at::native::fill_resize_deterministic_(tensor, static_cast<int64_t>(old_nbytes));
  }
}

}  // namespace neuron::dispatch

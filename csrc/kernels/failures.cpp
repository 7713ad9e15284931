#include "csrc/kernels/failures.h"

#include <c10/util/Exception.h>

#include <array>
#include <mutex>
#include <utility>

namespace neuron::kernels {
namespace {

// Of the failures of one program the first is rethrown and the others stay, so the
// oldest make room.
constexpr size_t kKept = 256;

struct Failures {
  std::mutex mutex;
  int64_t last = 0;
  std::array<std::pair<int64_t, std::exception_ptr>, kKept> kept;

  auto& place(int64_t ticket) {
    return kept[static_cast<size_t>(ticket) % kKept];
  }
};

Failures& failures() {
  static auto* const instance = new Failures();  // leaked: programs may end after main does
  return *instance;
}

}  // namespace

int64_t keep_failure(std::exception_ptr error) {
  Failures& all = failures();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const int64_t ticket = ++all.last;
  all.place(ticket) = {ticket, std::move(error)};
  return ticket;
}

void rethrow_failure(int64_t ticket) {
  Failures& all = failures();
  std::exception_ptr error;
  {
    const std::lock_guard<std::mutex> lock(all.mutex);
    auto& [owner, kept] = all.place(ticket);
    if (owner == ticket) {
      error = std::exchange(kept, nullptr);
    }
  }
  TORCH_CHECK(error != nullptr, "A kernel failed; too many did at once to tell why.");
  std::rethrow_exception(error);
}

}  // namespace neuron::kernels

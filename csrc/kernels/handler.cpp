#include "csrc/kernels/handler.h"

#include "csrc/kernels/call.h"
#include "csrc/kernels/ffi.h"
#include "csrc/pjrt/client.h"
#include "csrc/pjrt/ffi.h"

#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <atomic>
#include <exception>

namespace neuron::kernels {
namespace {

constexpr const char* kTarget = "neuron_aten";

// The structs that we read have been the same since 0.1; a handler of any version up to
// the header's can be what a plugin asks for.
constexpr int kMajor = 0, kOldestMinor = 1;

std::atomic<bool> known_version{false};
std::atomic<int> num_threads{0};

bool is_known(const XLA_FFI_CallFrame& frame) {
  if (frame.struct_size < XLA_FFI_STRUCT_SIZE(XLA_FFI_CallFrame, attrs) || frame.api == nullptr) {
    return false;
  }
  const auto& version = frame.api->api_version;
  return version.major_version == kMajor && version.minor_version >= kOldestMinor;
}

// Answers with the plugin's own version, or the newest we know where that is newer.
void describe(const XLA_FFI_CallFrame& frame, XLA_FFI_Metadata& metadata) {
  known_version = is_known(frame);
  metadata.api_version.major_version = kMajor;
  metadata.api_version.minor_version =
      known_version ? std::min(frame.api->api_version.minor_version, XLA_FFI_API_MINOR) : 0;
  metadata.traits = 0;
}

XLA_FFI_Error* make_error(const XLA_FFI_Api* api, const char* message) {
  XLA_FFI_Error_Create_Args args{};
  args.struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE;
  args.message = message;
  args.errc = XLA_FFI_Error_Code_INTERNAL;
  return api->XLA_FFI_Error_Create(&args);
}

// The state of PyTorch's that a kernel finds, on whatever thread it runs: no modes, no
// gradients, no autocast; only kernels of the CPU's and below.
class PlainThread {
 private:
  c10::impl::ForceDispatchKeyGuard keys_{
      c10::impl::LocalDispatchKeySet{c10::impl::PODLocalDispatchKeySet{}}
  };
  at::AutoDispatchBelowADInplaceOrView below_autograd_;
  at::NoGradGuard no_grad_;
};

XLA_FFI_Error* handle(XLA_FFI_CallFrame* frame) noexcept {
  const auto* extension = frame->extension_start;
  if (extension != nullptr && extension->type == XLA_FFI_Extension_Metadata) {
    describe(*frame, *reinterpret_cast<const XLA_FFI_Metadata_Extension*>(extension)->metadata);
    return nullptr;
  }
  if (frame->stage != XLA_FFI_ExecutionStage_EXECUTE) {
    return nullptr;
  }
  try {
    const PlainThread plain;
    const int threads = num_threads.load(std::memory_order_relaxed);
    if (threads > 0 && threads != at::get_num_threads()) {
      at::set_num_threads(threads);
    }
    run(*frame);
    return nullptr;
  } catch (const std::exception& error) {
    return make_error(frame->api, error.what());
  }
}

}  // namespace

bool install(const pjrt::Client& client) {
  return client.host_memory() && pjrt::register_handler(client.api(), kTarget, &handle) &&
         known_version;
}

void follow_num_threads() {
  num_threads.store(at::get_num_threads(), std::memory_order_relaxed);
}

}  // namespace neuron::kernels

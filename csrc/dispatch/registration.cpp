// Which operators reach the boxed kernel.
//
// A backend fallback catches every operator that has no kernel for the device. An
// operator with a composite kernel would never reach it, so those are registered
// one by one, found by walking the dispatcher: all but views (PyTorch's own
// kernels only change metadata) and the few that are better composed.
#include "csrc/dispatch/registration.h"
#include "csrc/dispatch/kernel.h"

#include <torch/library.h>

#include <memory>
#include <string_view>
#include <unordered_set>

namespace neuron::dispatch {
namespace {

using c10::DispatchKey;

// Composed by PyTorch of empty, copy_ and views, which cost nothing here; or about
// layouts and devices rather than values.
const std::unordered_set<std::string_view>& left_composite() {
  static const std::unordered_set<std::string_view> names{
      "aten::_to_copy",
      "aten::clone",
      "aten::copy_",
      "aten::_lazy_clone",
      "aten::lift",
      "aten::contiguous",
      "aten::empty_like",
      "aten::empty_permuted",
      "aten::new_empty",
      "aten::new_empty_strided",
      "aten::empty_quantized",
      "aten::resize",
      "aten::resize_as_",
      "aten::resize_as_sparse_",
      "aten::set_",
      "aten::detach_",
      "aten::_copy_from",
      "aten::_copy_from_and_resize",
      "aten::is_pinned",
      "aten::pin_memory",
      "aten::_pin_memory",
      "aten::to_padded_tensor",
      "aten::_to_dense",
      "aten::sparse_dim",
      "aten::dense_dim",
      "aten::record_stream",
      "aten::_fw_primal",
      "aten::_make_dual",
      "aten::_unpack_dual",
      "aten::_has_same_storage_numel",
      "aten::_backward",
      "aten::retain_grad",
      "aten::requires_grad_",
  };
  return names;
}

bool is_view(const c10::FunctionSchema& schema) {
  for (const auto& ret : schema.returns()) {
    if (ret.alias_info() != nullptr && !ret.alias_info()->isWrite()) {
      return true;
    }
  }
  return false;
}

bool has_composite(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd) ||
         op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutogradNonFunctional);
}

bool wanted(const c10::OperatorHandle& op) {
  const auto& name = op.operator_name();
  return name.name.rfind("aten::", 0) == 0 && op.hasSchema() && has_composite(op) &&
         !op.hasKernelForDispatchKey(DispatchKey::PrivateUse1) && !is_view(op.schema()) &&
         left_composite().count(name.name) == 0;
}

}  // namespace

void register_kernels() {
  static torch::Library fallback(
      torch::Library::IMPL, "_", DispatchKey::PrivateUse1, __FILE__, __LINE__
  );
  fallback.fallback(torch::CppFunction::makeFromBoxedFunction<&boxed_kernel>());

  static torch::Library aten(
      torch::Library::IMPL, "aten", DispatchKey::PrivateUse1, __FILE__, __LINE__
  );
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const auto& name : dispatcher.getAllOpNames()) {
    auto op = dispatcher.findOp(name);
    if (op && wanted(*op)) {
      aten.impl(toString(name).c_str(), torch::CppFunction::makeFromBoxedFunction<&boxed_kernel>());
    }
  }
}

}  // namespace neuron::dispatch

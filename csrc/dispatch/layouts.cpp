// Operators on sparse and nested tensors.
//
// Such a tensor is made of strided ones, and most of PyTorch's kernels for it are
// written in terms of operators on those: they are the same for every device, though
// registered for the CPU. These are called as they are. Kernels that look into memory
// have counterparts in Python (torch_neuronx/sparse), which is asked once an operator.
#include "csrc/dispatch/layouts.h"

#include "csrc/dispatch/handlers.h"
#include "csrc/dispatch/kernel.h"

#include <torch/library.h>

#include <array>
#include <atomic>
#include <memory>
#include <vector>

namespace neuron::dispatch {
namespace {

using c10::DispatchKey;

struct Layout {
  const char* name;
  DispatchKey key;
  DispatchKey generic;  // where PyTorch has the kernels that suit any device
};

constexpr std::array<Layout, 3> kLayouts{{
    {"sparse_coo", DispatchKey::SparsePrivateUse1, DispatchKey::SparseCPU},
    {"sparse_compressed", DispatchKey::SparseCsrPrivateUse1, DispatchKey::SparseCsrCPU},
    {"nested", DispatchKey::NestedTensorPrivateUse1, DispatchKey::NestedTensorCPU},
}};
constexpr Layout kStrided{"strided", DispatchKey::PrivateUse1, DispatchKey::CPU};

class LayoutKernel final : public c10::OperatorKernel {
 public:
  explicit LayoutKernel(const Layout& layout) : layout_(layout) {}

  void operator()(
      const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack
  ) {
    if (const BoxedFunction& ours = counterpart(op)) {
      return ours(op, stack);
    }
    op.callBoxedForDispatchKey(layout_.generic, *stack);
  }

 private:
  const BoxedFunction& counterpart(const c10::OperatorHandle& op) {
    const auto* known = counterpart_.load(std::memory_order_acquire);
    if (known == nullptr) {
      // Two threads may ask; what is kept lives as long as the process, as the kernel does.
      auto asked = std::make_unique<BoxedFunction>(handlers().layout_kernel(op, layout_.name));
      if (counterpart_.compare_exchange_strong(known, asked.get())) {
        known = asked.release();
      }
    }
    return *known;
  }

  const Layout layout_;
  std::atomic<const BoxedFunction*> counterpart_{nullptr};
};

torch::CppFunction kernel_for(const Layout& layout) {
  return torch::CppFunction::makeFromBoxedFunctor(std::make_unique<LayoutKernel>(layout));
}

// One walk over the operators for all layouts: it is part of every start.
void register_counterparts(std::vector<torch::Library>& libraries) {
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const auto& name : dispatcher.getAllOpNames()) {
    if (name.name.rfind("aten::", 0) != 0) {
      continue;
    }
    const auto op = dispatcher.findOp(name);
    if (!op || !op->hasSchema()) {
      continue;
    }
    for (size_t i = 0; i < kLayouts.size(); ++i) {
      if (op->hasKernelForDispatchKey(kLayouts[i].generic)) {
        libraries[i].impl(toString(name).c_str(), kernel_for(kLayouts[i]));
      }
    }
  }
}

// A gradient that is to be sparse is PyTorch's composition, a dense one a program.
void embedding_bag_backward(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto position = op.schema().argumentIndexWithName("sparse");
  const auto count = op.schema().arguments().size();
  if (torch::jit::peek(*stack, *position, count).toBool()) {
    return op.callBoxedForDispatchKey(kStrided.generic, *stack);
  }
  boxed_kernel(op, stack);
}

}  // namespace

void register_layout_kernels() {
  static std::vector<torch::Library> libraries;
  for (const Layout& layout : kLayouts) {
    libraries.emplace_back(torch::Library::IMPL, "aten", layout.key, __FILE__, __LINE__);
  }
  register_counterparts(libraries);
}

// From strided tensors to other layouts.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  for (const char* name :
       {"_to_sparse",
        "_to_sparse.sparse_dim",
        "_to_sparse_csr",
        "_to_sparse_csc",
        "_to_sparse_bsr",
        "_to_sparse_bsc",
        "_nested_view_from_buffer"}) {
    m.impl(name, kernel_for(kStrided));
  }
  m.impl(
      "_embedding_bag_backward",
      torch::CppFunction::makeFromBoxedFunction<&embedding_bag_backward>()
  );
}

}  // namespace neuron::dispatch

#include "csrc/dispatch/kernel.h"

#include "csrc/dispatch/handlers.h"
#include "csrc/dispatch/launch.h"
#include "csrc/dispatch/table.h"

#include <ATen/native/CPUFallback.h>
#include <ATen/native/Resize.h>

#include <mutex>

namespace neuron::dispatch {
namespace {

// Asks once how the operator reaches the device.
Road road_of(OpInfo& info) {
  Road road = info.road.load(std::memory_order_acquire);
  if (C10_UNLIKELY(road == Road::Unknown)) {
    handlers().describe(info);
    road = info.road.load(std::memory_order_acquire);
  }
  return road;
}

void run_on_host(OpInfo& info, torch::jit::Stack* stack, const std::string& reason) {
  if (handlers().fallback(info, reason)) {
    info.fallbacks.fetch_add(1, std::memory_order_relaxed);
  }
  at::native::cpu_fallback(info.op, stack);
}

void run_composite(const OpInfo& info, torch::jit::Stack* stack) {
  using c10::DispatchKey;
  for (auto key :
       {DispatchKey::CompositeExplicitAutograd,
        DispatchKey::CompositeExplicitAutogradNonFunctional,
        DispatchKey::CompositeImplicitAutograd}) {
    if (info.op.hasKernelForDispatchKey(key)) {
      return info.op.callBoxedForDispatchKey(key, *stack);
    }
  }
  TORCH_CHECK_NOT_IMPLEMENTED(false, info.name, " has no composite kernel");
}

void resize_outputs(const Program& program, const Frame& frame) {
  for (const auto& target : program.targets) {
    const auto& tensor = *frame.tensors[target.tensor].tensor;
    at::native::resize_output(tensor, target.sizes);
    tensor.unsafeGetTensorImpl()->set_sizes_and_strides(
        target.sizes, target.strides, tensor.storage_offset()
    );
  }
}

ProgramPtr program_of(const Frame& frame) {
  if (auto known = find_program(frame)) {
    return known;
  }
  return keep_program(frame, handlers().miss(frame));
}

// Autograd notes the writes of tensors, and leaves those of lists to the kernels: PyTorch's
// _foreach_ kernels tell them, and those of the fused optimizers do not.
void note_writes(const Frame& frame) {
  for (const auto& argument : frame.tensors) {
    if (argument.written && !argument.tensor->is_inference()) {
      argument.tensor->unsafeGetTensorImpl()->bump_version();
    }
  }
}

}  // namespace

Handlers& handlers() {
  static auto* instance = new Handlers();  // leaked: holds Python objects
  return *instance;
}

void boxed_kernel(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  OpInfo& info = op_info(op);
  Road road = road_of(info);
  if (road == Road::Composite) {
    return run_composite(info, stack);
  }
  if (road == Road::Host) {
    return run_on_host(info, stack, info.host_reason);
  }
  for (;;) {
    Frame frame(info, *stack);
    const auto program = program_of(frame);
    switch (program->kind) {
      case Program::Launch:
        info.executed.fetch_add(1, std::memory_order_relaxed);
        if (info.notes_writes) {
          note_writes(frame);
        }
        return launch(*program, frame);
      case Program::Resize:
        resize_outputs(*program, frame);
        continue;
      case Program::Host:
        return run_on_host(info, stack, program->reason);
      case Program::Composite:
        return run_composite(info, stack);
    }
  }
}

}  // namespace neuron::dispatch

#include "csrc/pjrt/executable.h"

#include "csrc/pjrt/api.h"
#include "csrc/pjrt/client.h"
#include "csrc/pjrt/error.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <memory>

namespace neuron::pjrt {
namespace {

struct DestroyExecutable {
  const PJRT_Api* api;
  void operator()(PJRT_Executable* executable) const {
    NEURON_PJRT_ARGS(PJRT_Executable_Destroy_Args, args);
    args.executable = executable;
    discard_error(api, api->PJRT_Executable_Destroy(&args));
  }
};
using ExecutableHandle = std::unique_ptr<PJRT_Executable, DestroyExecutable>;

struct DestroyLoaded {
  const PJRT_Api* api;
  void operator()(PJRT_LoadedExecutable* executable) const {
    NEURON_PJRT_ARGS(PJRT_LoadedExecutable_Destroy_Args, args);
    args.executable = executable;
    discard_error(api, api->PJRT_LoadedExecutable_Destroy(&args));
  }
};
using LoadedHandle = std::unique_ptr<PJRT_LoadedExecutable, DestroyLoaded>;

// What was compiled, apart from being loaded: it answers the questions.
ExecutableHandle unloaded(const Client& client, PJRT_LoadedExecutable* loaded) {
  NEURON_PJRT_ARGS(PJRT_LoadedExecutable_GetExecutable_Args, args);
  args.loaded_executable = loaded;
  client.check(client.api()->PJRT_LoadedExecutable_GetExecutable(&args), "describe an executable");
  return ExecutableHandle(args.executable, DestroyExecutable{client.api()});
}

size_t count_outputs(const Client& client, PJRT_LoadedExecutable* loaded) {
  const ExecutableHandle executable = unloaded(client, loaded);
  NEURON_PJRT_ARGS(PJRT_Executable_NumOutputs_Args, args);
  args.executable = executable.get();
  client.check(client.api()->PJRT_Executable_NumOutputs(&args), "count a program's outputs");
  return args.num_outputs;
}

// A portable executable belongs to no device and is told at each launch where to run.
bool belongs_to_no_device(const Client& client, PJRT_LoadedExecutable* loaded) {
  NEURON_PJRT_ARGS(PJRT_LoadedExecutable_AddressableDevices_Args, args);
  args.executable = loaded;
  client.check(
      client.api()->PJRT_LoadedExecutable_AddressableDevices(&args), "find a program's devices"
  );
  return args.num_addressable_devices == 0;
}

}  // namespace

Executable::Executable(Client& client, PJRT_LoadedExecutable* handle)
    : client_(client), handle_(handle) {
  LoadedHandle guard(handle, DestroyLoaded{client.api()});
  num_outputs_ = count_outputs(client, handle);
  portable_ = belongs_to_no_device(client, handle);
  (void)guard.release();
}

Executable::~Executable() {
  DestroyLoaded{client_.api()}(handle_);
}

size_t Executable::code_bytes() const {
  const ExecutableHandle executable = unloaded(client_, handle_);
  NEURON_PJRT_ARGS(PJRT_Executable_SizeOfGeneratedCodeInBytes_Args, args);
  args.executable = executable.get();
  PJRT_Error* error = client_.api()->PJRT_Executable_SizeOfGeneratedCodeInBytes(&args);
  if (error != nullptr) {
    discard_error(client_.api(), error);
    return 0;
  }
  return static_cast<size_t>(std::max<int64_t>(args.size_in_bytes, 0));
}

void Executable::run(
    c10::ArrayRef<PJRT_Buffer*> arguments,
    c10::ArrayRef<int64_t> non_donatable,
    std::span<PJRT_Buffer*> outputs,
    int device,
    PJRT_Event** event
) const {
  TORCH_INTERNAL_ASSERT(outputs.size() == num_outputs_);
  PJRT_Buffer* const* argument_list = arguments.data();
  PJRT_Buffer** output_list = outputs.data();
  NEURON_PJRT_ARGS(PJRT_ExecuteOptions, options);
  options.non_donatable_input_indices = non_donatable.data();
  options.num_non_donatable_input_indices = non_donatable.size();
  NEURON_PJRT_ARGS(PJRT_LoadedExecutable_Execute_Args, args);
  args.executable = handle_;
  args.options = &options;
  args.argument_lists = &argument_list;
  args.num_devices = 1;
  args.num_args = arguments.size();
  args.output_lists = &output_list;
  args.device_complete_events = event;
  args.execute_device = portable_ ? client_.device(device) : nullptr;
  client_.check(client_.api()->PJRT_LoadedExecutable_Execute(&args), "launch a program", device);
}

Event Executable::execute(
    c10::ArrayRef<PJRT_Buffer*> arguments,
    c10::ArrayRef<int64_t> non_donatable,
    std::span<PJRT_Buffer*> outputs,
    int device
) const {
  PJRT_Event* event = nullptr;
  run(arguments, non_donatable, outputs, device, &event);
  return Event(client_.api(), event);
}

std::string Executable::serialize() const {
  const ExecutableHandle executable = unloaded(client_, handle_);
  NEURON_PJRT_ARGS(PJRT_Executable_Serialize_Args, args);
  args.executable = executable.get();
  client_.check(client_.api()->PJRT_Executable_Serialize(&args), "serialize an executable");
  const std::unique_ptr<PJRT_SerializedExecutable, void (*)(PJRT_SerializedExecutable*)> guard(
      args.serialized_executable, args.serialized_executable_deleter
  );
  return std::string(args.serialized_bytes, args.serialized_bytes_size);
}

}  // namespace neuron::pjrt

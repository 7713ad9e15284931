// Device indices: how many there are and which one is current. Opens nothing.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/DispatchKeySet.h>

#include <string>

namespace neuron::device {

inline constexpr c10::DeviceType kDeviceType = c10::DeviceType::PrivateUse1;

// The dispatch keys of the device's tensors. The CPU's backend bit, which is below the device's and
// so never dispatched on, makes them "dense" to TensorImpl::has_compatible_shallow_copy_type, whose
// list of backends is closed. Without it `parameter.data = device_tensor` is refused, and
// Module.to() makes new parameters: tied weights come apart and an optimizer keeps the old ones.
inline constexpr c10::DispatchKeySet kTensorKeys{
    c10::DispatchKey::PrivateUse1, c10::DispatchKey::CPU
};

// Devices that the environment asks for: NEURON_RT_VISIBLE_CORES ("0", "0-3",
// "1,3"), else NEURON_RT_NUM_CORES, else one per local rank (LOCAL_WORLD_SIZE, set
// by torchrun), else 1. On a malformed value returns 0 and, when `error` is
// given, writes there a sentence that names the variable.
int count_devices(std::string* error = nullptr) noexcept;

// The current device of the calling thread; at first LOCAL_RANK's where there is one.
int current_device() noexcept;
// Sets it; throws c10::Error when `index` is no device.
void set_device(int index);
// Sets it without a check (for destructors).
void unchecked_set_device(int index) noexcept;
// Sets it and returns the previous one; a negative `index` changes nothing.
int exchange_device(int index);

// `index`, or the current device for -1; throws c10::Error when it is no device.
int check_device(int index);

}  // namespace neuron::device

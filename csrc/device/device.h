// Device indices: how many there are and which one is current. Opens nothing.
#pragma once

#include <c10/core/Device.h>

#include <string>

namespace neuron::device {

inline constexpr c10::DeviceType kDeviceType = c10::DeviceType::PrivateUse1;

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

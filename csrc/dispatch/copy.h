// Copies between the host and a device, and between devices.
#pragma once

#include <ATen/core/Tensor.h>

namespace neuron::dispatch {

at::Tensor& copy_(at::Tensor& self, const at::Tensor& src, bool non_blocking);
at::Scalar local_scalar_dense(const at::Tensor& self);
bool equal(const at::Tensor& self, const at::Tensor& other);

}  // namespace neuron::dispatch

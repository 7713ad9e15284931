// Which run-time numbers a call's dtypes cannot hold.
#pragma once

#include "csrc/dispatch/frame.h"

namespace neuron::dispatch {

// Whether the dtypes of the call's tensors, and those among its arguments, hold the number: most
// kernels refuse one that they cannot convert. May say no of a number that just fits.
bool fits(const NumberArg& number, const Frame& frame);

}  // namespace neuron::dispatch

// What kernels threw while programs ran, until the launch that waits for a program
// rethrows it: the program itself can only hand out a number.
#pragma once

#include <cstdint>
#include <exception>

namespace neuron::kernels {

// Keeps an exception; its ticket, which is positive, for the program to return.
int64_t keep_failure(std::exception_ptr error);

// Throws the exception of a ticket, as the kernel threw it.
[[noreturn]] void rethrow_failure(int64_t ticket);

}  // namespace neuron::kernels

// The executables in memory: call key -> program, least recently used first out.
#pragma once

#include "csrc/dispatch/frame.h"
#include "csrc/dispatch/program.h"

#include <memory>

namespace neuron::dispatch {

using ProgramPtr = std::shared_ptr<const Program>;

ProgramPtr find_program(const Frame& frame);
// Keeps `program` for the frame's key and returns what the table holds for it.
ProgramPtr keep_program(const Frame& frame, ProgramPtr program);
void clear_programs();
size_t program_count();
// At most `count` programs are kept; 0 means no limit.
void set_program_limit(size_t count);

}  // namespace neuron::dispatch

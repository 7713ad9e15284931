// RAII over PJRT_LoadedExecutable.
#pragma once

#include "csrc/pjrt/buffer.h"
#include "csrc/pjrt/event.h"

#include <c10/util/ArrayRef.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

struct PJRT_LoadedExecutable;

namespace neuron::pjrt {

class Executable {
 public:
  Executable(Client& client, PJRT_LoadedExecutable* handle);
  ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  size_t num_outputs() const {
    return num_outputs_;
  }
  size_t code_bytes() const; // size of the generated code, 0 where unknown

  // Launches on `device`. `outputs` has room for num_outputs() handles, which
  // the caller then owns. Arguments listed in `non_donatable` stay valid
  // although the program may alias them to an output. Returns the event of the
  // launch's completion. Hot path: allocates nothing.
  Event execute(
      c10::ArrayRef<PJRT_Buffer*> arguments,
      c10::ArrayRef<int64_t> non_donatable,
      std::span<PJRT_Buffer*> outputs,
      int device) const;

  std::string serialize() const;

 private:
  Client& client_;
  PJRT_LoadedExecutable* handle_;
  size_t num_outputs_;
};

} // namespace neuron::pjrt

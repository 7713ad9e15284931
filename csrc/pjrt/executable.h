// RAII over PJRT_LoadedExecutable.
#pragma once

#include "csrc/pjrt/buffer.h"
#include "csrc/pjrt/event.h"

#include <c10/util/ArrayRef.h>

#include <span>
#include <string>

struct PJRT_Event;
struct PJRT_LoadedExecutable;

namespace neuron::pjrt {

class Client;

// A program compiled with `compile_portable_executable`, so that each launch
// says on which device of the client it runs.
class Executable {
 public:
  // Takes ownership of `handle`.
  Executable(Client& client, PJRT_LoadedExecutable* handle);
  ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  size_t num_outputs() const {
    return num_outputs_;
  }
  size_t code_bytes() const;  // size of the generated code, 0 where unknown

  // Launches on `device`. `outputs` has room for num_outputs() handles, which
  // the caller then owns. Arguments listed in `non_donatable` stay valid
  // although the program may alias them to an output. Hot path: allocates
  // nothing. Completion is the ready event of any output.
  void launch(
      c10::ArrayRef<PJRT_Buffer*> arguments,
      c10::ArrayRef<int64_t> non_donatable,
      std::span<PJRT_Buffer*> outputs,
      int device
  ) const {
    run(arguments, non_donatable, outputs, device, nullptr);
  }

  // As launch(), and returns the event of the launch's completion, which a
  // program without outputs needs. The event makes a small launch about a tenth slower.
  Event execute(
      c10::ArrayRef<PJRT_Buffer*> arguments,
      c10::ArrayRef<int64_t> non_donatable,
      std::span<PJRT_Buffer*> outputs,
      int device
  ) const;

  // For Client::deserialize of the same plugin at the same version.
  std::string serialize() const;

 private:
  void run(
      c10::ArrayRef<PJRT_Buffer*> arguments,
      c10::ArrayRef<int64_t> non_donatable,
      std::span<PJRT_Buffer*> outputs,
      int device,
      PJRT_Event** event
  ) const;

  Client& client_;
  PJRT_LoadedExecutable* handle_;
  size_t num_outputs_ = 0;
  bool portable_ = false;
};

}  // namespace neuron::pjrt

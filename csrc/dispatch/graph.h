// A graph of torch.compile as one call: its tensors and sizes become a frame, whose key finds a
// program in the same table, and the same launch runs it as an operator's.
#pragma once

#include "csrc/dispatch/op_info.h"
#include "csrc/dispatch/table.h"

#include <ATen/core/stack.h>

#include <functional>
#include <string>
#include <vector>

namespace neuron::dispatch {

class Graph {
 public:
  // Makes the program of a call that the table does not know.
  using Miss = std::function<ProgramPtr(const Frame&)>;

  // `device` is where the graph runs when no input says so. `takes_memory`: results may take that
  // of inputs which nobody else holds.
  Graph(const std::string& name, int device, bool takes_memory, Miss miss);

  bool takes_memory() const {
    return takes_memory_;
  }

  // Returns the program's results in its order. `given_away`, per tensor of the device: nobody else
  // refers to it; empty unless takes_memory().
  torch::jit::Stack run(
      c10::List<at::Tensor> inputs, c10::impl::GenericList sizes, std::vector<bool> given_away
  );

 private:
  OpInfo info_;
  int device_;
  bool takes_memory_;
  Miss miss_;
};

}  // namespace neuron::dispatch

// Calls from the core into Python that torch.compile must not look at.
#pragma once

#include <pybind11/pybind11.h>

namespace neuron::python {

// Holds the GIL, and Dynamo's frame evaluation off: an operator that runs in a function which
// is being compiled would have our own Python traced, or refused under fullgraph.
class Undisturbed {
 public:
  Undisturbed()
      : set_eval_frame_(
            pybind11::module_::import("torch._C._dynamo.eval_frame").attr("set_eval_frame")
        ),
        callback_(set_eval_frame_(pybind11::none())) {}
  ~Undisturbed() {
    try {
      pybind11::error_scope keep_error;
      set_eval_frame_(callback_);
    } catch (pybind11::error_already_set& error) {
      error.discard_as_unraisable("restoring Dynamo's frame evaluation");
    }
  }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  pybind11::gil_scoped_acquire gil_;
  pybind11::object set_eval_frame_;
  pybind11::object callback_;
};

}  // namespace neuron::python

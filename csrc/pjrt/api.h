// The PJRT C API as this folder includes it, and the one way to make and use
// its structs: zeroed, with the size that this build knows.
#pragma once

// From GCC 13 on, the function table's members, named as their types, are an
// error without this.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 13
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wchanges-meaning"
#endif
#include "pjrt_c_api.h"
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 13
#pragma GCC diagnostic pop
#endif

// An args struct of the C API named `name`: `NEURON_PJRT_ARGS(PJRT_Event_Await_Args, args);`
#define NEURON_PJRT_ARGS(type, name) \
  type name{};                       \
  name.struct_size = type##_STRUCT_SIZE

// Whether the plugin's function table is new enough to have `function`, and has it.
#define NEURON_PJRT_HAS(api, function)                                                \
  ((api)->struct_size >= static_cast<size_t>(PJRT_STRUCT_SIZE(PJRT_Api, function)) && \
   (api)->function != nullptr)

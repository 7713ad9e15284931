// Random number generators: a counter-based (seed, offset) state. The numbers are
// computed inside the programs (torch_neuronx/lowering/rng.py).
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/GeneratorImpl.h>

#include <cstdint>
#include <optional>
#include <utility>

namespace neuron::device {

// Shared by generators that alias one state (graphsafe_get_state).
struct GeneratorState final : c10::intrusive_ptr_target {
  GeneratorState(uint64_t seed, uint64_t offset) : seed(seed), offset(offset) {}
  uint64_t seed;
  uint64_t offset;
};

// State tensor: 16 bytes of uint8 on the CPU, (seed, offset) as int64, as CUDA's.
// As for every generator, callers of the virtual functions hold mutex_.
class GeneratorImpl final : public c10::GeneratorImpl {
 public:
  explicit GeneratorImpl(c10::DeviceIndex device);
  GeneratorImpl(c10::DeviceIndex device, c10::intrusive_ptr<GeneratorState> state);

  static c10::DeviceType device_type() {
    return c10::DeviceType::PrivateUse1;
  }

  void set_current_seed(uint64_t seed) override;  // and the offset to 0
  uint64_t current_seed() const override;
  uint64_t seed() override;  // a non-deterministic one, which it returns
  void set_offset(uint64_t offset) override;
  uint64_t get_offset() const override;
  void set_state(const c10::TensorImpl& state) override;
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override;
  void graphsafe_set_state(const c10::intrusive_ptr<c10::GeneratorImpl>& other) override;
  c10::intrusive_ptr<c10::GeneratorImpl> graphsafe_get_state() const override;

  // Returns (seed, offset) as they are and moves the offset by `increment`.
  std::pair<uint64_t, uint64_t> advance(uint64_t increment);

 private:
  GeneratorImpl* clone_impl() const override;

  c10::intrusive_ptr<GeneratorState> state_;
};

// The default generator of `device` (-1: the current one), at first seeded at random
// as CPU's and CUDA's are; a new Generator starts at c10::default_rng_seed_val.
// Opens nothing.
const at::Generator& default_generator(int device);

// Sets aside `increment` random numbers of `generator`, or of the default one of
// `device`: returns (seed, offset) before. Takes the generator's lock.
std::pair<uint64_t, uint64_t> reserve(
    const std::optional<at::Generator>& generator, int device, uint64_t increment
);

}  // namespace neuron::device

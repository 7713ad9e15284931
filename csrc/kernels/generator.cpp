#include "csrc/kernels/generator.h"

#include <ATen/CPUGeneratorImpl.h>

namespace neuron::kernels {
namespace {

// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
uint64_t split_mix(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

// The Mersenne twister's whole state is drawn from the 128 bits; of a seed it takes 32.
at::Generator make_generator(const uint64_t* state) {
  uint64_t by_offset = state[1];
  uint64_t source = state[0] ^ split_mix(by_offset);
  at::mt19937_data_pod data{};
  data.seed_ = state[0];
  data.left_ = 1;  // none of the words was handed out yet
  data.seeded_ = true;
  for (auto& word : data.state_) {
    word = static_cast<uint32_t>(split_mix(source) >> 32);
  }
  at::mt19937 engine;
  engine.set_data(data);
  auto generator = at::make_generator<at::CPUGeneratorImpl>(state[0]);
  generator.get<at::CPUGeneratorImpl>()->set_engine(engine);
  return generator;
}

}  // namespace neuron::kernels

#include "csrc/device/generator.h"

#include "csrc/device/device.h"
#include "csrc/device/runtime.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include <cstring>
#include <vector>

namespace neuron::device {

namespace {

constexpr int64_t kSeedBytes = sizeof(uint64_t);
constexpr int64_t kStateBytes = kSeedBytes + sizeof(uint64_t);

std::vector<at::Generator> make_default_generators() {
  std::vector<at::Generator> generators;
  for (int device = 0; device < Runtime::get().device_count(); ++device) {
    generators.push_back(at::make_generator<GeneratorImpl>(static_cast<c10::DeviceIndex>(device)));
    generators.back().seed();
  }
  return generators;
}

}  // namespace

GeneratorImpl::GeneratorImpl(c10::DeviceIndex device)
    : GeneratorImpl(device, c10::make_intrusive<GeneratorState>(c10::default_rng_seed_val, 0)) {}

GeneratorImpl::GeneratorImpl(c10::DeviceIndex device, c10::intrusive_ptr<GeneratorState> state)
    : c10::GeneratorImpl(
          c10::Device(kDeviceType, device), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)
      ),
      state_(std::move(state)) {}

void GeneratorImpl::set_current_seed(uint64_t seed) {
  state_->seed = seed;
  state_->offset = 0;
}

uint64_t GeneratorImpl::current_seed() const {
  return state_->seed;
}

uint64_t GeneratorImpl::seed() {
  const uint64_t random = c10::detail::getNonDeterministicRandom(/*is_cuda=*/true);  // 53 bits
  set_current_seed(random);
  return random;
}

void GeneratorImpl::set_offset(uint64_t offset) {
  state_->offset = offset;
}

uint64_t GeneratorImpl::get_offset() const {
  return state_->offset;
}

void GeneratorImpl::set_state(const c10::TensorImpl& state) {
  at::detail::check_rng_state(state);
  const int64_t size = state.numel();
  TORCH_CHECK(
      size == kStateBytes || size == kSeedBytes,
      "RNG state is wrong size: expected ",
      kStateBytes,
      " bytes (seed, offset), got ",
      size
  );
  const auto* bytes = state.data_dtype_initialized<uint8_t>();
  state_->offset = 0;  // where the state is a seed alone
  std::memcpy(&state_->seed, bytes, kSeedBytes);
  if (size == kStateBytes) std::memcpy(&state_->offset, bytes + kSeedBytes, sizeof(uint64_t));
}

c10::intrusive_ptr<c10::TensorImpl> GeneratorImpl::get_state() const {
  at::Tensor state = at::detail::empty_cpu(
      {kStateBytes}, at::kByte, std::nullopt, std::nullopt, std::nullopt, std::nullopt
  );
  auto* bytes = static_cast<uint8_t*>(state.mutable_data_ptr());
  std::memcpy(bytes, &state_->seed, kSeedBytes);
  std::memcpy(bytes + kSeedBytes, &state_->offset, sizeof(uint64_t));
  return state.getIntrusivePtr();
}

void GeneratorImpl::graphsafe_set_state(const c10::intrusive_ptr<c10::GeneratorImpl>& other) {
  const auto* source = dynamic_cast<GeneratorImpl*>(other.get());
  TORCH_CHECK(source != nullptr, "Expected a generator of device type neuron");
  state_ = source->state_;
}

c10::intrusive_ptr<c10::GeneratorImpl> GeneratorImpl::graphsafe_get_state() const {
  return c10::make_intrusive<GeneratorImpl>(device().index(), state_);
}

std::pair<uint64_t, uint64_t> GeneratorImpl::advance(uint64_t increment) {
  const uint64_t offset = state_->offset;
  state_->offset += increment;
  return {state_->seed, offset};
}

GeneratorImpl* GeneratorImpl::clone_impl() const {
  auto state = c10::make_intrusive<GeneratorState>(state_->seed, state_->offset);
  return new GeneratorImpl(device().index(), std::move(state));
}

const at::Generator& default_generator(int device) {
  static const auto* const generators = new std::vector<at::Generator>(make_default_generators());
  return (*generators)[check_device(device)];
}

std::pair<uint64_t, uint64_t> reserve(
    const std::optional<at::Generator>& generator, int device, uint64_t increment
) {
  auto* impl = at::get_generator_or_default<GeneratorImpl>(generator, default_generator(device));
  std::lock_guard<std::mutex> lock(impl->mutex_);
  return impl->advance(increment);
}

}  // namespace neuron::device

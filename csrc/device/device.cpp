#include "csrc/device/device.h"

#include "csrc/device/runtime.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <optional>
#include <set>
#include <string_view>

namespace neuron::device {

namespace {

constexpr int kMaxDevices = std::numeric_limits<c10::DeviceIndex>::max();

// A variable's value, nullopt when it is unset or empty.
std::optional<std::string_view> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::optional<int> parse_int(std::string_view text) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc() || stop != end || value < 0) return std::nullopt;
  return value;
}

// "3" or "0-3", inclusive; adds the cores to `cores`.
bool add_cores(std::string_view item, std::set<int>& cores) {
  const size_t dash = item.find('-');
  const auto first = parse_int(item.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_int(item.substr(dash + 1));
  if (!first || !last || *last < *first || *last - *first >= kMaxDevices) return false;
  for (int core = *first; core <= *last; ++core) cores.insert(core);
  return true;
}

std::optional<int> count_cores(std::string_view list) {
  std::set<int> cores;
  while (true) {
    const size_t comma = list.find(',');
    if (!add_cores(list.substr(0, comma), cores)) return std::nullopt;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return static_cast<int>(cores.size());
}

std::optional<int> count_positive(std::string_view text) {
  const auto value = parse_int(text);
  return value && *value > 0 ? value : std::nullopt;
}

struct CountVariable {
  const char* name;
  std::optional<int> (*count)(std::string_view);
  const char* expects;
};

constexpr CountVariable kCountVariables[] = {
    {"NEURON_RT_VISIBLE_CORES", count_cores, "core numbers such as 0, 0-3 or 1,3"},
    {"NEURON_RT_NUM_CORES", count_positive, "a positive number of cores"},
    {"LOCAL_WORLD_SIZE", count_positive, "a positive number of ranks"},
};

int initial_device() noexcept {
  const auto text = environment("LOCAL_RANK");
  const int rank = text ? parse_int(*text).value_or(0) : 0;
  return rank < Runtime::get().device_count() ? rank : 0;
}

int& current() noexcept {
  static const int initial = initial_device();
  thread_local int device = initial;
  return device;
}

}  // namespace

int count_devices(std::string* error) noexcept {
  for (const CountVariable& variable : kCountVariables) {
    const auto text = environment(variable.name);
    if (!text) continue;
    const auto count = variable.count(*text);
    if (count) return std::min(*count, kMaxDevices);
    if (error != nullptr) {
      *error = std::string(variable.name) + "='" + std::string(*text) +
               "' is not valid: expected " + variable.expects + ".";
    }
    return 0;
  }
  return 1;
}

int current_device() noexcept {
  return current();
}

void set_device(int index) {
  current() = check_device(index);
}

void unchecked_set_device(int index) noexcept {
  current() = index;
}

int exchange_device(int index) {
  const int previous = current();
  if (index >= 0) set_device(index);
  return previous;
}

int check_device(int index) {
  if (index == -1) return current();
  const int count = Runtime::get().device_count();
  TORCH_CHECK(
      index >= 0 && index < count,
      "Invalid device neuron:",
      index,
      ": this process has ",
      count,
      " neuron device",
      count == 1 ? "" : "s",
      ", numbered from 0 (NEURON_RT_VISIBLE_CORES, "
      "NEURON_RT_NUM_CORES)."
  );
  return index;
}

}  // namespace neuron::device

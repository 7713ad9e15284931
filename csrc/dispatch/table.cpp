#include "csrc/dispatch/table.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace neuron::dispatch {
namespace {

struct Stored {
  Key key;
  ProgramPtr program;
  std::atomic<uint64_t> used;
  Stored(const Key& k, ProgramPtr p, uint64_t tick) : key(k), program(std::move(p)), used(tick) {}
};

class Table {
 public:
  ProgramPtr find(uint64_t hash, const Key& key) {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    auto range = programs_.equal_range(hash);
    for (auto it = range.first; it != range.second; ++it) {
      if (it->second.key == key) {
        it->second.used.store(++tick_, std::memory_order_relaxed);
        return it->second.program;
      }
    }
    return nullptr;
  }

  ProgramPtr keep(uint64_t hash, const Key& key, ProgramPtr program) {
    if (auto known = find(hash, key)) {
      return known;
    }
    std::unique_lock<std::shared_mutex> lock(mutex_);
    if (limit_ != 0 && programs_.size() >= limit_) {
      evict();
    }
    auto it = programs_.emplace(
        std::piecewise_construct,
        std::forward_as_tuple(hash),
        std::forward_as_tuple(key, std::move(program), ++tick_)
    );
    return it->second.program;
  }

  void clear() {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    programs_.clear();
  }

  size_t size() {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    return programs_.size();
  }

  void set_limit(size_t count) {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    limit_ = count;
  }

 private:
  void evict() {
    auto oldest =
        std::min_element(programs_.begin(), programs_.end(), [](const auto& a, const auto& b) {
          return a.second.used.load(std::memory_order_relaxed) <
                 b.second.used.load(std::memory_order_relaxed);
        });
    programs_.erase(oldest);
  }

  std::shared_mutex mutex_;
  std::unordered_multimap<uint64_t, Stored> programs_;
  std::atomic<uint64_t> tick_{0};
  size_t limit_ = 0;
};

Table& table() {
  static auto* instance = new Table();  // leaked: executables must not outlive the client
  return *instance;
}

}  // namespace

ProgramPtr find_program(const Frame& frame) {
  return table().find(frame.hash, frame.key);
}

ProgramPtr keep_program(const Frame& frame, ProgramPtr program) {
  return table().keep(frame.hash, frame.key, std::move(program));
}

void clear_programs() {
  table().clear();
}

size_t program_count() {
  return table().size();
}

void set_program_limit(size_t count) {
  table().set_limit(count);
}

}  // namespace neuron::dispatch

#include "csrc/dispatch/table.h"

#include <algorithm>
#include <array>
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
  // The thread's latest programs in front of the table: no lock on the usual path.
  ProgramPtr find(uint64_t hash, const Key& key) {
    thread_local std::array<Recent, kRecent> recent;
    Recent& entry = recent[hash % kRecent];
    const uint64_t generation = generation_.load(std::memory_order_acquire);
    if (entry.generation == generation && entry.stored->key == key) {
      entry.stored->used.store(tick_.load(std::memory_order_relaxed), std::memory_order_relaxed);
      return entry.stored->program;
    }
    auto stored = search(hash, key);
    if (!stored) {
      return nullptr;
    }
    stored->used.store(++tick_, std::memory_order_relaxed);
    entry = {stored, generation};
    return stored->program;
  }

  ProgramPtr keep(uint64_t hash, const Key& key, ProgramPtr program) {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    if (auto known = search_locked(hash, key)) {
      return known->program;
    }
    if (limit_ != 0 && programs_.size() >= limit_) {
      evict();
    }
    programs_.emplace(hash, std::make_shared<Stored>(key, program, ++tick_));
    return program;
  }

  void clear() {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    ++generation_;
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
  using StoredPtr = std::shared_ptr<Stored>;
  static constexpr size_t kRecent = 512;

  // Valid while the generation is the table's: nothing was removed since.
  struct Recent {
    StoredPtr stored;
    uint64_t generation = 0;
  };

  StoredPtr search(uint64_t hash, const Key& key) {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    return search_locked(hash, key);
  }

  StoredPtr search_locked(uint64_t hash, const Key& key) const {
    auto range = programs_.equal_range(hash);
    for (auto it = range.first; it != range.second; ++it) {
      if (it->second->key == key) {
        return it->second;
      }
    }
    return nullptr;
  }

  void evict() {
    ++generation_;
    auto oldest =
        std::min_element(programs_.begin(), programs_.end(), [](const auto& a, const auto& b) {
          return a.second->used.load(std::memory_order_relaxed) <
                 b.second->used.load(std::memory_order_relaxed);
        });
    programs_.erase(oldest);
  }

  std::shared_mutex mutex_;
  std::unordered_multimap<uint64_t, StoredPtr> programs_;
  std::atomic<uint64_t> tick_{0};
  std::atomic<uint64_t> generation_{1};
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

#include "csrc/dispatch/table.h"

#include "csrc/pjrt/memory.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

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
    thread_local Recent recent;
    const uint64_t generation = generation_.load(std::memory_order_acquire);
    if (recent.generation != generation) {
      recent = {};
      recent.generation = generation;
    }
    StoredPtr& entry = recent.entries[hash % kRecent];
    if (entry && entry->key == key) {
      entry->used.store(tick_.load(std::memory_order_relaxed), std::memory_order_relaxed);
      return entry->program;
    }
    auto stored = search(hash, key);
    if (!stored) {
      return nullptr;
    }
    stored->used.store(++tick_, std::memory_order_relaxed);
    entry = stored;
    return stored->program;
  }

  ProgramPtr keep(uint64_t hash, const Key& key, ProgramPtr program) {
    std::vector<StoredPtr> evicted;  // destroyed after the lock: unloading a program takes a while
    std::unique_lock<std::shared_mutex> lock(mutex_);
    if (auto known = search_locked(hash, key)) {
      return known->program;
    }
    if (limit_ != 0 && programs_.size() >= limit_) {
      evicted = evict(programs_.size() - limit_ + 1 + limit_ / 16);
    } else if (--until_look_ == 0 && look_at_mappings()) {
      evicted = evict(programs_.size() / 2);
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
  using Programs = std::unordered_multimap<uint64_t, StoredPtr>;
  static constexpr size_t kRecent = 512;

  // Valid while the generation is the table's: nothing was removed since. A thread that looks again
  // drops what was removed, so that it is unloaded.
  struct Recent {
    uint64_t generation = 0;
    std::array<StoredPtr, kRecent> entries;
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

  // Takes the `count` least recently used programs out.
  std::vector<StoredPtr> evict(size_t count) {
    ++generation_;
    std::vector<std::pair<uint64_t, Programs::iterator>> by_use;
    by_use.reserve(programs_.size());
    for (auto it = programs_.begin(); it != programs_.end(); ++it) {
      by_use.emplace_back(it->second->used.load(std::memory_order_relaxed), it);
    }
    count = std::min(count, by_use.size());
    const auto end = by_use.begin() + static_cast<std::ptrdiff_t>(count);
    std::nth_element(by_use.begin(), end, by_use.end(), [](const auto& a, const auto& b) {
      return a.first < b.first;
    });
    std::vector<StoredPtr> evicted;
    evicted.reserve(count);
    for (auto entry = by_use.begin(); entry != end; ++entry) {
      evicted.push_back(std::move(entry->second->second));
      programs_.erase(entry->second);
    }
    return evicted;
  }

  // Whether the process has few memory mappings left; a compiler that runs out of them returns
  // programs which crash. Plans the next look, for counting takes milliseconds.
  bool look_at_mappings() {
    constexpr size_t kProgram = 256;  // mappings that one program is taken to need, at most
    const pjrt::Mappings mappings = pjrt::memory_mappings();
    const size_t left = mappings.limit - std::min(mappings.used, mappings.limit);
    until_look_ = std::clamp<size_t>(left / kProgram, 1, 64);
    return left < mappings.limit / 4;
  }

  std::shared_mutex mutex_;
  Programs programs_;
  std::atomic<uint64_t> tick_{0};
  std::atomic<uint64_t> generation_{1};
  size_t limit_ = 0;
  size_t until_look_ = 1;  // programs until the mappings are counted
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

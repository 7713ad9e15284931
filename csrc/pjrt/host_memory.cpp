// Where the device's memory is the host's: its limit, and what happens to freed memory.
#include "csrc/pjrt/memory.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace neuron::pjrt {
namespace {

namespace fs = std::filesystem;

size_t physical_memory() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// The number in `file`; kUnlimited where there is none ("max", no such file).
size_t read_limit(const fs::path& file) {
  std::ifstream stream(file);
  size_t limit = 0;
  return stream >> limit ? limit : MemoryAccounting::kUnlimited;
}

// The smallest limit on the way from a cgroup up to its hierarchy's root. The
// root itself counts too: in a container it is the container's own group.
size_t hierarchy_limit(const fs::path& root, fs::path group, const char* file) {
  size_t limit = read_limit(root / file);
  for (; group.has_relative_path(); group = group.parent_path()) {
    limit = std::min(limit, read_limit(root / group.relative_path() / file));
  }
  return limit;
}

// A line of /proc/self/cgroup: "id:controllers:/group", where version 2 has no controllers.
size_t line_limit(const std::string& line) {
  const size_t first = line.find(':');
  const size_t second = line.find(':', first + 1);
  if (first == std::string::npos || second == std::string::npos) {
    return MemoryAccounting::kUnlimited;
  }
  const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
  const fs::path group = line.substr(second + 1);
  if (controllers == ",,") {
    return hierarchy_limit("/sys/fs/cgroup", group, "memory.max");
  }
  if (controllers.find(",memory,") != std::string::npos) {
    return hierarchy_limit("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
  }
  return MemoryAccounting::kUnlimited;
}

}  // namespace

size_t host_memory_limit() {
  size_t limit = physical_memory();
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    limit = std::min(limit, line_limit(line));
  }
  return limit;
}

void keep_freed_memory() {
  constexpr int kWholeBlocks = 32 << 20;  // bytes; glibc maps larger ones on their own
  constexpr int kSurplus = 1 << 30;       // bytes kept at the heap's end
  mallopt(M_MMAP_THRESHOLD, kWholeBlocks);
  mallopt(M_TRIM_THRESHOLD, kSurplus);
}

void release_freed_memory() {
  malloc_trim(0);
}

Mappings memory_mappings() {
  std::ifstream maps("/proc/self/maps");
  const auto used =
      std::count(std::istreambuf_iterator<char>(maps), std::istreambuf_iterator<char>(), '\n');
  return {static_cast<size_t>(used), read_limit("/proc/sys/vm/max_map_count")};
}

}  // namespace neuron::pjrt

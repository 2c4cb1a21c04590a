#include "calibrate/host/host_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

namespace spillway {

namespace {

constexpr Bytes kPage = 4 * kKiB;

// -1: no such file, or no number in it ("max").
Bytes NumberIn(const std::string& path) {
  std::ifstream file(path);
  Bytes number = -1;
  return file >> number ? number : -1;
}

// The number behind `name` in a file of names and numbers; -1 if it is not there.
Bytes NumberBehind(const char* name, const std::string& path) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    Bytes number = 0;
    if (word == name && file >> number) return number;
  }
  return -1;
}

// ---- control groups: cgroups(7), proc(5)

// What the two versions call the same things.
struct Names {
  const char* limit;
  const char* used;
  const char* reclaimable;  // in memory.stat; of the group and those within
};
constexpr Names kVersion1 = {"/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file"};
constexpr Names kVersion2 = {"/memory.max", "/memory.current", "inactive_file"};

// Where the tree of groups is mounted that limits memory, and which of its groups is found there.
struct Mount {
  std::string folder, top;
};

bool HasWord(const std::string& list, const std::string& word) {
  return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

// A line of mountinfo: "36 25 0:31 /docker/1f /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory".
std::optional<Mount> MountIn(const std::string& line, bool version2) {
  std::istringstream words(line);
  std::string skip, type, options;
  Mount mount;
  words >> skip >> skip >> skip >> mount.top >> mount.folder;
  while (words >> skip && skip != "-") {
  }
  words >> type >> skip >> options;
  const bool wanted = version2 ? type == "cgroup2" : type == "cgroup" && HasWord(options, "memory");
  return wanted ? std::optional(mount) : std::nullopt;
}

std::optional<Mount> FindMount(const std::string& root, bool version2) {
  std::ifstream file(root + "/proc/self/mountinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (std::optional<Mount> mount = MountIn(line, version2)) return mount;
  }
  return std::nullopt;
}

// The group of this process, from a line "7:cpu,memory:/user/a" or, of version 2, "0::/user/a".
std::optional<std::string> GroupOf(const std::string& root, bool version2) {
  std::ifstream file(root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (version2 ? line.starts_with("0::") : HasWord(controllers, "memory")) return line.substr(second + 1);
  }
  return std::nullopt;
}

// -1: the group has no limit.
Bytes RoomIn(const std::string& folder, const Names& names) {
  const Bytes limit = NumberIn(folder + names.limit), used = NumberIn(folder + names.used);
  if (limit < 0 || used < 0) return -1;
  const Bytes cached = std::max<Bytes>(NumberBehind(names.reclaimable, folder + "/memory.stat"), 0);
  return std::max<Bytes>(limit - used + cached, 0);
}

Bytes Least(Bytes a, Bytes b) { return a < 0 ? b : b < 0 ? a : std::min(a, b); }

// The least room in the group and those around it, as far as they are seen from here; -1: there is no limit.
Bytes RoomInGroups(const std::string& root, bool version2) {
  const std::optional<Mount> mount = FindMount(root, version2);
  std::optional<std::string> group = GroupOf(root, version2);
  if (!mount || !group) return -1;
  // In a container the mounted tree may begin at its own group, or name it as seen from there.
  if (mount->top != "/" && (*group + "/").starts_with(mount->top + "/")) *group = group->substr(mount->top.size());
  const Names& names = version2 ? kVersion2 : kVersion1;
  Bytes room = RoomIn(root + mount->folder, names);
  for (std::string& at = *group; at.size() > 1; at = at.substr(0, at.rfind('/'))) {
    room = Least(room, RoomIn(root + mount->folder + at, names));
  }
  return room;
}

}  // namespace

Bytes AvailableMemory(const std::string& root) {
  const Bytes free = NumberBehind("MemAvailable:", root + "/proc/meminfo");
  const Bytes machine = free < 0 ? free : free * kKiB;
  return Least(machine, Least(RoomInGroups(root, false), RoomInGroups(root, true)));
}

MappedMemory::MappedMemory(Bytes bytes) : bytes_(bytes) {
  if (bytes < 0 || bytes > std::numeric_limits<Bytes>::max() - kPage) throw std::bad_alloc();
  mapped_ = RoundUp(bytes, kPage);
  if (mapped_ == 0) return;
  const auto size = static_cast<std::size_t>(mapped_);
  void* const place = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) throw std::bad_alloc();
  madvise(place, size, MADV_HUGEPAGE);
  data_ = static_cast<std::byte*>(place);
  std::memset(data_, 0, size);
}

MappedMemory::~MappedMemory() {
  if (data_ != nullptr) munmap(data_, static_cast<std::size_t>(mapped_));
}

MappedMemory::MappedMemory(MappedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      mapped_(std::exchange(other.mapped_, 0)) {}

MappedMemory& MappedMemory::operator=(MappedMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

}  // namespace spillway

#include "calibrate/cpu/host_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <new>
#include <string>
#include <utility>

namespace spillway {

namespace {

constexpr Bytes kPage = 4 * kKiB;

// -1: no such file, or no number in it.
Bytes NumberIn(const char* path) {
  std::ifstream file(path);
  Bytes number = -1;
  return file >> number ? number : -1;
}

// The number behind `name` in a file of names and numbers; -1 if it is not there.
Bytes NumberBehind(const char* name, const char* path) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    Bytes number = 0;
    if (word == name && file >> number) return number;
  }
  return -1;
}

}  // namespace

Bytes AvailableMemory() {
  const Bytes free = NumberBehind("MemAvailable:", "/proc/meminfo");
  const Bytes machine = free < 0 ? free : free * kKiB;
  const Bytes limit = NumberIn("/sys/fs/cgroup/memory.max"), used = NumberIn("/sys/fs/cgroup/memory.current");
  if (limit < 0 || used < 0) return machine;
  const Bytes cached = std::max<Bytes>(NumberBehind("inactive_file", "/sys/fs/cgroup/memory.stat"), 0);
  const Bytes group = std::max<Bytes>(limit - used + cached, 0);
  return machine < 0 ? group : std::min(machine, group);
}

MappedMemory::MappedMemory(Bytes bytes) : bytes_(bytes) {
  if (bytes < 0 || bytes > std::numeric_limits<Bytes>::max() - kPage) throw std::bad_alloc();
  mapped_ = (bytes + kPage - 1) / kPage * kPage;
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

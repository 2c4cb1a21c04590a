#include <algorithm>
#include <cmath>
#include <cstring>

#include "calibrate/devices/cpu/bench_kernel.h"
#include "calibrate/host/host_facts.h"

namespace spillway {
namespace {

std::byte* AtLeast(MappedMemory* memory, Bytes bytes) {
  if (memory->bytes() < bytes) {
    *memory = MappedMemory();  // gone before the new one comes
    *memory = MappedMemory(bytes);
  }
  return memory->data();
}

}  // namespace

BenchMemory::BenchMemory(Bytes last_cache, Bytes core_cache)
    : last_cache_(last_cache > 0 ? last_cache : kUsualLastCache),
      core_cache_(core_cache > 0 ? core_cache : kUsualCoreCache),
      dense_(BenchNumbers(false)),
      sparse_(BenchNumbers(true)) {}

std::byte* BenchMemory::Ring(Bytes bytes) { return AtLeast(&ring_, bytes); }
std::byte* BenchMemory::Scratch(Bytes bytes) { return AtLeast(&scratch_, bytes); }

void BenchMemory::Fill(std::byte* at, Bytes bytes, bool sparse) const {
  const std::vector<float>& numbers = sparse ? sparse_ : dense_;
  const auto block = static_cast<Bytes>(numbers.size() * sizeof(float));
  for (Bytes done = 0; done < bytes; done += block) {
    std::memcpy(at + done, numbers.data(), static_cast<std::size_t>(std::min(block, bytes - done)));
  }
}

void BenchMemory::Touch(Bytes bytes) {
  std::byte* const data = AtLeast(&other_, RingBytes());
  constexpr Bytes kLine = 64;
  for (Bytes done = 0; done < bytes; done += 2 * kLine) {
    if (next_ + 2 * kLine > other_.bytes()) next_ = 0;
    sum_ += static_cast<std::uint64_t>(data[next_]);
    data[next_ + kLine] = static_cast<std::byte>(sum_);
    next_ += 2 * kLine;
  }
}

}  // namespace spillway

#include <algorithm>
#include <cmath>
#include <cstring>

#include "calibrate/cpu/bench_kernel.h"

namespace spillway {
namespace {

constexpr Bytes kUsualLastCache = 32 * kMiB, kUsualCoreCache = kMiB;
// No power of two, so that neighbouring tensors do not hold the same numbers at the same distance.
constexpr std::size_t kRandomNumbers = 262'139;

std::uint64_t NextRandom(std::uint64_t* state) {  // SplitMix64
  std::uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Sums of uniform numbers are normal enough.
std::vector<float> NormalNumbers() {
  std::vector<float> numbers(kRandomNumbers);
  std::uint64_t state = 1;
  for (float& number : numbers) {
    float sum = 0;
    const std::uint64_t bits = NextRandom(&state);
    for (int k = 0; k < 4; ++k) sum += static_cast<float>((bits >> (16 * k)) & 0xffff) / 65536.0f - 0.5f;
    number = sum * std::sqrt(3.0f);
  }
  return numbers;
}

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
      dense_(NormalNumbers()),
      sparse_(dense_) {
  for (float& number : sparse_) number = std::max(number, 0.0f);
}

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

#include <algorithm>
#include <cmath>
#include <cstring>

#include "calibrate/host/host_memory.h"

namespace spillway {

namespace {

constexpr std::size_t kWord = sizeof(kCanary);

std::byte PatternAt(Bytes offset) {
  return static_cast<std::byte>(kCanary >> (8 * (static_cast<std::uint64_t>(offset) % kWord)) & 0xff);
}

std::uint32_t WordAt(std::span<const std::byte> memory, std::size_t at) {
  std::uint32_t word = 0;
  std::memcpy(&word, memory.data() + at, kWord);
  return word;
}

// How many bytes there are before the first multiple of four.
std::size_t Lead(std::span<const std::byte> memory, Bytes offset) {
  return std::min(memory.size(), (kWord - static_cast<std::size_t>(offset) % kWord) % kWord);
}

}  // namespace

void FillCanary(std::span<std::byte> memory, Bytes offset) {
  std::size_t at = 0;
  const auto byte = [&] {
    memory[at] = PatternAt(offset + static_cast<Bytes>(at));
    ++at;
  };
  while (at < Lead(memory, offset)) byte();
  for (; at + kWord <= memory.size(); at += kWord) std::memcpy(memory.data() + at, &kCanary, kWord);
  while (at < memory.size()) byte();
}

Bytes LastChange(std::span<const std::byte> memory, Bytes offset) {
  std::size_t end = memory.size();
  const std::size_t lead = Lead(memory, offset);
  const auto same = [&](std::size_t at) { return memory[at] == PatternAt(offset + static_cast<Bytes>(at)); };
  while (end > lead && (end - lead) % kWord != 0 && same(end - 1)) --end;
  if (end > lead && (end - lead) % kWord == 0) {
    while (end > lead && WordAt(memory, end - kWord) == kCanary) end -= kWord;
  }
  while (end > 0 && same(end - 1)) --end;
  return static_cast<Bytes>(end);
}

bool HoldsCanary(std::span<const std::byte> memory, Bytes offset) {
  for (std::size_t at = Lead(memory, offset); at + kWord <= memory.size(); at += kWord) {
    if (WordAt(memory, at) == kCanary) return true;
  }
  return false;
}

bool HoldsNan(std::span<const std::byte> numbers) {
  for (std::size_t at = 0; at + sizeof(float) <= numbers.size(); at += sizeof(float)) {
    float number = 0;
    std::memcpy(&number, numbers.data() + at, sizeof(number));
    if (std::isnan(number)) return true;
  }
  return false;
}

}  // namespace spillway

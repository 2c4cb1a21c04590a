#include "tests/cuda/sparse_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace spillway {

namespace {

constexpr Bytes kWorthKeeping = kMiB;

std::uintptr_t AddressOf(const void* at) { return reinterpret_cast<std::uintptr_t>(at); }

}  // namespace

SparseMemory::Range SparseMemory::Behind(Range range, std::size_t bytes) {
  if (range.bytes != nullptr) range.skipped += bytes;
  return range;
}

template <typename Take>
void SparseMemory::ForEach(Address begin, Address end, const Take& take) const {
  auto next = ranges_.upper_bound(begin);
  if (next != ranges_.begin()) --next;
  for (; next != ranges_.end() && next->first < end; ++next) {
    const Address from = std::max(next->first, begin), to = std::min(next->second.end, end);
    if (from >= to) continue;
    Range part = Behind(next->second, from - next->first);
    part.end = to;
    take(from, std::move(part));
  }
}

void SparseMemory::Clear(Address begin, Address end) {
  auto next = ranges_.lower_bound(begin);
  if (next != ranges_.begin() && std::prev(next)->second.end > begin) --next;
  while (next != ranges_.end() && next->first < end) {
    const auto [from, range] = *next;
    next = ranges_.erase(next);
    if (from < begin) {
      ranges_[from] = range;
      ranges_[from].end = begin;
    }
    if (range.end > end) ranges_[end] = Behind(range, end - from);
  }
}

void SparseMemory::Put(Address begin, Range range) {
  if (begin == range.end) return;
  Clear(begin, range.end);
  const bool nothing = range.bytes == nullptr && range.value == 0;
  if (!nothing) ranges_[begin] = std::move(range);
}

void SparseMemory::Fill(const void* at, unsigned char value, Bytes bytes) {
  Put(AddressOf(at), {.end = AddressOf(at) + static_cast<Address>(bytes), .value = value});
}

void SparseMemory::Bring(const void* at, const void* from, Bytes bytes) {
  const auto* const first = static_cast<const std::byte*>(from);
  std::vector<std::byte> contents;
  if (!spare_->empty() && bytes >= kWorthKeeping) {
    contents = std::move(spare_->back());
    spare_->pop_back();
  }
  contents.assign(first, first + bytes);
  const auto keep = [spare = spare_](std::vector<std::byte>* gone) {
    if (static_cast<Bytes>(gone->size()) >= kWorthKeeping) spare->push_back(std::move(*gone));
    delete gone;
  };
  const std::shared_ptr<std::vector<std::byte>> brought(new std::vector<std::byte>(std::move(contents)), keep);
  Put(AddressOf(at), {.end = AddressOf(at) + static_cast<Address>(bytes), .bytes = brought});
}

void SparseMemory::Fetch(void* to, const void* at, Bytes bytes) const {
  const Address begin = AddressOf(at), end = begin + static_cast<Address>(bytes);
  auto* const first = static_cast<std::byte*>(to);
  Address done = begin;
  const auto repeat = [&](Address until, unsigned char value) {
    if (until > done) std::memset(first + (done - begin), value, until - done);
  };
  ForEach(begin, end, [&](Address from, const Range& part) {
    repeat(from, 0);
    done = from;
    if (part.bytes == nullptr) {
      repeat(part.end, part.value);
    } else {
      std::memcpy(first + (from - begin), part.bytes->data() + part.skipped, part.end - from);
    }
    done = part.end;
  });
  repeat(end, 0);
}

void SparseMemory::Copy(const void* to, const void* from, Bytes bytes) {
  const Address begin = AddressOf(from), target = AddressOf(to);
  std::vector<std::pair<Address, Range>> parts;
  ForEach(begin, begin + static_cast<Address>(bytes), [&](Address at, Range part) {
    part.end = part.end - begin + target;
    parts.emplace_back(at - begin + target, std::move(part));
  });
  Clear(target, target + static_cast<Address>(bytes));
  for (auto& [at, part] : parts) Put(at, std::move(part));
}

void SparseMemory::Forget(const void* at, Bytes bytes) { Fill(at, 0, bytes); }

void SparseMemory::Touch(const void* at, Bytes bytes) {
  const Address begin = AddressOf(at);
  std::vector<std::pair<Address, Address>> repeated;
  ForEach(begin, begin + static_cast<Address>(bytes), [&](Address from, const Range& part) {
    if (part.bytes == nullptr) repeated.emplace_back(from, part.end);
  });
  for (const auto& [from, end] : repeated) Clear(from, end);
}

}  // namespace spillway

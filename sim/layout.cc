#include "sim/layout.h"

#include <algorithm>
#include <cassert>

#include "sim/placement.h"
#include "sim/synchronise.h"

namespace spillway {

namespace {

std::vector<Lifetime> Lifetimes(const Skeleton& skeleton, const std::vector<Buffer>& buffers) {
  std::vector<Lifetime> all(buffers.size());
  for (std::uint32_t i = 0; i < skeleton.items.size(); ++i) {
    const Instruction& item = skeleton.items[i];
    if (item.opcode == Opcode::kAlloc) {
      all[item.arg] = {item.arg, buffers[item.arg].bytes, i, i + 1, item.stream, item.stream};
    } else if (item.opcode == Opcode::kFree) {
      all[item.arg].last = i;
      all[item.arg].free_stream = item.stream;
    }
  }
  std::erase_if(all, [](const Lifetime& life) { return life.buffer == kNoBuffer; });
  return all;
}

// The placement that needs fewest bytes; where there is more room than that, spread over it.
Bytes Place(const std::vector<Lifetime>& lifetimes, Bytes capacity, Offsets& offsets) {
  Bytes peak = PlaceCompactly(lifetimes, capacity, offsets);
  if (capacity == 0 || peak > capacity) return peak;
  SpreadByAge(lifetimes, capacity, offsets);
  for (std::size_t k = 0; k < lifetimes.size(); ++k) peak = std::max(peak, offsets[k] + lifetimes[k].bytes);
  return peak;
}

// A buffer follows whoever had its addresses before it.
void AddReuseDependencies(Skeleton& skeleton, const Program& program, Bytes size) {
  LastFrees frees(size);
  std::vector<Dependency> all;
  all.reserve(skeleton.dependencies.size() + skeleton.items.size() / 4);
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < skeleton.items.size(); ++i) {
    for (; next < skeleton.dependencies.size() && skeleton.dependencies[next].after == i; ++next) {
      all.push_back(skeleton.dependencies[next]);
    }
    const Instruction& item = skeleton.items[i];
    if (item.opcode != Opcode::kAlloc && item.opcode != Opcode::kFree) continue;
    const Buffer& buffer = program.buffers[item.arg];
    if (item.opcode == Opcode::kFree) {
      frees.Set(buffer.offset, buffer.offset + buffer.bytes, i, item.stream);
      continue;
    }
    const bool compute_waits = program.streams[item.stream].kind == StreamKind::kCompute;
    frees.ForEach(buffer.offset, buffer.offset + buffer.bytes, [&](const LastFrees::Stretch& stretch) {
      if (stretch.freed_by == LastFrees::kNobody || stretch.stream == item.stream) return;
      all.push_back({stretch.freed_by, i, compute_waits ? Cause::kSwapOut : Cause::kMemory});
    });
  }
  skeleton.dependencies = std::move(all);
}

}  // namespace

Bytes Layout(Program& program, Bytes capacity) {
  assert(program.arena);
  Skeleton skeleton = Strip(program);
  const std::vector<Lifetime> lifetimes = Lifetimes(skeleton, program.buffers);
  if (lifetimes.empty()) return 0;
  Offsets offsets;
  const Bytes peak = Place(lifetimes, capacity, offsets);
  for (std::size_t k = 0; k < lifetimes.size(); ++k) program.buffers[lifetimes[k].buffer].offset = offsets[k];
  AddReuseDependencies(skeleton, program, peak);
  Synchronise(skeleton, program);
  return peak;
}

}  // namespace spillway

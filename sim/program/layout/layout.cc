#include "sim/program/layout/layout.h"

#include <algorithm>
#include <cassert>

#include "sim/program/layout/placement.h"

namespace spillway {

namespace {

// Of every device buffer, in order of buffers.
std::vector<Lifetime> Lifetimes(const Skeleton& skeleton, const std::vector<Buffer>& buffers) {
  std::vector<Lifetime> all(buffers.size());
  for (std::size_t i = 0; i < skeleton.items.size(); ++i) {
    const Instruction& item = skeleton.items[i];
    const auto at = static_cast<std::int32_t>(i);
    if (item.opcode == Opcode::kAlloc) {
      const Buffer& buffer = buffers[item.arg];
      all[item.arg] = {item.arg, buffer.bytes, at, at + 1, item.stream, buffer.frame, buffer.distance};
    } else if (item.opcode == Opcode::kFree) {
      all[item.arg].last = at;
    }
  }
  std::erase_if(all, [](const Lifetime& life) { return life.buffer == kNoBuffer; });
  return all;
}

// Goes through the items once, in list order: writes the addresses down and lets each buffer follow whoever had its
// addresses before it.
class Reuse {
 public:
  // `spread`: where there is room, buffers that would wait go elsewhere.
  Reuse(Program& program, const std::vector<Lifetime>& lifetimes, Placement& placement, Bytes size, bool spread)
      : program_(program), placement_(placement), spread_(spread), allocs_left_(lifetimes.size()), frees_(size) {
    lifetime_.resize(program.buffers.size());
    for (std::uint32_t k = 0; k < lifetimes.size(); ++k) lifetime_[lifetimes[k].buffer] = k;
  }

  void Run(Skeleton& skeleton) {
    all_.reserve(skeleton.dependencies.size() + skeleton.items.size() / 4);
    auto next = skeleton.dependencies.begin();
    for (std::uint32_t i = 0; i < skeleton.items.size(); ++i) {
      for (; next != skeleton.dependencies.end() && next->after == i; ++next) all_.push_back(*next);
      const Instruction& item = skeleton.items[i];
      if (item.opcode == Opcode::kAlloc) Alloc(i, item);
      if (item.opcode == Opcode::kFree) Free(i, item);
    }
    skeleton.dependencies = std::move(all_);
  }

  Bytes peak() const { return peak_; }

 private:
  void Alloc(std::uint32_t i, const Instruction& item) {
    Buffer& buffer = program_.buffers[item.arg];
    const std::uint32_t k = lifetime_[item.arg];
    const bool may_wait = !spread_ || placement_.SpreadByAge(k, frees_);
    buffer.offset = placement_.offset(k);
    peak_ = std::max(peak_, buffer.offset + buffer.bytes);
    --allocs_left_;
    if (may_wait) Follow(i, item, buffer);
  }

  void Follow(std::uint32_t i, const Instruction& item, const Buffer& buffer) {
    const bool compute_waits = program_.streams[item.stream].kind == StreamKind::kCompute;
    const Cause cause = compute_waits ? Cause::kSwapOut : Cause::kMemory;
    frees_.ForEach(buffer.offset, buffer.offset + buffer.bytes, [&](const LastFrees::Stretch& stretch) {
      if (stretch.Delays(item.stream)) all_.push_back({stretch.freed_by, i, cause});
      return true;
    });
  }

  void Free(std::uint32_t i, const Instruction& item) {
    if (allocs_left_ == 0) return;  // nobody follows
    const Buffer& buffer = program_.buffers[item.arg];
    frees_.Set(buffer.offset, buffer.offset + buffer.bytes, i, item.stream);
  }

  Program& program_;
  Placement& placement_;
  bool spread_;
  std::size_t allocs_left_;
  LastFrees frees_;
  std::vector<std::uint32_t> lifetime_;  // by buffer
  std::vector<Dependency> all_;
  Bytes peak_ = 0;
};

Bytes Place(Skeleton& skeleton, Program& program, Bytes capacity) {
  assert(program.memory == ProgramMemory::kArena);
  const std::vector<Lifetime> lifetimes = Lifetimes(skeleton, program.buffers);
  if (lifetimes.empty()) return 0;
  Placement placement(lifetimes, capacity);
  const Bytes compact = placement.PlaceCompactly();
  const bool spread = capacity > 0 && compact <= capacity;
  Reuse reuse(program, lifetimes, placement, std::max(compact, capacity), spread);
  reuse.Run(skeleton);
  return std::max(compact, reuse.peak());
}

}  // namespace

Bytes PlaceBuffers(Program& program, Bytes capacity) {
  Skeleton skeleton = Strip(program);
  const Bytes peak = Place(skeleton, program, capacity);
  Synchronise(skeleton, program);
  return peak;
}

Bytes PlaceBuffers(Skeleton& skeleton, Program& program, Bytes capacity) {
  const Bytes peak = Place(skeleton, program, capacity);
  if (capacity == 0 || peak <= capacity) Synchronise(skeleton, program);
  return peak;
}

}  // namespace spillway

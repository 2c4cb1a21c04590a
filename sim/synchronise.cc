#include "sim/synchronise.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace spillway {

namespace {

constexpr std::uint32_t kNone = 0xffffffffu;
constexpr std::size_t kMaxStreams = 16;
constexpr std::size_t kFewStreams = 4;  // as all Programs of one device have: a clock of so many fits a register

template <std::size_t kStreams>
class Synchroniser {
 public:
  // REQUIRES: program.streams.size() <= kStreams.
  Synchroniser(const Skeleton& skeleton, Program& program)
      : items_(skeleton.items),
        program_(program),
        done_(items_.size()),
        position_(items_.size()),
        event_(items_.size(), kNone) {}

  void Run(const std::vector<Dependency>& dependencies) {
    waits_.reserve(dependencies.size());
    std::size_t next = 0;
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      const std::size_t first = next;
      while (next < dependencies.size() && dependencies[next].after == i) ++next;
      Visit(i, dependencies.data() + first, dependencies.data() + next);
    }
    Write();
  }

 private:
  // How many items of each stream are known to be done.
  using Clock = std::array<std::uint32_t, kStreams>;

  void Visit(std::uint32_t i, const Dependency* first, const Dependency* last) {
    const Instruction& item = items_[i];
    if (item.opcode == Opcode::kHostSync) {
      event_[item.arg] = 0;  // numbered in Write()
      Merge(host_, done_[item.arg]);
      told_.fill(false);
      return;
    }
    Clock& clock = clock_[item.stream];
    if (!told_[item.stream]) Merge(clock, host_);
    told_[item.stream] = true;
    while (const Dependency* strongest = Strongest(item.stream, first, last)) {
      waits_.push_back(*strongest);
      event_[strongest->before] = 0;
      Merge(clock, done_[strongest->before]);
    }
    position_[i] = ++count_[item.stream];
    done_[i] = clock;
    done_[i][item.stream] = position_[i];
  }

  // Of the dependencies that `stream` does not know to be kept, one that no other of them implies.
  const Dependency* Strongest(StreamId stream, const Dependency* first, const Dependency* last) const {
    const Dependency* best = nullptr;
    for (const Dependency* d = first; d != last; ++d) {
      if (items_[d->before].stream == stream || Known(clock_[stream], d->before)) continue;
      if (best == nullptr || Known(done_[d->before], best->before)) best = d;
    }
    return best;
  }

  bool Known(const Clock& clock, std::uint32_t item) const { return clock[items_[item].stream] >= position_[item]; }

  static void Merge(Clock& clock, const Clock& other) {
    for (std::size_t s = 0; s < kStreams; ++s) clock[s] = std::max(clock[s], other[s]);
  }

  void Write() {
    std::vector<Instruction>& code = program_.code;
    code.clear();
    code.reserve(items_.size() + 2 * waits_.size() + 64);
    std::uint32_t events = 0;
    std::size_t next = 0;
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      const Instruction& item = items_[i];
      for (; next < waits_.size() && waits_[next].after == i; ++next) {
        code.push_back({Opcode::kWait, item.stream, waits_[next].cause, 0, event_[waits_[next].before]});
      }
      code.push_back(item);
      if (item.opcode == Opcode::kHostSync) {
        code.back().arg = event_[item.arg];
      } else if (event_[i] != kNone) {
        event_[i] = events++;
        code.push_back({Opcode::kRecord, item.stream, Cause::kNone, 0, event_[i]});
      }
    }
    program_.events = events;
  }

  const std::vector<Instruction>& items_;
  Program& program_;
  std::array<Clock, kStreams> clock_{};  // by stream: what it knows of the others
  Clock host_{};
  std::array<bool, kStreams> told_{};  // by stream: whether it knows all that the host does
  Clock count_{};
  std::vector<Clock> done_;              // what is done when the item is
  std::vector<std::uint32_t> position_;  // of the item on its stream, from 1
  std::vector<std::uint32_t> event_;     // kNone: nobody waits for the item
  std::vector<Dependency> waits_;
};

}  // namespace

void Synchronise(const Skeleton& skeleton, Program& program) {
  assert(program.streams.size() <= kMaxStreams);
  if (program.streams.size() <= kFewStreams) {
    Synchroniser<kFewStreams>(skeleton, program).Run(skeleton.dependencies);
  } else {
    Synchroniser<kMaxStreams>(skeleton, program).Run(skeleton.dependencies);
  }
}

Skeleton Strip(const Program& program) {
  Skeleton skeleton;
  skeleton.items.reserve(program.code.size());
  std::vector<std::uint32_t> recorded(program.events, kNone);
  std::array<std::uint32_t, kMaxStreams> last;
  last.fill(kNone);
  std::vector<std::pair<std::uint32_t, Cause>> waiting[kMaxStreams];
  for (const Instruction& in : program.code) {
    if (in.opcode == Opcode::kRecord) {
      recorded[in.arg] = last[in.stream];
    } else if (in.opcode == Opcode::kWait) {
      waiting[in.stream].push_back({recorded[in.arg], in.cause});
    } else {
      const auto item = static_cast<std::uint32_t>(skeleton.items.size());
      skeleton.items.push_back(in);
      if (in.opcode == Opcode::kHostSync) {
        skeleton.items.back().arg = recorded[in.arg];
        continue;
      }
      for (const auto& [before, cause] : waiting[in.stream]) {
        if (before != kNone) skeleton.dependencies.push_back({before, item, cause});
      }
      waiting[in.stream].clear();
      last[in.stream] = item;
    }
  }
  return skeleton;
}

}  // namespace spillway

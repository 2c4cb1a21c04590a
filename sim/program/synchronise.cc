#include "sim/program/synchronise.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <span>

namespace spillway {

namespace {

constexpr std::uint32_t kNone = 0xffffffffu;
constexpr std::size_t kFewStreams = 4;  // as all Programs of one device have: a clock of so many fits a register

template <std::size_t kStreams>
class Synchroniser {
 public:
  // REQUIRES: program.streams.size() <= kStreams.
  Synchroniser(const Skeleton& skeleton, Program& program)
      : items_(skeleton.items), program_(program), event_(items_.size(), kNone) {}

  void Run(const std::vector<Dependency>& dependencies) {
    waits_.reserve(dependencies.size());
    std::uint32_t i = 0;
    for (auto first = dependencies.begin(); first != dependencies.end();) {
      const auto last =
          std::find_if(first, dependencies.end(), [&](const Dependency& d) { return d.after != first->after; });
      i = TellUntil(i, first->after);
      Follow({first, last});
      first = last;
    }
    TellUntil(i, static_cast<std::uint32_t>(items_.size()));
    Write();
  }

 private:
  // How far each stream is known to have come: no item of it below this one is still to be done.
  using Clock = std::array<std::uint32_t, kStreams>;
  struct Learnt {  // what a stream knows of the others from an item on
    std::uint32_t from;
    Clock clock;
  };

  // Of one item: lets it wait for what its stream does not know to be done.
  void Follow(std::span<const Dependency> dependencies) {
    const std::uint32_t i = dependencies.front().after;
    const StreamId stream = items_[i].stream;
    Clock clock = Now(stream);
    const std::size_t waits = waits_.size();
    while (const Dependency* strongest = Strongest(clock, stream, dependencies)) {
      waits_.push_back(*strongest);
      Record(strongest->before);
      Merge(clock, Done(strongest->before));
    }
    if (waits_.size() > waits) learnt_[stream].push_back({i, clock});
  }

  // Goes through the items of [from, end) for host syncs. Returns `end`.
  std::uint32_t TellUntil(std::uint32_t from, std::uint32_t end) {
    const Instruction* const items = items_.data();
    for (std::uint32_t i = from; i < end; ++i) {
      if (items[i].opcode == Opcode::kHostSync) Tell(i);
    }
    return end;
  }

  // The host waits; whatever it issues afterwards knows what it does.
  void Tell(std::uint32_t i) {
    Record(items_[i].arg);
    const Clock done = Done(items_[i].arg);
    for (std::vector<Learnt>& learnt : learnt_) {
      Clock clock = learnt.empty() ? Clock{} : learnt.back().clock;
      Merge(clock, done);
      learnt.push_back({i, clock});
    }
  }

  // Of the dependencies that are not known to be kept, one that no other of them implies.
  const Dependency* Strongest(const Clock& clock, StreamId stream, std::span<const Dependency> dependencies) const {
    const Dependency* best = nullptr;
    for (const Dependency& d : dependencies) {
      if (items_[d.before].stream == stream || Known(clock, d.before)) continue;
      if (best == nullptr || Known(Done(d.before), best->before)) best = &d;
    }
    return best;
  }

  bool Known(const Clock& clock, std::uint32_t item) const { return clock[items_[item].stream] > item; }

  Clock Now(StreamId stream) const { return learnt_[stream].empty() ? Clock{} : learnt_[stream].back().clock; }

  // What is done when `item` is.
  Clock Done(std::uint32_t item) const {
    const StreamId stream = items_[item].stream;
    const auto later = std::upper_bound(learnt_[stream].begin(), learnt_[stream].end(), item,
                                        [](std::uint32_t at, const Learnt& learnt) { return at < learnt.from; });
    Clock clock = later == learnt_[stream].begin() ? Clock{} : std::prev(later)->clock;
    clock[stream] = item + 1;
    return clock;
  }

  static void Merge(Clock& clock, const Clock& other) {
    for (std::size_t s = 0; s < kStreams; ++s) clock[s] = std::max(clock[s], other[s]);
  }

  void Record(std::uint32_t item) {
    if (event_[item] != kNone) return;
    event_[item] = 0;  // numbered in Write()
    ++events_;
  }

  void Write() {
    program_.code.resize(items_.size() + waits_.size() + events_);
    program_.events = 0;
    Instruction* to = program_.code.data();
    const Dependency* wait = waits_.data();
    const Dependency* const last_wait = wait + waits_.size();
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      const Instruction& item = items_[i];
      for (; wait != last_wait && wait->after == i; ++wait) {
        *to++ = {Opcode::kWait, item.stream, wait->cause, 0, event_[wait->before]};
      }
      *to++ = item;
      if (item.opcode == Opcode::kHostSync) {
        to[-1].arg = event_[item.arg];
      } else if (event_[i] != kNone) {
        event_[i] = program_.events++;
        *to++ = {Opcode::kRecord, item.stream, Cause::kNone, 0, event_[i]};
      }
    }
  }

  const std::vector<Instruction>& items_;
  Program& program_;
  std::array<std::vector<Learnt>, kStreams> learnt_;  // by stream, in order of items
  std::vector<std::uint32_t> event_;                  // by item; kNone: nobody waits for it
  std::size_t events_ = 0;
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

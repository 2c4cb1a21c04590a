#include "model/recorded/footprint.h"

#include <algorithm>
#include <limits>

#include "model/recorded/lives.h"

namespace spillway {

namespace {

constexpr Bytes kBufferUnit = 512;

Bytes LeastWorkspace(const std::vector<RecordedWay>& ways) {
  return std::min_element(ways.begin(), ways.end(),
                          [](const RecordedWay& a, const RecordedWay& b) { return a.workspace < b.workspace; })
      ->workspace;
}

// Of what never leaves the device while it lives, of all others.
struct Live {
  std::vector<Bytes> fixed, movable;  // by op
};

Live LiveBytes(const RecordedStep& recorded, const std::vector<Life>& lives) {
  const std::size_t ops = recorded.step.ops.size();
  Live live{std::vector<Bytes>(ops + 1, 0), std::vector<Bytes>(ops + 1, 0)};
  for (std::size_t t = 0; t < lives.size(); ++t) {
    if (lives[t].first == kNoOp) continue;
    const Tensor& tensor = recorded.step.tensors[t];
    std::vector<Bytes>& at = tensor.Traits().may_move ? live.movable : live.fixed;
    at[Index(lives[t].first)] += BufferBytes(tensor.bytes);
    at[Index(lives[t].last) + 1] -= BufferBytes(tensor.bytes);
  }
  for (std::vector<Bytes>* at : {&live.fixed, &live.movable}) {
    for (std::size_t op = 1; op <= ops; ++op) (*at)[op] += (*at)[op - 1];
  }
  return live;
}

Bytes MovableOperands(const TrainingStep& step, const Op& op) {
  Bytes bytes = 0;
  for (const TensorId t : op.reads)
    bytes += step.tensors[Index(t)].Traits().may_move ? BufferBytes(step.tensors[Index(t)].bytes) : 0;
  for (const TensorId t : op.writes) {
    if (std::find(op.reads.begin(), op.reads.end(), t) != op.reads.end()) continue;
    bytes += step.tensors[Index(t)].Traits().may_move ? BufferBytes(step.tensors[Index(t)].bytes) : 0;
  }
  return bytes;
}

OpId FirstMost(const std::vector<Bytes>& bytes) {
  return static_cast<OpId>(std::max_element(bytes.begin(), bytes.end()) - bytes.begin());
}

}  // namespace

Bytes BufferBytes(Bytes bytes) { return (bytes + kBufferUnit - 1) / kBufferUnit * kBufferUnit; }

std::vector<Life> LivesOf(const TrainingStep& step) {
  const auto ops = static_cast<OpId>(step.ops.size());
  std::vector<Life> lives(step.tensors.size());
  for (OpId op = 0; op < ops; ++op) {
    for (const auto* tensors : {&step.ops[Index(op)].reads, &step.ops[Index(op)].writes}) {
      for (const TensorId t : *tensors) {
        Life& life = lives[Index(t)];
        if (life.first == kNoOp) life.first = op;
        life.last = op;
      }
    }
  }
  for (std::size_t t = 0; t < lives.size(); ++t) {
    const TensorTraits& traits = step.tensors[t].Traits();
    if (traits.on_host && lives[t].first != kNoOp) lives[t].first = 0;
    if (traits.resident) lives[t] = {0, ops - 1};
  }
  return lives;
}

Bytes FastestWorkspace(const std::vector<RecordedWay>& ways) {
  return std::min_element(ways.begin(), ways.end(),
                          [](const RecordedWay& a, const RecordedWay& b) { return a.time < b.time; })
      ->workspace;
}

// Values live throughout, but belong to the module that uses them first.
std::vector<const std::string*> ModulesOf(const RecordedStep& recorded) {
  static const std::string kNone;
  std::vector<OpId> by = recorded.makers;
  std::vector<OpId> first_use(by.size(), kNoOp);
  for (OpId op = static_cast<OpId>(recorded.step.ops.size()) - 1; op >= 0; --op) {
    for (const TensorId t : recorded.step.ops[Index(op)].reads) first_use[Index(t)] = op;
  }
  std::vector<const std::string*> modules;
  for (std::size_t t = 0; t < by.size(); ++t) {
    const OpId op = by[t] == kNoOp ? first_use[t] : by[t];
    const bool named = op != kNoOp && recorded.step.tensors[t].name != "fixed bytes";
    modules.push_back(named ? &recorded.calls[Index(op)].module : &kNone);
  }
  return modules;
}

Footprint FootprintOf(const RecordedStep& recorded) {
  const Live live = LiveBytes(recorded, LivesOf(recorded.step));
  Footprint footprint;
  for (std::size_t op = 0; op < recorded.step.ops.size(); ++op) {
    const std::vector<RecordedWay>& ways = recorded.ways[op];
    footprint.in_core.push_back(live.fixed[op] + live.movable[op] + BufferBytes(FastestWorkspace(ways)));
    footprint.alone.push_back(live.fixed[op] + MovableOperands(recorded.step, recorded.step.ops[op]) +
                              BufferBytes(LeastWorkspace(ways)));
  }
  footprint.peak = FirstMost(footprint.in_core);
  footprint.least = FirstMost(footprint.alone);
  return footprint;
}

Present PresentAt(const RecordedStep& recorded, OpId op) {
  Present present;
  const std::vector<Life> lives = LivesOf(recorded.step);
  for (std::size_t t = 0; t < lives.size(); ++t) {
    if (lives[t].first == kNoOp || lives[t].first > op || lives[t].last < op) continue;
    const Bytes bytes = BufferBytes(recorded.step.tensors[t].bytes);
    present.by_use[static_cast<std::size_t>(recorded.uses[t])] += bytes;
    present.tensors.push_back(static_cast<TensorId>(t));
  }
  present.held = recorded.calls[Index(op)].held;
  present.workspace = BufferBytes(FastestWorkspace(recorded.ways[Index(op)])) - present.held;
  const std::vector<Tensor>& tensors = recorded.step.tensors;
  std::stable_sort(present.tensors.begin(), present.tensors.end(),
                   [&](TensorId a, TensorId b) { return tensors[Index(a)].bytes > tensors[Index(b)].bytes; });
  return present;
}

std::optional<std::int64_t> LargestBatch(const std::vector<Bytes>& a, std::int64_t batch_a, const std::vector<Bytes>& b,
                                         std::int64_t batch_b, Bytes limit) {
  if (a.size() != b.size() || batch_a == batch_b) return std::nullopt;
  constexpr double kNoEnd = 1e12;
  double largest = kNoEnd;
  for (std::size_t op = 0; op < a.size(); ++op) {
    const double slope = static_cast<double>(b[op] - a[op]) / static_cast<double>(batch_b - batch_a);
    const double fixed = static_cast<double>(a[op]) - slope * static_cast<double>(batch_a);
    if (fixed > static_cast<double>(limit)) return 0;
    if (slope > 0) largest = std::min(largest, (static_cast<double>(limit) - fixed) / slope);
  }
  if (largest == kNoEnd) return std::nullopt;
  return static_cast<std::int64_t>(largest);
}

}  // namespace spillway

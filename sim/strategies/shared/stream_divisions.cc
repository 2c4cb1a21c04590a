#include "sim/strategies/shared/stream_divisions.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "hw/text/lists.h"
#include "model/cost/library_limits.h"
#include "model/cost/op_tiles.h"
#include "sim/plan/parts.h"
#include "sim/strategies/shared/streaming.h"

namespace spillway {

namespace {

// An op is cut into no more parts than these where it could stream more of its operands instead.
constexpr std::int64_t kMostParts = 64;
// Nor into more tiles than these: where so many do not help, its parameters are in the way.
constexpr std::int64_t kMostTilesByNeed = 4096;

}  // namespace

// Whether the op, and all forward writers of what it writes, can stream the tensor.
bool Divisions::MayStreamAt(OpId op, TensorId t) const {
  const std::vector<OpId>& writers = tables_.uses.writers[Index(t)];
  if (!MayStream(step_.tensors[Index(t)]) || !HasSampleParts(step_.ops[Index(op)])) return false;
  return !Contains(writers, op) || std::all_of(writers.begin(), writers.end(), [this](OpId writer) {
    return HasSampleParts(step_.ops[Index(writer)]);
  });
}

bool Divisions::Streams(OpId op, TensorId t) const {
  const auto found = op == kNoOp ? tilings_.end() : tilings_.find(op);
  return found != tilings_.end() && found->second.streamed.contains(t);
}

// What the op may stream: first what a use before or behind it streams, as that is on the host anyhow, then results, then
// the largest.
std::vector<TensorId> Divisions::InOrderOfStreaming(OpId op) const {
  std::vector<std::tuple<int, Bytes, TensorId>> ranked;
  for (const auto& [t, access, last] : tables_.Touches(op)) {
    if (!MayStreamAt(op, t)) continue;
    const bool there = Streams(tables_.uses.Previous(t, op), t) || Streams(tables_.uses.Next(t, op), t);
    ranked.emplace_back(there ? 0 : access == Access::kWrite ? 1 : 2, -tables_.bytes[Index(t)], t);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<TensorId> order;
  for (const auto& [rank, bytes, t] : ranked) order.push_back(t);
  return order;
}

bool Divisions::Divide(OpId op, Bytes target) {
  const std::vector<TensorId> order = InOrderOfStreaming(op);
  if (order.empty()) return false;
  const auto known = tilings_.find(op);
  Tiling tiling;
  if (known == tilings_.end()) {
    tiling = WhatMust(op, order, target);
  } else {
    tiling = known->second;
    const bool more = tiling.streamed.size() < order.size();
    if (!more && tiling.samples == 1 && !Refine(op, tiling, target)) return false;
    tiling.streamed.insert(order.begin(), order.end());
    tiling.samples = LargestPart(op, tiling, more ? 2 * tiling.samples : tiling.samples, target);
  }
  while (WorkingSet(op, tiling) > target) {
    if (!Refine(op, tiling, target)) return false;
  }
  tilings_[op] = tiling;
  Decide(op);
  for (const TensorId t : tiling.streamed) StreamWhereWritten(op, t);
  return true;
}

// Cuts a sample into twice as many tiles: first of rows, then of output and of input channels, which are read for each
// other.
bool Divisions::Refine(OpId op, Tiling& tiling, Bytes target) const {
  const TileCounts most = MostRanges(LaunchOf(step_.ops[Index(op)]));
  TileCounts& tiles = tiling.tiles;
  const std::int64_t all = step_.ops[Index(op)].shape.in.n * tiles.in_channels * tiles.out_channels * tiles.rows;
  if (2 * all > kMostTilesByNeed || WithoutTiles(op, tiling) > target) return false;
  for (const auto& [count, limit] :
       {std::pair{&tiles.rows, most.rows}, std::pair{&tiles.out_channels, most.out_channels},
        std::pair{&tiles.in_channels, most.in_channels}}) {
    if (*count * 2 > limit) continue;
    *count *= 2;
    return true;
  }
  return false;
}

// What the op takes on the device however small its tiles are.
Bytes Divisions::WithoutTiles(OpId op, const Tiling& tiling) const {
  Bytes bytes = tables_.WorkingSet(op) - tables_.launches[tables_.launch[Index(op)]].workspace;
  for (const TensorId t : tiling.streamed) bytes -= tables_.bytes[Index(t)];
  return bytes;
}

Bytes Divisions::InSmallestParts(OpId op, Bytes target) const {
  const std::vector<TensorId> all = InOrderOfStreaming(op);
  Tiling tiling{1, {all.begin(), all.end()}};
  while (Refine(op, tiling, target)) {
  }
  return WorkingSet(op, tiling);
}

// The first few of `order` that do, or all of them.
Divisions::Tiling Divisions::WhatMust(OpId op, const std::vector<TensorId>& order, Bytes target) const {
  const std::int64_t batch = step_.ops[Index(op)].shape.in.n;
  Tiling tiling;
  for (const TensorId t : order) {
    tiling.streamed.insert(t);
    tiling.samples = LargestPart(op, tiling, batch, target);
    if (WorkingSet(op, tiling) <= target && tiling.samples * kMostParts >= batch) break;
  }
  return tiling;
}

// The other forward ops that write a tensor stream it, too.
void Divisions::StreamWhereWritten(OpId op, TensorId t) {
  const std::vector<OpId>& writers = tables_.uses.writers[Index(t)];
  if (!Contains(writers, op)) return;
  for (const OpId writer : writers) {
    Tiling& other = tilings_[writer];
    if (other.samples == 0) other.samples = tilings_[op].samples;
    if (other.streamed.insert(t).second) Decide(writer);
  }
}

void Divisions::Decide(OpId op) {
  decisions_[op] = Decision(op, tilings_[op]);
  alone_[Index(op)] = WorkingSet(decisions_[op]);
}

std::int64_t Divisions::MostTaken(OpId op) const {
  const Launch whole = LaunchOf(step_.ops[Index(op)]);
  const std::int64_t batch = whole.shape.in.n;
  if (!std::binary_search(tables_.refused.begin(), tables_.refused.end(), op)) return batch;
  return std::max<std::int64_t>(1, kMostIndexed / (LargestTensor(whole) / batch));
}

void Divisions::DivideRefused() {
  for (const OpId op : tables_.refused) {
    const std::int64_t most = MostTaken(op);
    if (most >= step_.ops[Index(op)].shape.in.n) continue;
    decisions_[op] = Decision(op, {.samples = most, .streamed = {}});
    alone_[Index(op)] = WorkingSet(decisions_[op]);
  }
}

// The largest power of two below `most` that the library takes, at least 1, with which the op fits; 1 if none does.
std::int64_t Divisions::LargestPart(OpId op, Tiling tiling, std::int64_t most, Bytes target) const {
  most = std::min(most, MostTaken(op) + 1);
  tiling.samples = 1;
  while (tiling.samples * 2 < most) tiling.samples *= 2;
  while (tiling.samples > 1 && WorkingSet(op, tiling) > target) tiling.samples /= 2;
  return tiling.samples;
}

Bytes Divisions::WorkingSet(const OpDecision& decision) const {
  return tables_.WorkingSets({&decision, 1})[Index(decision.op)];
}

OpDecision Divisions::Decision(OpId op, const Tiling& tiling) const {
  const Launch whole = LaunchOf(step_.ops[Index(op)]);
  const std::int64_t batch = whole.shape.in.n;
  OpDecision decision{.op = op};
  decision.streamed.assign(tiling.streamed.begin(), tiling.streamed.end());
  std::vector<std::int64_t> samples;
  for (std::int64_t done = 0; done < batch; done += tiling.samples) {
    samples.push_back(std::min(tiling.samples, batch - done));
  }
  if (!tiling.tiles.Any()) {
    decision.parts = PartsAsGranted(problem_, whole, samples);
    return decision;
  }
  for (const std::int64_t size : samples) decision.parts.push_back({.samples = size});
  decision.tiles = tiling.tiles;
  GrantTiles(problem_, step_.ops[Index(op)], decision);
  return decision;
}

}  // namespace spillway

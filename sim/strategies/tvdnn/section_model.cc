#include "sim/strategies/tvdnn/section_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "hw/text/lists.h"
#include "model/cost/op_tiles.h"
#include "sim/plan/parts.h"

namespace spillway::tvdnn {

namespace {

constexpr Bytes kSmall = 1000;  // tensors below this share of the capacity stay

// The fewest of equal size, in whole samples, that are no larger than `section`; as many as there can be where none are.
std::int64_t SectionsOf(const Tensor& tensor, Bytes section) {
  const std::int64_t apart = SamplesApart(tensor), batch = tensor.shape.n;
  std::int64_t most = 1;
  for (std::int64_t count = 2; count <= batch; ++count) {
    if (batch % count != 0 || batch / count % apart != 0 || tensor.bytes / count < kLeastCopyChunk) continue;
    if (tensor.bytes / most <= section) break;
    most = count;
  }
  return most;
}

// By op: bytes of what is there while it runs, nothing having been moved away.
std::vector<Bytes> LiveBytes(const StepTables& tables) {
  const TrainingStep& step = *tables.step;
  std::vector<Bytes> change(step.ops.size() + 1, 0);
  for (std::size_t t = 0; t < step.tensors.size(); ++t) {
    const std::vector<OpId>& uses = tables.uses.of[t];
    if (tables.persistent[t]) {
      change.front() += tables.bytes[t];
    } else if (!uses.empty()) {
      change[Index(uses.front())] += tables.bytes[t];
      change[Index(uses.back()) + 1] -= tables.bytes[t];
    }
  }
  std::partial_sum(change.begin(), change.end(), change.begin());
  change.pop_back();
  for (std::size_t op = 0; op < change.size(); ++op) {
    const Bytes workspace = tables.launches[tables.launch[op]].workspace;
    change[op] += workspace > 0 ? RoundToUnit(workspace) : 0;
  }
  return change;
}

void AddGaps(const StepTables& tables, TensorId tensor, Bytes section, SectionModel& model) {
  const Tensor& of = tables.step->tensors[Index(tensor)];
  const std::vector<OpId>&uses = tables.uses.of[Index(tensor)], &writers = tables.uses.writers[Index(tensor)];
  SectionGap gap{.tensor = tensor, .sections = SectionsOf(of, section), .on_host = of.Traits().on_host};
  gap.bytes = of.bytes / gap.sections;
  int before = -1;
  for (std::size_t k = 0; k + 1 < uses.size(); ++k) {
    gap.after = uses[k];
    gap.before = uses[k + 1];
    if (!writers.empty() && gap.after < writers.back()) continue;
    const bool written = Contains(tables.step->ops[Index(gap.after)].writes, tensor);
    gap.copied_by = written ? -1 : before;
    if (written) before = -1;
    if (gap.before - gap.after < 2) continue;
    before = static_cast<int>(model.gaps.size());
    model.gaps.push_back(gap);
  }
}

}  // namespace

SectionModel SectionModelOf(const StepTables& tables, const CostModel& costs, Bytes capacity, Bytes section,
                            int copy_streams) {
  SectionModel model;
  model.live = LiveBytes(tables);
  model.copy_streams = copy_streams;
  for (const std::uint32_t row : tables.launch) {
    model.time.push_back(costs.Kernel(tables.launches[row], tables.device).time);
  }
  Bytes largest = kLeastCopyChunk;
  for (TensorId t = 0; Index(t) < tables.step->tensors.size(); ++t) {
    const Tensor& tensor = tables.step->tensors[Index(t)];
    if (!MayStream(tensor) || tensor.bytes < capacity / kSmall) continue;
    AddGaps(tables, t, section, model);
  }
  for (const SectionGap& gap : model.gaps) largest = std::max(largest, gap.bytes);
  const auto rate = [&](Direction direction) {
    return static_cast<double>(costs.Copy(largest, direction, tables.device).time) / static_cast<double>(largest);
  };
  model.out_rate = rate(Direction::kDeviceToHost);
  model.in_rate = rate(Direction::kHostToDevice);
  return model;
}

void AddSwaps(const SectionModel& model, const Counts& counts, const TrainingStep& step, Plan& plan) {
  for (std::size_t g = 0; g < model.gaps.size(); ++g) {
    const SectionGap& gap = model.gaps[g];
    const std::int64_t samples = step.tensors[Index(gap.tensor)].shape.n / gap.sections;
    for (std::int64_t k = gap.sections - counts[g]; k < gap.sections; ++k) {
      GapDecision decision;
      decision.tensor = gap.tensor;
      decision.after = gap.after;
      decision.before = gap.before;
      decision.out_after = gap.on_host ? kNoOp : gap.after;
      decision.in_at = gap.after + 1;
      decision.reason = fmt::format("{} of {} sections leave", counts[g], gap.sections);
      if (gap.sections > 1) decision.samples = {k * samples, (k + 1) * samples};
      plan.gaps.push_back(std::move(decision));
    }
  }
}

Counts FarthestUse(const SectionModel& model, Bytes capacity) {
  struct EndsLast {
    const std::vector<SectionGap>& gaps;
    bool operator()(std::size_t a, std::size_t b) const {
      return gaps[a].before != gaps[b].before ? gaps[a].before > gaps[b].before : a < b;
    }
  };
  const auto ops = static_cast<std::size_t>(model.ops());
  std::vector<std::vector<std::size_t>> begun(ops), ended(ops);  // by op: gaps that it is the first in, or behind
  for (std::size_t g = 0; g < model.gaps.size(); ++g) {
    begun[Index(model.gaps[g].after + 1)].push_back(g);
    ended[Index(model.gaps[g].before)].push_back(g);
  }
  Counts counts(model.gaps.size(), 0);
  std::set<std::size_t, EndsLast> open(EndsLast{model.gaps});  // gaps that something of is there in
  Bytes away = 0;
  for (std::size_t op = 0; op < ops; ++op) {
    for (const std::size_t g : ended[op]) {
      away -= counts[g] * model.gaps[g].bytes;
      open.erase(g);
    }
    open.insert(begun[op].begin(), begun[op].end());
    while (model.live[op] - away > capacity && !open.empty()) {
      const std::size_t g = *open.begin();
      const SectionGap& gap = model.gaps[g];
      const Bytes over = model.live[op] - away - capacity;
      const std::int64_t more = std::min(gap.sections - counts[g], (over + gap.bytes - 1) / gap.bytes);
      counts[g] += more;
      away += more * gap.bytes;
      if (counts[g] == gap.sections) open.erase(open.begin());
    }
  }
  return counts;
}

}  // namespace spillway::tvdnn

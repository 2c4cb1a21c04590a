#include "sim/strategies/pooch/pooch_profile.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <map>

#include "hw/text/lists.h"
#include "sim/program/step_tables.h"
#include "sim/strategies/pooch/fixed_ops.h"

namespace spillway {
namespace {

struct Life {  // of one tensor, in ops
  OpId first = kNoOp;
  OpId last = kNoOp;
  OpId last_forward = kNoOp;
  OpId first_backward = kNoOp;
  bool written_first = false;
};

class Profiler {
 public:
  Profiler(const TrainingStep& step, const CostModel& costs, int device, BackwardUnits units, const FixedOps* fixed)
      : step_(step),
        costs_(costs),
        device_(device),
        fixed_(fixed),
        unit_(UnitOfOps(step, units)),
        lives_(step.tensors.size()),
        kernel_(step.ops.size()) {}

  PoochProfile Run(Bytes capacity) {
    const StepTables tables(step_, costs_, device_, capacity);
    for (OpId op = 0; op < Count(step_.ops.size()); ++op) {
      const Cost* const in_parts = fixed_ == nullptr ? nullptr : fixed_->CostOf(op);
      kernel_[Index(op)] =
          in_parts != nullptr ? *in_parts : costs_.Kernel(tables.launches[tables.launch[Index(op)]], device_);
      const bool differs = in_parts == nullptr && tables.launch_again[Index(op)] != tables.launch[Index(op)];
      if (differs) again_[op] = costs_.Kernel(tables.launches[tables.launch_again[Index(op)]], device_);
    }
    FindLives();
    AddMaps();
    AddInitialState(capacity);
    AddForward();
    AddTimings();
    AddValues();
    return std::move(profile_);
  }

 private:
  const Tensor& TensorOf(TensorId t) const { return step_.tensors[static_cast<std::size_t>(t)]; }
  std::int32_t UnitOf(OpId op) const { return unit_[static_cast<std::size_t>(op)]; }
  const Op& OpOf(OpId op) const { return step_.ops[static_cast<std::size_t>(op)]; }
  const Cost& CostOf(OpId op) const { return kernel_[static_cast<std::size_t>(op)]; }
  const Life& LifeOf(TensorId t) const { return lives_[static_cast<std::size_t>(t)]; }
  Bytes BufferBytes(TensorId t) const { return RoundToUnit(TensorOf(t).bytes); }
  static Bytes WorkspaceOf(const Cost& cost) { return cost.workspace > 0 ? RoundToUnit(cost.workspace) : 0; }
  Bytes WorkspaceOf(OpId op) const { return WorkspaceOf(CostOf(op)); }
  // Bytes of a tensor that the tables of ops and timings account for: all but parameters and decidable maps.
  bool IsDecidable(TensorId t) const {
    const std::int32_t value = value_of_[static_cast<std::size_t>(t)];
    if (value < 0 || value >= Count(profile_.maps.size())) return false;
    return profile_.maps[static_cast<std::size_t>(value)].Decidable();
  }

  bool Held(TensorId t) const { return fixed_ != nullptr && fixed_->Holds(t); }

  void Use(TensorId tensor, OpId op, bool write) {
    Life& life = lives_[static_cast<std::size_t>(tensor)];
    if (life.first == kNoOp) {
      life.first = op;
      life.written_first = write;
    }
    life.last = op;
    if (op < step_.first_backward) life.last_forward = op;
    if (op >= step_.first_backward && life.first_backward == kNoOp) life.first_backward = op;
  }

  void FindLives() {
    for (OpId op = 0; op < Count(step_.ops.size()); ++op) {
      for (TensorId t : OpOf(op).reads) Use(t, op, false);
      for (TensorId t : OpOf(op).writes) Use(t, op, true);
    }
  }

  void AddMaps() {
    value_of_.assign(step_.tensors.size(), -1);
    for (TensorId t : step_.maps) {
      PoochProfile::Map map;
      map.tensor = t;
      map.bytes = BufferBytes(t);
      map.on_host = TensorOf(t).Traits().on_host;
      map.out_time = map.on_host ? 0 : costs_.Copy(TensorOf(t).bytes, Direction::kDeviceToHost, device_).time;
      map.in_time = costs_.Copy(TensorOf(t).bytes, Direction::kHostToDevice, device_).time;
      map.last_forward_op = LifeOf(t).last_forward;
      map.first_backward_op = LifeOf(t).first_backward;
      map.may_run_again = step_.MayRecompute(t, map.first_backward_op) && (fixed_ == nullptr || fixed_->MayRunAgain(t));
      map.last_timing =
          LifeOf(t).first_backward == kNoOp || Held(t) ? -1 : 0;  // the timing itself follows in AddTimings
      value_of_[static_cast<std::size_t>(t)] = Count(profile_.maps.size());
      profile_.maps.push_back(map);
    }
  }

  void AddInitialState(Bytes capacity) {
    for (TensorId t = 0; t < Count(step_.tensors.size()); ++t) {
      if (TensorOf(t).Traits().resident) {
        profile_.persistent += BufferBytes(t);
      } else if (StartsOnDevice(t)) {
        profile_.initial += BufferBytes(t);
      }
      if (TensorOf(t).Traits().on_host && (!Held(t) || StartsOnDevice(t))) {
        profile_.upload += costs_.Copy(TensorOf(t).bytes, Direction::kHostToDevice, device_).time;
      }
    }
    profile_.capacity = capacity - profile_.persistent;
  }

  bool StartsOnDevice(TensorId t) const {
    if (Held(t)) return fixed_->StartsOnDevice(t);
    return LifeOf(t).first != kNoOp && !LifeOf(t).written_first;
  }

  // Each tensor of an op once, although in-place results are listed as read and written.
  template <typename Visit>
  void ForEachTensor(OpId op, Visit visit) const {
    const Op& o = OpOf(op);
    for (TensorId t : o.reads) visit(t);
    for (TensorId t : o.writes) {
      if (!Contains(o.reads, t)) visit(t);
    }
  }

  // Bytes that op allocates (first use) and releases (last use); maps are allocated here but left to the classes.
  void Footprint(OpId op, Bytes* allocates, Bytes* releases) const {
    ForEachTensor(op, [&](TensorId t) {
      if (TensorOf(t).Traits().resident) return;
      if (Held(t)) {
        *allocates += fixed_->Arrives(op, t) ? BufferBytes(t) : 0;
        *releases += fixed_->Leaves(op, t) ? BufferBytes(t) : 0;
        return;
      }
      if (LifeOf(t).first == op && LifeOf(t).written_first) *allocates += BufferBytes(t);
      if (LifeOf(t).last == op && !IsDecidable(t)) *releases += BufferBytes(t);
    });
  }

  void AddForward() {
    undecidable_ = profile_.initial;
    for (OpId op = 0; op < step_.first_backward; ++op) {
      PoochProfile::ForwardOp row;
      row.op = op;
      row.time = CostOf(op).time;
      row.workspace = WorkspaceOf(op);
      Footprint(op, &row.allocates, &row.releases);
      row.maps_begin = Count(profile_.leaving.size());
      for (std::size_t m = 0; m < profile_.maps.size(); ++m) {
        const PoochProfile::Map& map = profile_.maps[m];
        if (map.Decidable() && map.last_forward_op == op) profile_.leaving.push_back(Count(m));
      }
      row.maps_end = Count(profile_.leaving.size());
      undecidable_ += row.allocates - row.releases;
      profile_.forward.push_back(row);
    }
    for (const PoochProfile::Map& map : profile_.maps) undecidable_ -= map.Decidable() ? map.bytes : 0;
  }

  void AddTimings() {
    const OpId ops = Count(step_.ops.size());
    for (OpId op = step_.first_backward; op < ops;) {
      OpId end = op + 1;
      const bool update = op >= step_.first_update;
      while (end < ops && (update || UnitOf(end) == UnitOf(op))) ++end;
      AddTiming(op, end);
      op = end;
    }
  }

  void AddTiming(OpId begin, OpId end) {
    const std::int32_t index = Count(profile_.timings.size());
    PoochProfile::Timing row;
    row.first_op = begin;
    row.before = undecidable_;
    row.needs_begin = Count(profile_.needs.size());
    row.stretches_begin = Count(profile_.stretches.size());
    PoochProfile::Stretch stretch;
    for (OpId op = begin; op < end; ++op) {
      row.time += CostOf(op).time;
      row.convolution = row.convolution || OpOf(op).kind == OpKind::kConvolution;
      ForEachTensor(op, [&](TensorId t) {
        if (IsDecidable(t)) Need(value_of_[static_cast<std::size_t>(t)], index, row.needs_begin);
      });
      AddToStretch(op, op + 1 == end, stretch);
    }
    row.needs_end = Count(profile_.needs.size());
    row.stretches_end = Count(profile_.stretches.size());
    profile_.timings.push_back(row);
  }

  void AddToStretch(OpId op, bool last, PoochProfile::Stretch& stretch) {
    Bytes allocates = 0, releases = 0;
    Footprint(op, &allocates, &releases);
    undecidable_ += allocates;
    stretch.peak = std::max(stretch.peak, undecidable_ + WorkspaceOf(op));
    undecidable_ -= releases;
    stretch.ends_begin = Count(profile_.ends.size());
    ForEachTensor(op, [&](TensorId t) {
      if (IsDecidable(t) && LifeOf(t).last == op) profile_.ends.push_back(value_of_[static_cast<std::size_t>(t)]);
    });
    stretch.ends_end = Count(profile_.ends.size());
    if (!last && stretch.ends_begin == stretch.ends_end) return;
    profile_.stretches.push_back(stretch);
    stretch = {};
  }

  void Need(std::int32_t map, std::int32_t timing, std::int32_t begin) {
    profile_.maps[static_cast<std::size_t>(map)].last_timing = timing;
    if (std::find(profile_.needs.begin() + begin, profile_.needs.end(), map) == profile_.needs.end()) {
      profile_.needs.push_back(map);
    }
  }

  void AddValues() {
    std::vector<TensorId> tensors = step_.maps;
    for (TensorId t = 0; t < Count(step_.tensors.size()); ++t) {
      if (TensorOf(t).use != TensorClass::kTransient) continue;
      value_of_[static_cast<std::size_t>(t)] = Count(tensors.size());
      tensors.push_back(t);
    }
    std::vector<std::vector<OpId>> writers(step_.tensors.size());
    for (OpId op = 0; op < step_.first_backward; ++op) {
      for (TensorId t : OpOf(op).writes) writers[static_cast<std::size_t>(t)].push_back(op);
    }
    for (TensorId t : tensors) AddValue(t, writers[static_cast<std::size_t>(t)]);
  }

  void AddValue(TensorId tensor, const std::vector<OpId>& writers) {
    PoochProfile::Value row;
    row.bytes = BufferBytes(tensor);
    row.writers_begin = Count(profile_.writers.size());
    for (OpId op : writers) {
      AddWriter(op, tensor);
      const bool map = profile_.values.size() < profile_.maps.size();
      if (map && OpOf(op).kind == OpKind::kConvolution) profile_.maps[profile_.values.size()].convolution = true;
    }
    row.writers_end = Count(profile_.writers.size());
    profile_.values.push_back(row);
  }

  void AddWriter(OpId op, TensorId tensor) {
    PoochProfile::Writer row;
    const auto again = again_.find(op);
    const Cost& cost = again == again_.end() ? CostOf(op) : again->second;
    row.op = op;
    row.time = cost.time;
    row.workspace = WorkspaceOf(cost);
    row.inputs_begin = Count(profile_.inputs.size());
    for (TensorId t : OpOf(op).reads) {
      const std::int32_t value = value_of_[static_cast<std::size_t>(t)];
      if (t != tensor && value >= 0) profile_.inputs.push_back(value);
    }
    row.inputs_end = Count(profile_.inputs.size());
    profile_.writers.push_back(row);
  }

  const TrainingStep& step_;
  const CostModel& costs_;
  int device_;
  const FixedOps* fixed_;               // nullptr: nothing is decided
  std::vector<std::int32_t> unit_;      // by op
  std::vector<Life> lives_;             // by tensor
  std::vector<Cost> kernel_;            // by op
  std::map<OpId, Cost> again_;          // of recomputations, where they differ
  std::vector<std::int32_t> value_of_;  // by tensor: row of `values`, -1 = none
  Bytes undecidable_ = 0;               // live at the point the walk has reached
  PoochProfile profile_;
};

}  // namespace

PoochProfile ProfileStep(const TrainingStep& step, const CostModel& costs, Bytes capacity, int device,
                         BackwardUnits units, const FixedOps* fixed) {
  assert(step.parts == 1 && "forward comes before all of backward");
  return Profiler(step, costs, device, units, fixed).Run(capacity);
}

}  // namespace spillway

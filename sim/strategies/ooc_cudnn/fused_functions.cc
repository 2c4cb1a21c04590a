#include "sim/strategies/ooc_cudnn/fused_functions.h"

#include <algorithm>
#include <map>
#include <span>

#include "hw/text/lists.h"
#include "model/kernels/kernel_form.h"
#include "sim/strategies/shared/streaming.h"

namespace spillway::ooc_cudnn {

namespace {

double TimeOfKernels(const std::vector<FusedKernel>& kernels, double samples) {
  double time = 0;
  for (const FusedKernel& kernel : kernels) time += kernel.law.At(kernel.sample_work * samples);
  return time;
}

struct FusedStages {
  double pre = 0, run = 0, off = 0;
};

FusedStages StagesOf(const FusedCall& call, const LinearLaw& copy, std::int64_t samples) {
  const auto n = static_cast<double>(samples);
  FusedStages stages{.pre = copy.weight * call.sample_in * n + copy.bias * call.copies_in,
                     .run = TimeOfKernels(call.convolutions, n),
                     .off = copy.weight * call.sample_out * n + copy.bias * call.copies_out};
  (call.backward ? stages.run : stages.off) += TimeOfKernels(call.others, n);
  return stages;
}

bool IsPooling(OpKind kind) { return kind == OpKind::kMaxPool || kind == OpKind::kAveragePool; }

// Whether the windows of a pooling lie side by side, without padding.
bool Tiles(const OpShape& shape) {
  return shape.window == shape.stride &&
         std::all_of(shape.pad.begin(), shape.pad.end(), [](const Padding& p) { return p.begin == 0 && p.end == 0; });
}

// The ops of a fused function in their order. An op may be left out, but the convolution's.
enum class Role { kNone, kPool, kActivation, kBias, kConvolution };

Role RoleOf(const Op& op) {
  if (op.kind == OpKind::kConvolution) return Role::kConvolution;
  if (op.kind == OpKind::kBias) return Role::kBias;
  if (op.kind == OpKind::kRelu) return Role::kActivation;
  return IsPooling(op.kind) && Tiles(op.shape) ? Role::kPool : Role::kNone;
}

// Whether `op` may be behind `before` in one function: each works on what the one before has made, or, as the passes of a
// convolution, on the same gradient.
bool GoesOn(const Op& before, const Op& op) {
  const Role first = RoleOf(before), second = RoleOf(op);
  if (first == Role::kNone || second == Role::kNone) return false;
  const bool forward = op.pass == Pass::kForward;
  if (forward != (before.pass == Pass::kForward)) return false;
  const auto shares = [&op](const std::vector<TensorId>& list) {
    return std::any_of(list.begin(), list.end(), [&op](TensorId t) { return Contains(op.reads, t); });
  };
  if (forward) return second < first && shares(before.writes);
  const bool one_convolution = first >= Role::kBias && second >= Role::kBias;
  if (one_convolution) return op.layer == before.layer && shares(before.reads);
  return second > first && shares(before.writes);
}

class Fuser {
 public:
  Fuser(const Problem& problem, const StepTables& tables, const PartsOfGroup& parts)
      : problem_(problem), tables_(tables), step_(*problem.step), parts_(parts) {}

  void Run(Plan& plan) const {
    std::vector<OpDecision>& decisions = plan.ops;
    for (std::size_t first = 0, end = 0; first < decisions.size(); first = end) {
      end = first + 1;
      while (end < decisions.size() && Continues(decisions[end - 1].op, decisions[end].op)) ++end;
      const std::span<OpDecision> group(decisions.data() + first, end - first);
      const bool convolves = std::any_of(group.begin(), group.end(), [this](const OpDecision& decision) {
        return step_.ops[Index(decision.op)].kind == OpKind::kConvolution;
      });
      if (group.size() > 1 && convolves && !MovesWithin(group, plan.gaps)) Fuse(group);
    }
  }

 private:
  bool Continues(OpId before, OpId op) const {
    return op == before + 1 && GoesOn(step_.ops[Index(before)], step_.ops[Index(op)]);
  }

  // Whether something that is used whole is swapped between two of the ops.
  static bool MovesWithin(std::span<const OpDecision> group, const std::vector<GapDecision>& gaps) {
    return std::any_of(gaps.begin(), gaps.end(), [group](const GapDecision& gap) {
      return gap.after >= group.front().op && gap.before <= group.back().op;
    });
  }

  void Fuse(std::span<OpDecision> group) const {
    const FusedCall call = CallOf(group);
    const std::int64_t parts = parts_(group, call);
    if (parts == 0) return;
    for (OpDecision& decision : group) {
      decision.parts.clear();
      decision.tiles = {};
      for (std::int64_t k = 0; k < parts; ++k) {
        decision.parts.push_back({.samples = EqualRange(call.batch, parts, k).Size()});
      }
      decision.fused = &decision != &group.front();
      GrantTiles(problem_, step_.ops[Index(decision.op)], decision);
    }
  }

  FusedCall CallOf(std::span<const OpDecision> group) const {
    FusedCall call{.batch = step_.batch, .backward = step_.IsBackward(group.front().op)};
    const auto batch = static_cast<double>(call.batch);
    struct Use {
      bool in = false, out = false;
    };
    std::map<TensorId, Use> uses;
    for (const OpDecision& decision : group) {
      const Launch launch = LaunchOf(step_.ops[Index(decision.op)]);
      const FusedKernel kernel{WorkOf(launch) / batch, KernelLaw(*problem_.costs, launch, problem_.device)};
      (HasAlgorithms(launch.kind) ? call.convolutions : call.others).push_back(kernel);
      for (const StepTables::Touch& touch : tables_.Touches(decision.op)) {
        if (!Contains(decision.streamed, touch.tensor)) continue;
        const auto [use, first] = uses.try_emplace(touch.tensor);
        if (first) use->second.in = touch.access != Access::kWrite;
        use->second.out = (use->second.out || touch.access != Access::kRead) && !touch.last;
      }
    }
    for (const auto& [tensor, use] : uses) {
      const double sample = static_cast<double>(step_.tensors[Index(tensor)].bytes) / batch;
      call.sample_held += sample;
      if (use.in) call.sample_in += sample, ++call.copies_in;
      if (use.out) call.sample_out += sample, ++call.copies_out;
    }
    return call;
  }

  const Problem& problem_;
  const StepTables& tables_;
  const TrainingStep& step_;
  const PartsOfGroup& parts_;
};

}  // namespace

double TimeOf(const FusedCall& call, const LinearLaw& copy, std::int64_t parts) {
  const FusedStages t = StagesOf(call, copy, (call.batch + parts - 1) / parts);
  const FusedStages last = StagesOf(call, copy, call.batch / parts);
  const auto all = static_cast<double>(parts);
  if (call.backward) {
    return std::max({all * t.pre + t.run + t.off, t.pre + all * t.run + t.off, t.pre + t.run + all * t.off});
  }
  const double inner = t.pre + t.run;
  if (inner < t.off) return inner + all * t.off;
  if (t.pre < t.run) return t.pre + all * t.run + last.off;
  return all * t.pre + last.run + last.off;
}

std::int64_t FusedParts(const FusedCall& call, const LinearLaw& copy, Bytes free) {
  std::int64_t best = 0;
  double time = 0;
  for (std::int64_t parts = 1; parts <= std::min(call.batch, kMostTilesPlanned); ++parts) {
    const auto samples = static_cast<double>((call.batch + parts - 1) / parts);
    if (3 * call.sample_held * samples >= static_cast<double>(free)) continue;
    const double now = TimeOf(call, copy, parts);
    if (best == 0 || now < time) best = parts, time = now;
  }
  return best;
}

void FuseFunctions(const Problem& problem, const StepTables& tables, const PartsOfGroup& parts, Plan& plan) {
  Fuser(problem, tables, parts).Run(plan);
}

}  // namespace spillway::ooc_cudnn

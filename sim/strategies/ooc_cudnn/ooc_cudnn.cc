// ooc-cudnn: memory is handed out first come, first served, until nine tenths of it are; what comes later lies on the host
// for good, and every call that touches it runs in tiles (Ito et al., ooc_cuDNN; its code). The host waits behind every
// layer, as its calls do.
//
// As far as plans can say it: parameters, their gradients and small results are on the device whatever has gone before; ops
// that have no parts find what is on the host copied in as a whole; fully connected layers are divided along the batch only.
//
// ooc-cudnn-released: the same tiles as the released library runs them, which at the end of each call waits for all of its
// streams and frees its tiles, to allocate them and five streams anew in the next one. That takes the host time that nobody
// has published: kCallTime is assumed, the order of six allocations and frees of 50 us to 1.2 ms each.
//
// ooc-cudnn-fused: the same placement, with the fused functions that the paper's C++ test calls (fused_functions.h). What is
// between their ops is placed as if it were not fused.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "hw/text/lists.h"
#include "model/cost/op_tiles.h"
#include "sim/plan/parts.h"
#include "sim/planning/problem.h"
#include "sim/program/lower/lower.h"
#include "sim/program/step_tables.h"
#include "sim/strategies/ooc_cudnn/fused_functions.h"
#include "sim/strategies/ooc_cudnn/ooc_cudnn_model.h"
#include "sim/strategies/shared/streaming.h"

namespace spillway {

namespace {

constexpr Nanos kCallTime = 1'000'000;

class OocCudnn {
 public:
  explicit OocCudnn(const Problem& problem)
      : problem_(problem),
        step_(*problem.step),
        tables_(*problem.step, *problem.costs, problem.device, problem.capacity),
        copy_(ooc_cudnn::CopyLaw(*problem.costs, problem.device)) {}

  Planned Make(bool fused = false) {
    Place();
    Planned planned;
    planned.plan = StartPlan(problem_, fused ? "ooc-cudnn-fused" : "ooc-cudnn", "arena");
    if (!problem_.use_runtime) planned.plan.runtime.barrier = Barrier::kOp;
    for (OpId op = 0; op < static_cast<OpId>(step_.ops.size()); ++op) AddOp(op, planned.plan);
    AddSwaps(planned.plan);
    SwapWhereStreamed(step_, tables_.uses, "on the host, used whole on one side", planned.plan);
    if (fused) Fuse(planned.plan);
    planned.feasible = true;
    planned.plan.search = fmt::format("{} of {} on the device, {} tensors on the host", FormatBytes(placed_),
                                      FormatBytes(problem_.capacity), on_host_.size());
    SayWhyNot(planned);
    return planned;
  }

 private:
  // What belongs to parameters is allocated when a network is set up, then the rest in the order of first use.
  void Place() {
    const Bytes budget = problem_.capacity - problem_.capacity / 10;
    for (std::size_t t = 0; t < step_.tensors.size(); ++t) {
      if (!MayStream(step_.tensors[t])) placed_ += tables_.bytes[t];
    }
    std::set<TensorId> seen;
    for (OpId op = 0; op < static_cast<OpId>(step_.ops.size()); ++op) {
      for (const StepTables::Touch& touch : tables_.Touches(op)) {
        const TensorId t = touch.tensor;
        if (!MayStream(step_.tensors[Index(t)]) || !seen.insert(t).second) continue;
        const Bytes bytes = tables_.bytes[Index(t)];
        if (placed_ + bytes < budget) {
          placed_ += bytes;
        } else {
          on_host_.insert(t);
        }
      }
    }
  }

  // Less memory places fewer tensors, and may so leave an op that takes its operands whole more room.
  void SayWhyNot(Planned& planned) const {
    const std::vector<Bytes> live = LiveAt(planned.plan, tables_);
    const auto most = std::max_element(live.begin(), live.end());
    if (*most <= problem_.capacity) return;
    planned.feasible = false;
    planned.reason = fmt::format(
        "out_of_memory: the plan needs {} at {}; {} are placed on the device first, in order of use up to "
        "nine tenths of the memory, and with less memory fewer are",
        FormatBytes(*most), step_.ops[Index(static_cast<OpId>(most - live.begin()))].name, FormatBytes(placed_));
  }

  Bytes Free() const { return std::max<Bytes>(0, problem_.capacity - placed_); }

  bool StreamsAt(OpId op, TensorId t) const {
    if (!on_host_.contains(t) || !HasSampleParts(step_.ops[Index(op)])) return false;
    const std::vector<OpId>& writers = tables_.uses.writers[Index(t)];
    return !Contains(writers, op) || std::all_of(writers.begin(), writers.end(), [this](OpId writer) {
      return HasSampleParts(step_.ops[Index(writer)]);
    });
  }

  void AddOp(OpId op, Plan& plan) const {
    OpDecision decision{.op = op};
    for (const StepTables::Touch& touch : tables_.Touches(op)) {
      if (StreamsAt(op, touch.tensor)) decision.streamed.push_back(touch.tensor);
    }
    if (decision.streamed.empty()) return;
    const ooc_cudnn::Call call = CallOf(op);
    const ooc_cudnn::LinearLaw kernel = ooc_cudnn::KernelLaw(*problem_.costs, call.whole, problem_.device);
    const Bytes free = Free();
    ooc_cudnn::Steps steps = ooc_cudnn::GreedySteps(call, copy_, kernel, free);
    // Where no tile fits, none is written down by the thousand: whoever judges the plan says what single samples lack.
    if (!ooc_cudnn::Fits(call, steps, free)) steps = {.samples = call.whole.shape.in.n};
    for (std::int64_t k = 0; k < steps.samples; ++k) {
      decision.parts.push_back({.samples = EqualRange(call.whole.shape.in.n, steps.samples, k).Size()});
    }
    decision.tiles = steps.tiles;
    GrantTiles(problem_, step_.ops[Index(op)], decision);
    plan.ops.push_back(std::move(decision));
  }

  ooc_cudnn::Call CallOf(OpId op) const {
    ooc_cudnn::Call call{.whole = LaunchOf(step_.ops[Index(op)])};
    const Op& o = step_.ops[Index(op)];
    const bool data = o.pass == Pass::kBackwardData;
    for (const StepTables::Touch& touch : tables_.Touches(op)) {
      if (!StreamsAt(op, touch.tensor)) continue;
      const auto bytes = static_cast<double>(step_.tensors[Index(touch.tensor)].bytes);
      const double sample = bytes / static_cast<double>(call.whole.shape.in.n);
      if (touch.access != Access::kWrite) call.sample_in += sample, ++call.copies_in;
      if (touch.access != Access::kRead) call.sample_out += sample, ++call.copies_out;
      const bool input = data ? Contains(o.writes, touch.tensor) : touch.tensor == o.reads[0];
      (input ? call.input_on_host : call.output_on_host) = true;
    }
    return call;
  }

  void Fuse(Plan& plan) const {
    const auto parts = [this](std::span<const OpDecision>, const ooc_cudnn::FusedCall& call) {
      return ooc_cudnn::FusedParts(call, copy_, Free());
    };
    ooc_cudnn::FuseFunctions(problem_, tables_, parts, plan);
  }

  // What is on the host and used as a whole is brought in for the op, and goes back.
  void AddSwaps(Plan& plan) const {
    for (const TensorId t : on_host_) {
      const std::vector<OpId>& uses = tables_.uses.of[Index(t)];
      const std::vector<OpId>& writers = tables_.uses.writers[Index(t)];
      for (std::size_t k = 0; k + 1 < uses.size(); ++k) {
        if (!writers.empty() && uses[k] < writers.back()) continue;
        if (StreamsAt(uses[k], t) || StreamsAt(uses[k + 1], t)) continue;
        plan.gaps.push_back({.tensor = t,
                             .after = uses[k],
                             .before = uses[k + 1],
                             .out_after = uses[k],
                             .in_at = uses[k + 1],
                             .reason = "on the host"});
      }
    }
  }

  const Problem& problem_;
  const TrainingStep& step_;
  const StepTables tables_;
  const ooc_cudnn::LinearLaw copy_;
  std::set<TensorId> on_host_;
  Bytes placed_ = 0;
};

}  // namespace

Planned PlanOocCudnn(const Problem& problem) { return OocCudnn(problem).Make(); }

Planned PlanOocCudnnFused(const Problem& problem) { return OocCudnn(problem).Make(true); }

Planned PlanOocCudnnReleased(const Problem& problem) {
  Planned planned = OocCudnn(problem).Make();
  planned.plan.strategy = "ooc-cudnn-released";
  if (problem.use_runtime) return planned;
  planned.plan.runtime.barrier = Barrier::kCall;
  planned.plan.runtime.framework_time = kCallTime;
  return planned;
}

}  // namespace spillway

// accumulate: the step in batch parts (model/step/accumulate.h), each planned by a strategy beneath. What a user does who
// has no out-of-core system: a smaller batch, several times before an update.
//
// In how many parts is tried out: fewer parts have larger, more efficient kernels and fewer launches, more parts need less
// memory, and what is left over may pay for faster algorithms. The numbers of part_counts.h are judged by evaluate(); those
// are left out whose kernels alone take no less than the fastest step found. Where parts are not equal, the smaller ones
// have a plan of their own.
#include "model/step/accumulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/planning/strategy.h"
#include "sim/program/step_tables.h"
#include "sim/strategies/accumulate/part_counts.h"
#include "sim/strategies/accumulate/repeat_plan.h"
#include "sim/strategies/strategies.h"

namespace spillway {

namespace {

constexpr std::int64_t kMostParts = 64;  // tried where nobody says how many

// Of gradients: what earlier parts leave on the device beside a part.
Bytes SumsBytes(const TrainingStep& step) {
  Bytes sum = 0;
  for (const Tensor& tensor : step.tensors) {
    if (tensor.use == TensorClass::kParameterGradient) sum += RoundToUnit(tensor.bytes);
  }
  return sum;
}

class Accumulator {
 public:
  explicit Accumulator(const Problem& problem)
      : problem_(problem),
        beneath_(StrategyByName(problem.parameters.Word("beneath", "in-core"))),
        told_(problem.parameters.Number("parts", 0)) {}

  Planned Run() {
    const std::vector<std::int64_t> first = Candidates();
    if (first.empty()) {
      reason_ = fmt::format("parts: the batch of {} is not cut into {}", problem_.step->batch, told_);
      return None();
    }
    const bool one = first.size() == 1;
    PartCounts counts(first, one ? first.front() : std::min(problem_.step->batch, kMostParts));
    while (const auto parts = counts.Next()) counts.Tried(*parts, Try(*parts));
    return best_ ? Named(std::move(*best_), counts) : None();
  }

 private:
  Planned None() const {
    Planned none;
    none.reason = reason_;
    none.plan.runtime = problem_.runtime;
    return none;
  }

  // Ascending. One part is the step as it is.
  std::vector<std::int64_t> Candidates() const {
    const bool alone = problem_.in_parts == nullptr || problem_.step->inference;
    if (told_ > 0 && !(alone ? told_ == 1 : told_ <= problem_.step->batch)) return {};
    if (told_ > 0) return {told_};
    return alone ? std::vector<std::int64_t>{1} : PartsOf(problem_.step->batch, kMostParts);
  }

  // The time of the step in so many parts; nullopt: it does not fit. Where its kernels alone take no less than the fastest
  // step found it is not judged.
  std::optional<Nanos> Try(std::int64_t parts) {
    tried_.reset();
    if (parts == 1) {
      Judge(parts, *problem_.step, nullptr, problem_.capacity);
      return tried_;
    }
    const StepsInParts::InParts& in = problem_.in_parts->In(parts);
    if (best_ && beneath_.scope.LeavesNoChoice()) {
      if (KernelTime(in.all.step) >= best_time_) return PartCounts::kNotJudged;
    }
    const bool moves = Judge(parts, in.part, &in, problem_.capacity);
    if (moves) Judge(parts, in.part, &in, problem_.capacity - SumsBytes(in.part));
    return tried_;
  }

  Nanos KernelTime(const TrainingStep& step) const {
    Nanos sum = 0;
    for (const Op& op : step.ops) sum += problem_.costs->Kernel(LaunchOf(op), problem_.device).time;
    return sum;
  }

  Planned PlanPart(const TrainingStep& part, Bytes capacity) {
    Problem of_part = ProblemOf(part);
    of_part.capacity = capacity;
    Planned planned = PlanWithHeadroom(beneath_, of_part);
    evaluations_ += planned.plan.evaluations;
    return planned;
  }

  // Plans a part within `capacity`, repeats it, and keeps it if it is the fastest. Whether there is a plan that moves
  // anything, so that another capacity may give another one. `in`: nullptr, it is the step.
  bool Judge(std::int64_t parts, const TrainingStep& part, const StepsInParts::InParts* in, Bytes capacity) {
    if (capacity <= 0) return false;
    Planned planned = PlanPart(part, capacity);
    if (!planned.feasible) return Refuse(parts, planned.reason);
    const bool moves = !planned.plan.gaps.empty();
    if (in != nullptr) {
      const Planned small = in->Equal() ? planned : PlanPart(in->small, capacity);
      if (!small.feasible) return Refuse(parts, small.reason);
      planned.plan = RepeatedPlan(planned.plan, small.plan, in->all);
      if (planned.scope && small.scope) planned.scope = Union(*planned.scope, *small.scope);
    }
    const Evaluation judged = Evaluate(planned.plan, ProblemOf(in == nullptr ? part : in->all.step),
                                       {.verify = false, .bounds = false, .timeline = false});
    if (!judged.feasible) return Refuse(parts, judged.reason) || moves;
    tried_ = std::min(tried_.value_or(judged.step_time), judged.step_time);
    if (best_ && judged.step_time >= best_time_) return moves;
    best_time_ = judged.step_time;
    best_ = std::move(planned);
    return moves;
  }

  // Where none fits, the last one tried has the most parts, and needs least.
  bool Refuse(std::int64_t parts, const std::string& reason) {
    reason_ = parts == 1 ? reason : fmt::format("{}, in {} batch parts", reason, parts);
    return false;
  }

  Problem ProblemOf(const TrainingStep& step) const {
    Problem problem = problem_;
    problem.step = &step;
    problem.parameters = {};
    problem.in_parts = nullptr;
    problem.plans = nullptr;  // of other steps
    return problem;
  }

  Planned Named(Planned planned, const PartCounts& counts) const {
    Plan& plan = planned.plan;
    planned.scope = planned.scope.value_or(beneath_.scope);
    planned.scope->accumulate = plan.accumulate;
    planned.bound.reset();  // of a part
    plan.strategy = "accumulate" + problem_.parameters.Label();
    plan.capacity = problem_.capacity;
    plan.evaluations = evaluations_;
    const std::vector<std::int64_t> fit = counts.Fitting(), unfit = counts.NotFitting();
    const std::string of = fit.size() > 1 ? fmt::format(", the fastest of {}", fmt::join(fit, ", ")) : "";
    const std::string no = unfit.empty() ? "" : fmt::format(", {} not fitting", fmt::join(unfit, ", "));
    const std::string found = plan.search.empty() ? "" : ", each by " + plan.search;
    plan.search = fmt::format("{} batch part{}{}{}; {} beneath{}", plan.accumulate, plan.accumulate == 1 ? "" : "s", of,
                              no, beneath_.name, found);
    return planned;
  }

  const Problem& problem_;
  const Strategy& beneath_;
  const std::int64_t told_;  // 0: nothing
  std::int64_t evaluations_ = 0;
  std::optional<Planned> best_;
  Nanos best_time_ = 0;
  std::optional<Nanos> tried_;  // the fastest step in the parts that are being tried
  std::string reason_;
};

}  // namespace

std::string AccumulateMistake(const StrategyParameters& parameters, std::int64_t batch) {
  const std::int64_t told = parameters.Number("parts", 1);
  if (told <= batch) return "";
  return fmt::format("parts: expected at most the {} samples of the batch, found {}", batch, told);
}

Planned PlanAccumulate(const Problem& problem) { return Accumulator(problem).Run(); }

}  // namespace spillway

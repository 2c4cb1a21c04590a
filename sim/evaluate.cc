#include "sim/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <stdexcept>

#include "model/cost/kernel_form.h"
#include "model/cost/op_parts.h"
#include "sim/engine/engine_parts.h"
#include "sim/plan/tiles.h"
#include "sim/program/layout.h"
#include "sim/program/lower.h"
#include "sim/verify/verify.h"

namespace spillway {

namespace {

constexpr int kLayoutTries = 6;

// Every map on the host between its forward and its backward uses.
Plan EveryMapSwapped(const StepTables& tables, const std::vector<OpDecision>& ops) {
  Plan plan;
  plan.ops = ops;
  for (OpDecision& decision : plan.ops) {  // where they are swapped, nothing of them is streamed
    if (!HasAlgorithms(tables.step->ops[Index(decision.op)].kind)) decision.parts.clear();
    if (decision.parts.empty()) decision.tiles = {};
    decision.streamed.clear();
    decision.depth = kTilesDeep;
    decision.fused = false;
  }
  for (const TensorId map : tables.step->maps) {
    const MapGap ends = ForwardBackwardGap(*tables.step, tables.uses, map);
    if (ends.before == kNoOp) continue;
    plan.gaps.push_back({.tensor = map,
                         .after = ends.after,
                         .before = ends.before,
                         .out_after = ends.after,
                         .in_at = ends.before,
                         .reason = ""});
  }
  return plan;
}

class Evaluator {
 public:
  Evaluator(const Plan& plan, const Oracle& oracle, const EvaluateOptions& options)
      : plan_(plan),
        oracle_(oracle),
        options_(options),
        tables_(oracle.facts().tables()),
        costs_(oracle.facts().costs()),
        step_(*tables_.step),
        capacity_(oracle.capacity()) {
    assert(tables_.device == 0 && "conditions and memory curves are device 0's");
  }

  Evaluation Run() {
    if (options_.verify) MustBeAPlan();
    result_.classes = CountClasses(plan_, step_);
    if (!(IsManaged(plan_.runtime.memory) ? FaultsAreKnown() : EveryOpFits()) || !WorkspacesSuffice() ||
        !MakeProgram() || !HostHolds())
      return std::move(result_);
    if (options_.bounds) FindBounds();
    if (options_.verify) MustBeSafe();
    Simulate();
    return std::move(result_);
  }

 private:
  // Plans from files were checked when they were read; strategies are held to the same rules. Plans made on the way may be
  // without a head.
  void MustBeAPlan() const {
    for (const PlanMistake& mistake : FindMistakes(plan_, step_)) {
      if (mistake.where == PlanMistake::Where::kPlan) continue;
      throw std::logic_error(fmt::format("a plan of '{}' that is none: {}", plan_.strategy, mistake.message));
    }
  }

  void FindBounds() {
    const Scope decided = options_.scope ? ScopeOf(plan_, *options_.scope) : ScopeOf(plan_);
    result_.scope = options_.scope ? Union(*options_.scope, decided) : decided;
    result_.bounds = oracle_.BoundsIn(result_.scope);
    result_.widest = oracle_.BoundsIn(
        WidestScope(result_.scope.parts, plan_.accumulate, result_.scope.tiles.Any(), result_.scope.managed));
    // What holds for all plans holds for these; the programs look at different boundaries.
    result_.bounds.memory = std::max(result_.bounds.memory, result_.widest.memory);
    result_.bounds.instant = std::max(result_.bounds.instant, result_.widest.instant);
  }

  bool EveryOpFits() {
    const std::vector<Bytes> sets = tables_.WorkingSets(plan_.ops);
    const auto largest = std::max_element(sets.begin(), sets.end());
    const Bytes needed = *largest;
    const OpId op = static_cast<OpId>(largest - sets.begin());
    if (needed <= capacity_) return true;
    result_.worst_op = op;
    result_.smallest_limit = std::max(needed, LeastOfSwapAll());
    result_.reason =
        fmt::format("working_set: {} needs {} with everything else moved out", Name(op), FormatBytes(needed));
    return false;
  }

  // The arena in which the step runs with every map swapped and brought back no sooner than it is needed.
  Bytes LeastOfSwapAll() const {
    Lowered lowered = LowerItems(EveryMapSwapped(tables_, plan_.ops), tables_, 1);
    return PlaceBuffers(lowered.skeleton, lowered.program, 0);
  }

  // A library refuses to run an algorithm in less workspace than it asks for; it picks another one where it may.
  bool WorkspacesSuffice() {
    for (const OpDecision& decision : plan_.ops) {
      const Launch whole = LaunchOf(step_.ops[Index(decision.op)]);
      if (decision.parts.empty() && !Suffices(decision.op, whole, decision.algorithm, decision.workspace)) return false;
      if (!PartsSuffice(decision)) return false;
      const auto& again = decision.again;
      if (again && !Suffices(decision.op, whole, again->algorithm, again->workspace)) return false;
    }
    return true;
  }

  bool PartsSuffice(const OpDecision& decision) {
    if (decision.parts.empty()) return true;
    const auto launches = LaunchesOfParts(decision, step_.ops[Index(decision.op)]);
    for (std::size_t k = 0; k < launches.size(); ++k) {
      const OpPart& part = decision.parts[k];
      if (k > 1 && part == decision.parts[k - 1]) continue;  // the first one of a sum is another launch
      for (const Launch& launch : launches[k]) {
        if (!Suffices(decision.op, launch, part.algorithm, part.workspace)) return false;
      }
    }
    return true;
  }

  bool Suffices(OpId id, Launch launch, std::int32_t algorithm, Bytes granted) {
    launch.algorithm = algorithm;
    launch.workspace = granted;
    const Cost cost = costs_.Kernel(launch, tables_.device);
    if (algorithm != 0 && cost.algorithm != algorithm) return UnknownAlgorithm(id, launch);
    if (granted >= cost.workspace) return true;
    const Op& op = step_.ops[Index(id)];
    const auto [wants, has] = FormatBytesApart(cost.workspace, granted);
    result_.reason =
        fmt::format("workspace: {}{} wants {} and is granted {}", Name(id), PartText(op, launch), wants, has);
    return false;
  }

  // Of a sum the first part writes and later ones add: they may want different workspaces.
  static std::string PartText(const Op& op, const Launch& launch) {
    const bool later = launch.accumulate && !op.accumulate;
    const bool tile = launch.shape.in.c != op.shape.in.c || launch.shape.out.c != op.shape.out.c ||
                      launch.shape.out.h != op.shape.out.h;
    if (tile) {
      return fmt::format(" in a tile of {} -> {}{}", ShapeText(launch.shape.in), ShapeText(launch.shape.out),
                         later ? " that adds to those before" : "");
    }
    if (launch.shape.in.n == op.shape.in.n) return "";
    return fmt::format(" in a part of {} samples{}", launch.shape.in.n, later ? " that adds to those before" : "");
  }

  // The profile has no time for it.
  bool UnknownAlgorithm(OpId id, const Launch& launch) {
    const Op& op = step_.ops[Index(id)];
    const auto name = [&op](std::int32_t a) { return AlgorithmName(op.kind, op.pass, a); };
    std::string known;
    for (const MenuEntry& entry : costs_.Menu(launch, tables_.device)) {
      if (entry.algorithm != 0) known += fmt::format("{}{}", known.empty() ? "" : ", ", name(entry.algorithm));
    }
    result_.reason =
        fmt::format("algorithm: {} knows no time of {} for {}; it knows those of {}", costs_.machine().name,
                    name(launch.algorithm), op.name + PartText(op, launch), known.empty() ? "none" : known);
    return false;
  }

  // Unified memory: what the driver moves is all that moves, but for the batch.
  bool FaultsAreKnown() {
    const bool copies = std::any_of(plan_.gaps.begin(), plan_.gaps.end(), [this](const GapDecision& gap) {
      return gap.action == GapAction::kSwap && !step_.tensors[Index(gap.tensor)].Traits().on_host;
    });
    if (copies || ScopeOf(plan_).parts == PartScope::kStreamed) {
      result_.reason = "unified_memory: the plan copies by itself";
    } else {
      result_.reason = MissingManagedCurves(costs_, plan_.runtime.memory, tables_.device);
    }
    return result_.reason.empty();
  }

  // Addresses go on behind the device's memory.
  bool LayOutManaged() {
    Lowered lowered = LowerItems(plan_, tables_, 0);
    if (lowered.Endless()) return NoRoom(lowered);
    managed_bytes_ = PlaceBuffers(lowered.skeleton, lowered.program, 0);
    result_.peak_bytes = std::min(managed_bytes_, capacity_);
    result_.program = std::move(lowered.program);
    return true;
  }

  bool MakeProgram() {
    if (IsManaged(plan_.runtime.memory)) return LayOutManaged();
    if (plan_.runtime.memory == MemoryModel::kArena) return LayOut();
    Lowered lowered = Lower(plan_, tables_, 0);
    if (lowered.Endless()) return NoRoom(lowered);
    result_.program = std::move(lowered.program);
    return true;
  }

  // A layout needs some bytes more than are live. Where that goes beyond the capacity, the plan is lowered again with
  // less room for prefetching, so that swap-ins come later.
  bool LayOut() {
    Bytes limit = capacity_;
    for (int attempt = 0; attempt < kLayoutTries; ++attempt) {
      Lowered lowered = LowerItems(plan_, tables_, limit);
      if (lowered.list_peak > capacity_ && !lowered.Endless() && limit > 1) {
        limit = 1;  // a swap-in moved forward may change what recomputation leaves on the device: without any
        continue;
      }
      if (lowered.list_peak > capacity_) return NoRoom(lowered);
      const Bytes peak = PlaceBuffers(lowered.skeleton, lowered.program, capacity_);
      if (peak <= capacity_) {
        result_.peak_bytes = peak;
        result_.program = std::move(lowered.program);
        return true;
      }
      fragmented_peak_ = fragmented_peak_ == 0 ? peak : std::min(peak, fragmented_peak_);
      if (limit == 1) break;  // without any prefetching, there is nothing left to try
      limit = std::max<Bytes>(1, limit - std::max<Bytes>(peak - capacity_, capacity_ / 200));
    }
    return Fragmented();
  }

  bool NoRoom(const Lowered& lowered) {
    if (lowered.Endless()) {
      result_.reason = fmt::format("recomputation: before {} more than {} times all ops have run again",
                                   Name(lowered.op), kRecomputeLimit);
      return false;
    }
    result_.reason =
        fmt::format("out_of_memory: the plan needs {} at {}", FormatBytes(lowered.list_peak), Name(lowered.op));
    return false;
  }

  bool Fragmented() {
    result_.smallest_limit = fragmented_peak_;
    result_.reason = fmt::format("fragmentation: no layout below {} found", FormatBytes(fragmented_peak_));
    return false;
  }

  bool HostHolds() {
    const HostNode& host = costs_.machine().hosts[Index(tables_.host)];
    const bool pinned = !IsManaged(plan_.runtime.memory) && host.pinned_limit > 0;
    const Bytes limit = pinned ? host.pinned_limit : host.memory;
    result_.host_peak_bytes = HostBytes() + std::max<Bytes>(0, managed_bytes_ - capacity_);
    if (result_.host_peak_bytes <= limit) return true;
    const auto [wanted, there] = FormatBytesApart(result_.host_peak_bytes, limit);
    result_.reason = fmt::format("host_memory: {} of pinned memory on {}, which has {}", wanted, host.name, there);
    return false;
  }

  // The batch lies there as it is, what was copied out by the runtime's share.
  Bytes HostBytes() const {
    Bytes out = 0;
    for (const Buffer& buffer : result_.program.buffers) {
      const bool copied_out = buffer.kind == BufferKind::kHost && !step_.tensors[Index(buffer.tensor)].Traits().on_host;
      out += copied_out ? buffer.bytes : 0;
    }
    return result_.program.HostBytes() - out + (out * plan_.runtime.host_percent + 99) / 100;
  }

  void MustBeSafe() const {
    const std::vector<Violation> violations = Verify(result_.program, &step_);
    if (violations.empty()) return;
    throw std::logic_error(fmt::format("unsafe program for plan '{}': instruction {}: {}", plan_.strategy,
                                       violations[0].instruction, violations[0].message));
  }

  void Simulate() {
    const Program& program = result_.program;
    const std::vector<Nanos> durations = Durations(program, costs_);
    const Conditions conditions = ConditionsOf(program, costs_, plan_.runtime, capacity_);
    Scratch scratch;
    std::vector<Nanos> with_faults = durations;
    if (IsManaged(plan_.runtime.memory)) {
      result_.faults = FaultsOf(program, costs_, plan_.runtime.memory, capacity_, tables_.device);
      result_.fault_time = result_.faults.AddTo(with_faults, 0);
      result_.bytes_in += result_.faults.in;
      result_.bytes_out += result_.faults.out;
    }
    const Simulated simulated =
        spillway::Simulate(program, with_faults, conditions, scratch, options_.timeline ? &result_.timeline : nullptr);
    if (!simulated.completed) {
      result_.reason =
          fmt::format("out_of_memory: {} in use and {} more wanted at {}", FormatBytes(simulated.failed_live),
                      FormatBytes(WantedAt(simulated.failed_at)), Name(OpAt(simulated.failed_at)));
      return;
    }
    result_.feasible = true;
    result_.step_time = simulated.makespan;
    const bool managed = IsManaged(plan_.runtime.memory);
    result_.live_peak_bytes = managed ? std::min(simulated.live_peak, capacity_) : simulated.live_peak;
    if (!program.arena) result_.peak_bytes = simulated.live_peak;
    CountWork(durations);
    if (!options_.timeline) return;
    CountStalls();
    result_.timeline.changes = MemoryChanges(program, scratch);
    result_.memory_by_class = MemoryByClassAtPeak(program, step_, result_.timeline.changes);
    result_.mean_by_class = MeanMemoryByClass(program, step_, result_.timeline.changes, simulated.makespan);
  }

  Bytes WantedAt(std::uint32_t alloc) const { return result_.program.buffers[result_.program.code[alloc].arg].bytes; }

  // The next kernel in the list: what an allocation is for.
  OpId OpAt(std::uint32_t instruction) const {
    const Program& program = result_.program;
    for (std::size_t i = instruction; i < program.code.size(); ++i) {
      if (program.code[i].opcode == Opcode::kKernel) return program.kernels[program.code[i].arg].op;
    }
    return kNoOp;
  }

  std::string Name(OpId op) const { return op == kNoOp ? "the end of the step" : step_.ops[Index(op)].name; }

  void CountWork(const std::vector<Nanos>& durations) {
    const Program& program = result_.program;
    for (std::size_t i = 0; i < program.code.size(); ++i) {
      const Instruction& in = program.code[i];
      if (in.opcode == Opcode::kKernel) {
        result_.compute_time += durations[i];
        if (program.kernels[in.arg].recomputation) result_.recompute_time += durations[i];
      } else if (in.opcode == Opcode::kCopy) {
        const Copy& copy = program.copies[in.arg];
        (copy.direction == Direction::kDeviceToHost ? result_.bytes_out : result_.bytes_in) += copy.bytes;
      }
    }
  }

  void CountStalls() {
    const auto stall = [this](Cause cause) { return result_.timeline.stall[static_cast<std::size_t>(cause)]; };
    result_.stall_out = stall(Cause::kSwapOut);
    result_.stall_in = stall(Cause::kSwapIn);
    result_.stall_host = result_.timeline.host_stall + stall(Cause::kBarrier);
  }

  const Plan& plan_;
  const Oracle& oracle_;
  const EvaluateOptions& options_;
  const StepTables& tables_;
  const CostModel& costs_;
  const TrainingStep& step_;
  const Bytes capacity_;
  Evaluation result_;
  Bytes fragmented_peak_ = 0;
  Bytes managed_bytes_ = 0;  // of unified memory: all there is
};

}  // namespace

StepFacts::StepFacts(const TrainingStep& step, const CostModel& costs, int device)
    : costs_(&costs), tables_(step, costs, device) {}

const LaunchMenus& StepFacts::menus() const {
  std::call_once(once_, [this] { menus_ = MenusOf(tables_, *costs_); });
  return menus_;
}

const LaunchPartRates& StepFacts::part_rates(PartScope parts, const TileCounts& tiles) const {
  const std::lock_guard lock(rates_mutex_);  // who asks for the same waits for it
  for (const Rates& known : rates_) {
    if (known.parts == parts && known.tiles == tiles) return known.rates;
  }
  rates_.push_back({parts, tiles, PartRatesOf(tables_, *costs_, parts, tiles)});
  return rates_.back().rates;
}

Oracle::Oracle(std::shared_ptr<const StepFacts> facts, Bytes capacity)
    : facts_(std::move(facts)), capacity_(capacity) {}

Oracle::Oracle(const Problem& problem)
    : Oracle(std::make_shared<const StepFacts>(*problem.step, *problem.costs, problem.device), problem.capacity) {}

Evaluation Oracle::Evaluate(const Plan& plan, const EvaluateOptions& options) const {
  return Evaluator(plan, *this, options).Run();
}

Bounds Oracle::BoundsIn(const Scope& scope) const {
  const std::lock_guard lock(mutex_);  // who asks for the same waits for it
  for (const auto& [known, bounds] : bounds_) {
    if (known == scope) return bounds;
  }
  static const LaunchMenus kNoMenus;
  bounds_.emplace_back(
      scope, LowerBounds(facts_->tables(), facts_->costs(), scope.LeavesNoChoice() ? kNoMenus : facts_->menus(),
                         facts_->part_rates(scope.parts, scope.tiles), capacity_, scope));
  return bounds_.back().second;
}

Evaluation Evaluate(const Plan& plan, const Problem& problem, const EvaluateOptions& options) {
  return Oracle(problem).Evaluate(plan, options);
}

}  // namespace spillway

// From a plan to its figures, and the facts that all plans of a step share: each made when first asked for, and kept.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <stdexcept>

#include "model/step/launch.h"
#include "sim/engine/engine_internal.h"
#include "sim/evaluate/compile.h"
#include "sim/evaluate/oracle.h"
#include "sim/plan/carried.h"
#include "sim/verify/verify.h"

namespace spillway {

namespace {

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
    if (!FrameworkObeys()) return std::move(result_);
    if (!(IsManaged(plan_.runtime.memory) ? FaultsAreKnown() : EveryOpFits()) || !EveryLaunchRuns() || !MakeProgram() ||
        !HostHolds())
      return std::move(result_);
    if (options_.bounds) FindBounds();
    if (options_.verify) MustBeSafe();
    Simulate();
    while (room_ < kEndlessBytes && !result_.feasible && MakeProgram() && HostHolds()) {
      if (options_.verify) MustBeSafe();
      Simulate();
    }
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
    result_.widest = oracle_.BoundsIn(WidestLike(result_.scope));
    // What holds for all plans holds for these; the programs look at different boundaries.
    result_.bounds.memory = std::max(result_.bounds.memory, result_.widest.memory);
    result_.bounds.instant = std::max(result_.bounds.instant, result_.widest.instant);
  }

  bool FrameworkObeys() {
    const std::string why = NotCarried(plan_.runtime.gaps, plan_, step_);
    if (!why.empty()) result_.reason = "not_carried: the runtime cannot obey: " + why;
    return why.empty();
  }

  bool EveryOpFits() { return Take(CheckWorkingSets(plan_, tables_, capacity_)); }

  bool EveryLaunchRuns() {
    result_.reason = UnsupportedLaunch(plan_, tables_, costs_);
    return result_.reason.empty();
  }

  bool MakeProgram() { return Take(CompileWithin(plan_, tables_, capacity_, std::exchange(room_, kEndlessBytes))); }

  bool Take(CompiledPlan room) {
    result_.reason = std::move(room.reason);
    result_.worst_op = room.worst_op;
    result_.smallest_limit = room.smallest_limit;
    result_.program = std::move(room.program);
    result_.peak_bytes = room.peak_bytes;
    managed_bytes_ = room.managed_bytes;
    return result_.reason.empty();
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
    const std::vector<Violation> violations = Verify(result_.program, &step_, capacity_);
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
      room_ = LessRoom(simulated);
      result_.reason =
          fmt::format("out_of_memory: {} in use and {} more wanted at {}", FormatBytes(simulated.failed_live),
                      FormatBytes(WantedAt(simulated.failed_at)), NameOfOp(step_, OpAt(simulated.failed_at)));
      return;
    }
    result_.feasible = true;
    result_.step_time = simulated.makespan;
    const bool managed = IsManaged(plan_.runtime.memory);
    result_.live_peak_bytes = managed ? std::min(simulated.live_peak, capacity_) : simulated.live_peak;
    if (program.memory == ProgramMemory::kPool) result_.peak_bytes = simulated.live_peak;
    CountWork(durations);
    if (!options_.timeline) return;
    CountStalls();
    result_.timeline.changes = MemoryChanges(program, scratch);
    result_.memory_by_class = MemoryByClassAtPeak(program, step_, result_.timeline.changes);
    result_.mean_by_class = MeanMemoryByClass(program, step_, result_.timeline.changes, simulated.makespan);
  }

  // A pool failed to give an op the workspace of the library's choice: the library takes the next algorithm, where more
  // than so much would be live. kEndlessBytes: nothing of that kind is left.
  Bytes LessRoom(const Simulated& failed) {
    const Program& program = result_.program;
    const bool workspace = program.buffers[program.code[failed.failed_at].arg].kind == BufferKind::kWorkspace;
    const Bytes room = std::min(capacity_, failed.failed_live + WantedAt(failed.failed_at) - kAllocationUnit);
    if (!workspace || room >= least_room_) return kEndlessBytes;
    return least_room_ = room;
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
  Bytes room_ = kEndlessBytes;        // of the next program (CompileWithin); kEndlessBytes: there is none to try
  Bytes least_room_ = kEndlessBytes;  // so far
  Bytes managed_bytes_ = 0;           // of unified memory: all there is
};

}  // namespace

Evaluation Oracle::Evaluate(const Plan& plan, const EvaluateOptions& options) const {
  return Evaluator(plan, *this, options).Run();
}

StepFacts::StepFacts(const TrainingStep& step, const CostModel& costs, int device, Bytes capacity)
    : costs_(&costs), tables_(step, costs, device, capacity) {}

const LaunchMenus& StepFacts::menus() const {
  std::call_once(menus_once_, [this] { menus_ = MenusOf(tables_, *costs_); });
  return menus_;
}

const LaunchPartRates& StepFacts::part_rates(PartScope parts, const TileCounts& tiles) const {
  return rates_.Ref({parts, tiles}, [&] { return PartRatesOf(tables_, *costs_, parts, tiles); });
}

Oracle::Oracle(std::shared_ptr<const StepFacts> facts, Bytes capacity)
    : facts_(std::move(facts)), capacity_(capacity) {}

Bounds Oracle::BoundsIn(const Scope& scope) const {
  static const LaunchMenus kNoMenus;
  return bounds_.Get(scope, [&] {
    return LowerBounds(facts_->tables(), facts_->costs(), scope.LeavesNoChoice() ? kNoMenus : facts_->menus(),
                       facts_->part_rates(scope.parts, scope.tiles), capacity_, scope);
  });
}

}  // namespace spillway

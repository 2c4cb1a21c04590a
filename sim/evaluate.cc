#include "sim/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <stdexcept>

#include "sim/engine/engine_parts.h"
#include "sim/program/lower.h"
#include "sim/program/synchronise.h"
#include "sim/verify/verify.h"

namespace spillway {

namespace {

constexpr int kLayoutTries = 6;

class Evaluator {
 public:
  Evaluator(const Plan& plan, const Problem& problem, const EvaluateOptions& options)
      : plan_(plan),
        problem_(problem),
        options_(options),
        step_(*problem.step),
        tables_(step_, *problem.costs, problem.device) {
    assert(problem.device == 0 && "conditions and memory curves are device 0's");
  }

  Evaluation Run() {
    result_.classes = CountClasses(plan_, step_);
    if (options_.bounds) {
      result_.bounds =
          LowerBounds(step_, *problem_.costs, problem_.capacity, plan_.runtime.copy_streams, problem_.device);
    }
    if (!EveryOpFits() || !WorkspacesSuffice() || !MakeProgram() || !HostHolds()) return std::move(result_);
    if (options_.verify) MustBeSafe();
    Simulate();
    return std::move(result_);
  }

 private:
  bool EveryOpFits() {
    const OpId op = tables_.LargestWorkingSet();
    const Bytes needed = tables_.WorkingSet(op);
    if (needed <= problem_.capacity) return true;
    result_.worst_op = op;
    result_.smallest_limit = std::max(needed, LeastOfSwapAll());
    result_.reason =
        fmt::format("working_set: {} needs {} with everything else moved out", Name(op), FormatBytes(needed));
    return false;
  }

  // The arena in which the step runs with every map swapped and brought back no sooner than it is needed.
  Bytes LeastOfSwapAll() const {
    Problem ample = problem_;
    ample.capacity = std::numeric_limits<Bytes>::max() / 4;
    ample.use_runtime = true;
    ample.runtime = Runtime{};
    Lowered lowered = Lower(StrategyByName("swap-all").plan(ample).plan, tables_, 1);
    return PlaceBuffers(lowered.program);
  }

  // A library refuses to run an algorithm in less workspace than it asks for; it picks another one where it may.
  bool WorkspacesSuffice() {
    for (const OpDecision& decision : plan_.ops) {
      Launch launch = LaunchOf(step_.ops[Index(decision.op)]);
      launch.algorithm = decision.algorithm;
      launch.workspace = decision.workspace;
      const Bytes wanted = problem_.costs->Kernel(launch, problem_.device).workspace;
      if (decision.workspace >= wanted) continue;
      const auto [wants, granted] = FormatBytesApart(wanted, decision.workspace);
      result_.reason = fmt::format("workspace: {} wants {} and is granted {}", Name(decision.op), wants, granted);
      return false;
    }
    return true;
  }

  bool MakeProgram() {
    if (plan_.runtime.memory == MemoryModel::kArena) return LayOut();
    result_.program = Lower(plan_, tables_, 0).program;
    return true;
  }

  // A layout needs some bytes more than are live. Where that goes beyond the capacity, the plan is lowered again with
  // less room for prefetching, so that swap-ins come later.
  bool LayOut() {
    Bytes limit = problem_.capacity;
    for (int attempt = 0; attempt < kLayoutTries; ++attempt) {
      Lowered lowered = Lower(plan_, tables_, limit);
      if (lowered.list_peak > problem_.capacity && limit > 1) {
        limit = 1;  // a swap-in moved forward may change what recomputation leaves on the device: without any
        continue;
      }
      if (lowered.list_peak > problem_.capacity) return NoRoom(lowered);
      const Bytes peak = PlaceBuffers(lowered.program, problem_.capacity);
      if (peak <= problem_.capacity) {
        result_.peak_bytes = peak;
        result_.program = std::move(lowered.program);
        return true;
      }
      fragmented_peak_ = fragmented_peak_ == 0 ? peak : std::min(peak, fragmented_peak_);
      limit = std::max<Bytes>(1, limit - std::max<Bytes>(peak - problem_.capacity, problem_.capacity / 200));
    }
    return Fragmented();
  }

  bool NoRoom(const Lowered& lowered) {
    result_.reason =
        fmt::format("out_of_memory: the plan needs {} at {}", FormatBytes(lowered.list_peak), Name(lowered.op));
    return false;
  }

  bool Fragmented() {
    result_.reason = fmt::format("fragmentation: no layout below {} found", FormatBytes(fragmented_peak_));
    return false;
  }

  bool HostHolds() {
    const HostNode& host = problem_.costs->machine().hosts[Index(tables_.host)];
    const Bytes limit = host.pinned_limit > 0 ? host.pinned_limit : host.memory;
    result_.host_peak_bytes = result_.program.HostBytes();
    if (result_.host_peak_bytes <= limit) return true;
    const auto [wanted, there] = FormatBytesApart(result_.host_peak_bytes, limit);
    result_.reason = fmt::format("host_memory: {} of pinned memory on {}, which has {}", wanted, host.name, there);
    return false;
  }

  void MustBeSafe() const {
    const std::vector<Violation> violations = Verify(result_.program, &step_);
    if (violations.empty()) return;
    throw std::logic_error(fmt::format("unsafe program for plan '{}': instruction {}: {}", plan_.strategy,
                                       violations[0].instruction, violations[0].message));
  }

  void Simulate() {
    const Program& program = result_.program;
    const std::vector<Nanos> durations = Durations(program, *problem_.costs);
    const Conditions conditions = ConditionsOf(program, *problem_.costs, plan_.runtime, problem_.capacity);
    Scratch scratch;
    const Simulated simulated =
        spillway::Simulate(program, durations, conditions, scratch, options_.timeline ? &result_.timeline : nullptr);
    if (!simulated.completed) {
      result_.reason =
          fmt::format("out_of_memory: {} in use and {} more wanted at {}", FormatBytes(simulated.failed_live),
                      FormatBytes(WantedAt(simulated.failed_at)), Name(OpAt(simulated.failed_at)));
      return;
    }
    result_.feasible = true;
    result_.step_time = simulated.makespan;
    result_.live_peak_bytes = simulated.live_peak;
    if (!program.arena) result_.peak_bytes = simulated.live_peak;
    CountWork(durations);
    if (!options_.timeline) return;
    CountStalls();
    result_.memory_by_class = MemoryByClassAtPeak(program, step_, scratch);
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
  const Problem& problem_;
  const EvaluateOptions& options_;
  const TrainingStep& step_;
  StepTables tables_;
  Evaluation result_;
  Bytes fragmented_peak_ = 0;
};

}  // namespace

Evaluation Evaluate(const Plan& plan, const Problem& problem, const EvaluateOptions& options) {
  return Evaluator(plan, problem, options).Run();
}

}  // namespace spillway

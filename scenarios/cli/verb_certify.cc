// spillway certify: a plan and its bound, checked by other code than made them. The plan by the rules of plans and the proof
// of its Program (sim/verify), the bound by sim/certify.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "scenarios/cli/command.h"
#include "scenarios/cli/scenario_options.h"
#include "scenarios/run/run.h"
#include "sim/bounds/claimed_bound.h"
#include "sim/certify/certificate.h"

namespace spillway {

namespace {

// Where a plan does not run: whether any of its kind can. In more batch parts, or in unified memory, another one may.
ExitCode SayWhy(const PreparedRun& run, const ResultRow& row, Console& console) {
  const Point& point = run.points.front();
  const std::int64_t parts = point.plan->accumulate;
  const TrainingStep step = StepOfPlan(*StepOf(run, point.step), parts);
  const CostModel& costs = *run.machines[point.machine]->costs;
  NoRoomCertificate none = MostNeeded(step, costs, row.memory_limit, 0, true);
  if (!Holds(step, costs, none)) none = MostNeeded(step, costs, row.memory_limit);
  if (!Holds(step, costs, none)) return kExitNothingFits;
  const auto [needed, there] = FormatBytesApart(none.needed, none.capacity);
  console.out << fmt::format(
      "no plan of whole ops, {}{}, fits in an arena or a pool: {} alone takes {} with what stays on the device and its "
      "least workspace, {} are there\n",
      parts == 1 ? "of the whole batch" : fmt::format("in {} batch parts", parts),
      none.states_leave ? "" : ", with parameters and states on the device between steps",
      step.ops[Index(none.op)].name, needed, there);
  return kExitNothingFits;
}

// By what a certificate fails; "": it holds.
std::string FaultOf(const BoundCertificate& c, const PointResult& result, Nanos proven) {
  if (c.capacity != result.row.memory_limit) {
    const auto [meant, there] = FormatBytesApart(c.capacity, result.row.memory_limit);
    return fmt::format("it is for {}, and {} are there", meant, there);
  }
  if (!Holds(c.scope, ScopeOf(result.plan, c.scope))) return "the plan is not in its scope, " + c.scope.Text();
  if (c.bound > proven)
    return fmt::format("{} proves {}, not {}", c.op == kNoOp ? "the work" : "its instant", FormatDurationExact(proven),
                       FormatDurationExact(c.bound));
  if (c.bound > result.row.times.step) return "the plan takes less";
  return "";
}

class CertifyCommand : public Command {
 public:
  void Declare(Options& options) override {
    scenarios_.DeclareFiles(options);
    options
        .Text("--plan", scenarios_.overrides.plan, "the plan; its certificate is PLAN.certificate in the same folder")
        .Required();
    scenarios_.DeclareOverrides(options);
  }
  ExitCode Run(Console& console) const override;

 private:
  ScenarioOptions scenarios_;
};

ExitCode CertifyCommand::Run(Console& console) const {
  const std::string file = scenarios_.overrides.plan + ".certificate";
  if (scenarios_.overrides.plan.empty())
    throw UserError("certify: expected --plan PLAN, as `spillway plan -o PLAN` wrote it");
  const PreparedRun run = scenarios_.Prepare(console);
  MustBeOnePlace(run, "certify");
  const std::optional<PointResult> result = BestOf(run, 1, console);
  if (!result) return SayWhy(run, run.points.front().row, console);
  const ResultRow& row = result->row;
  console.out << fmt::format("plan: proved safe, computes the step; takes {}, {} of {}\n",
                             FormatDuration(row.times.step), FormatBytes(row.memory.peak),
                             FormatBytes(row.memory_limit));
  if (!std::filesystem::exists(file)) {
    console.out << fmt::format("bound: none certified ({} is not there)\n", file);
    return kExitExpectationFailed;
  }
  const BoundCertificate certificate = ParseCertificate(LoadDocument(file), result->step->step);
  const CostModel& costs = *run.machines[run.points.front().machine]->costs;
  const Nanos proven = ProvenBound(result->step->step, costs, certificate);
  const std::string fault = FaultOf(certificate, *result, proven);
  const std::string by =
      certificate.op == kNoOp ? "the work" : "the instant before " + result->step->step.ops[Index(certificate.op)].name;
  console.out << fmt::format("bound: {} by {}, {}; {}\n", FormatDuration(certificate.bound), by,
                             certificate.scope.Text(), fault.empty() ? "holds" : "does not hold: " + fault);
  if (!fault.empty()) return kExitExpectationFailed;
  console.out << fmt::format(
      "gap: {:.2f} %\n", 100.0 * (static_cast<double>(row.times.step) / static_cast<double>(certificate.bound) - 1));
  return kExitDone;
}

}  // namespace

Verb CertifyVerb() {
  return {.name = "certify",
          .description = "check a plan and its lower bound, by code independent of the planner",
          .examples = {"spillway certify my.yaml --plan plan.yaml"},
          .exits = {kDoneExit, {kExitExpectationFailed, "the certificate does not hold"}, kWrongExit, kNothingFitsExit},
          .make = MakeCommand<CertifyCommand>};
}

}  // namespace spillway

// spillway claims: the ledger of what published systems claim, from the scenarios of scenarios/claims/table.inc.
#include <fmt/format.h>

#include <filesystem>

#include "hw/text/lists.h"
#include "reports/rows/expectation.h"
#include "reports/tables/tables.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/scenario_options.h"
#include "scenarios/output/interrupts.h"
#include "scenarios/run/run.h"

namespace spillway {

namespace {

struct ClaimedSystem {
  const char* name;
  const char* paper;
  std::vector<const char*> scenarios;
};

const std::vector<ClaimedSystem>& ClaimedSystems() {
#define CLAIMS(NAME, PAPER, ...) {NAME, PAPER, {__VA_ARGS__}},
  static const std::vector<ClaimedSystem> kTable = {
#include "scenarios/claims/table.inc"
  };
#undef CLAIMS
  return kTable;
}

// The scenarios that come with Spillway lie beside its machines.
std::string ShippedScenario(const char* name) {
  return (std::filesystem::path(MachineFolder()).parent_path() / "scenarios" / name).string();
}

// Nothing when it was interrupted; else whether every gate holds.
std::optional<bool> ShowClaims(const ClaimedSystem& system, ScenarioOptions scenarios, Console& console,
                               const std::function<bool()>& stop) {
  for (const char* scenario : system.scenarios) scenarios.files.push_back(ShippedScenario(scenario));
  PreparedRun run = scenarios.Prepare(false);
  run.bounds = false;  // no claim is about them
  std::vector<ResultRow> rows;
  {
    Progress progress(console, "point", run.points.size());
    const auto sink = [&](const Point&, PointResult& result) {
      rows.push_back(std::move(result.row));
      progress.Step();
    };
    const auto waiting = [&] {
      progress.Wait();
      return stop && stop();
    };
    if (!RunPoints(run, scenarios.Threads(), sink, 0, waiting)) return std::nullopt;
  }
  const std::vector<Verdict> verdicts = Judge(rows, run.expectations);
  console.out << fmt::format("{} ({})\n", system.name, system.paper) << ClaimsTable(verdicts) << "\n";
  return std::none_of(verdicts.begin(), verdicts.end(), FailsGate);
}

class ClaimsCommand : public Command {
 public:
  void Declare(Options& options) override {
    options.Text("SYSTEM", name_, "one system, e.g. vdnn (default: all)").Offer([] {
      return NamesOf(ClaimedSystems());
    });
    threads_.DeclareJobs(options);
    options.Flag("--check", check_, "exit with 1 if a claim with `within` or `required` does not hold");
  }
  ExitCode Run(Console& console) const override;

 private:
  std::string name_;
  ScenarioOptions threads_;  // without files
  bool check_ = false;
};

ExitCode ClaimsCommand::Run(Console& console) const {
  Interrupts interrupts;  // before there are threads
  const std::function<bool()> stop = StopBetweenPoints(interrupts, console.err);
  const std::vector<std::string> names = NamesOf(ClaimedSystems());
  if (!name_.empty() && !Contains(names, name_)) {
    throw UserError(fmt::format("claims: no system '{}'; those with claims are {}{}", name_, fmt::join(names, ", "),
                                DidYouMean(name_, names)));
  }
  bool hold = true;
  for (const ClaimedSystem& system : ClaimedSystems()) {
    if (!name_.empty() && name_ != system.name) continue;
    const std::optional<bool> all = ShowClaims(system, threads_, console, stop);
    if (!all) {
      console.err << "interrupted; claims keeps nothing\n";
      return kExitInterrupted;
    }
    hold = hold && *all;
  }
  console.out << "80 %: from the cost model's errors alone, over draws that both sides of a ratio share; nothing here "
                 "was fitted "
                 "to a claim\n";
  return check_ && !hold ? kExitExpectationFailed : kExitDone;
}

}  // namespace

Verb ClaimsVerb() {
  return {.name = "claims",
          .description = "compare published claims about each system with Spillway's results",
          .examples = {"spillway claims", "spillway claims vdnn"},
          .exits = {kDoneExit,
                    {kExitExpectationFailed, "--check: a claim with `within` or `required` does not hold"},
                    kWrongExit,
                    {kExitInterrupted, "interrupted; nothing is kept"}},
          .make = MakeCommand<ClaimsCommand>};
}

}  // namespace spillway

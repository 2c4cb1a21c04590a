// spillway claims: the ledger of what published systems claim, from the scenarios of scenarios/claims/table.inc.
#include <fmt/format.h>

#include <filesystem>

#include "hw/text/lists.h"
#include "reports/rows/expectation.h"
#include "reports/tables/expectation_table.h"
#include "scenarios/cli/command.h"
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
std::optional<bool> ShowClaims(const ClaimedSystem& system, Command command, Console& console,
                               const std::function<bool()>& stop) {
  command.files.clear();
  for (const char* scenario : system.scenarios) command.files.push_back(ShippedScenario(scenario));
  PreparedRun run = PrepareCommand(command, false);
  run.bounds = false;  // no claim is about them
  std::vector<ResultRow> rows;
  {
    Progress progress(console, "point", run.points.size());
    const auto sink = [&](const Point&, PointResult& result) {
      rows.push_back(std::move(result.row));
      progress.Step();
    };
    if (!RunPoints(run, JobsOf(command), sink, 0, stop)) return std::nullopt;
  }
  const std::vector<Verdict> verdicts = Judge(rows, run.expectations);
  console.out << fmt::format("{} ({})\n", system.name, system.paper) << ClaimsTable(verdicts) << "\n";
  return std::none_of(verdicts.begin(), verdicts.end(), FailsGate);
}

}  // namespace

ExitCode ClaimsVerb(const Command& command, Console& console) {
  Interrupts interrupts;  // before there are threads
  const std::function<bool()> stop = StopBetweenPoints(interrupts, console.err);
  const std::vector<std::string> names = NamesOf(ClaimedSystems());
  if (!command.name.empty() && !Contains(names, command.name)) {
    throw UserError(fmt::format("claims: no system '{}'; those with claims are {}{}", command.name,
                                fmt::join(names, ", "), DidYouMean(command.name, names)));
  }
  bool hold = true;
  for (const ClaimedSystem& system : ClaimedSystems()) {
    if (!command.name.empty() && command.name != system.name) continue;
    const std::optional<bool> all = ShowClaims(system, command, console, stop);
    if (!all) {
      console.err << "interrupted; claims keeps nothing\n";
      return kExitInterrupted;
    }
    hold = hold && *all;
  }
  console.out << "80 %: from the cost model's errors alone, over draws that both sides of a ratio share; nothing here "
                 "was fitted "
                 "to a claim\n";
  return command.check && !hold ? kExitExpectationFailed : kExitDone;
}

}  // namespace spillway

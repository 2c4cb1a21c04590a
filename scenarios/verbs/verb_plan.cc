// spillway plan: the best plan of one point, as a file that can be edited and run.
#include <fmt/format.h>

#include "scenarios/run/run.h"

namespace spillway {

ExitCode PlanVerb(const Command& command, Console& console) {
  const PreparedRun run = PrepareCommand(command, false);
  MustBeOnePlace(run, "plan");
  const std::optional<PointResult> best = BestOf(run, JobsOf(command), console);
  if (!best) return kExitNothingFits;
  WriteText(command.out, PlanToYaml(best->plan, best->step->step), console);
  if (!command.out.empty() && command.out != "-") {
    console.err << fmt::format("{}: {} with {:.1f} images/s\n", command.out, best->row.strategy,
                               best->row.SamplesPerSecond());
  }
  return kExitDone;
}

}  // namespace spillway

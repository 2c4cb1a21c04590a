#include "scenarios/run/run_identity.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <set>
#include <vector>

#include "model/util/hash.h"
#include "scenarios/output/output_folder.h"

namespace spillway {

namespace {

std::string RuntimeText(const Runtime& runtime) {
  const auto& [copy_streams, memory, barrier, host_syncs, framework_time, copy_chunk, pool, blocking_copies,
               swap_in_waits, collection_time, backward_units, part_waits, workspaces, host_percent, gaps] = runtime;
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", copy_streams, static_cast<int>(memory),
                     static_cast<int>(barrier), static_cast<int>(host_syncs), framework_time, copy_chunk,
                     static_cast<int>(pool), static_cast<int>(blocking_copies), static_cast<int>(swap_in_waits),
                     collection_time, static_cast<int>(backward_units), static_cast<int>(part_waits),
                     static_cast<int>(workspaces), host_percent, static_cast<int>(gaps));
}

std::string PointsText(const PreparedRun& run) {
  std::string text;
  for (const Point& point : run.points) {
    const ResultRow& row = point.row;
    // A plan's row is called by its file; whose plan it is, `point` has too.
    const std::string strategy = point.plan == nullptr ? row.strategy : "";
    text += fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}\n", row.point, row.scenario, row.network, row.batch, row.machine,
                        row.memory_limit, strategy, run.machines[point.planned_on]->label, point.planned_capacity,
                        point.use_runtime ? RuntimeText(point.runtime) : "");
  }
  return text;
}

std::string NetworksText(const PreparedRun& run) {
  std::string text;
  for (const auto& step : run.steps) text += fmt::format("{} {:016x}\n", step->network, step->digest);
  return text;
}

// The text of a profile names the one that taught its models; here they stand as they were found there.
std::string AllOf(Machine machine) {
  for (Device& device : machine.devices) device.models_from.clear();
  return MachineToYaml(machine);
}

// A digest for each: of thousands of machines the texts would be a gigabyte.
std::string MachinesText(const PreparedRun& run) {
  std::string text;
  for (const auto& machine : run.machines) {
    const CostOptions& options = machine->costs->options();
    text += fmt::format("{} {} {} {} {}\n", machine->label, options.workspace_limit, options.compute_slowdown,
                        static_cast<int>(options.large_calls), ContentDigest(AllOf(machine->machine)));
  }
  return text;
}

std::string PlansText(const PreparedRun& run) {
  std::string text;
  std::set<const Plan*> seen;
  for (const Point& point : run.points) {
    if (point.plan == nullptr || !seen.insert(point.plan.get()).second) continue;
    text += ContentDigest(PlanToYaml(*point.plan, StepOfPlan(*StepOf(run, point.step), point.plan->accumulate)));
  }
  return text;
}

}  // namespace

// Eight bytes at a time: a program has many megabytes.
std::string FileDigest(const std::string& path) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::ifstream file(path, std::ios::binary);
  Hasher hash;
  std::uint64_t size = 0;
  for (std::vector<char> bytes(kPiece); file;) {
    file.read(bytes.data(), kPiece);
    const auto count = static_cast<std::size_t>(file.gcount());
    std::memset(bytes.data() + count, 0, kPiece - count);
    for (std::size_t at = 0; at < count; at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, sizeof word);
      hash.Add(word);
    }
    size += count;
  }
  return size == 0 ? "unknown" : fmt::format("{:016x}", hash.Add(size).Value());
}

const std::string& ProgramDigest() {
  static const std::string digest = FileDigest("/proc/self/exe");
  return digest;
}

RunDigests DigestsOf(const PreparedRun& run) {
  return {.points = ContentDigest(PointsText(run)),
          .networks = ContentDigest(NetworksText(run)),
          .machines = ContentDigest(MachinesText(run)),
          .plans = ContentDigest(PlansText(run))};
}

JournalHead IdentityOf(const PreparedRun& run, const std::string& version, const std::string& command) {
  const RunDigests digests = DigestsOf(run);
  return {.version = version,
          .command = command,
          .points = run.points.size(),
          .digests = {{"the points", digests.points},
                      {"the networks", digests.networks},
                      {"the machines", digests.machines},
                      {"the plan", digests.plans},
                      {"the build of spillway", ProgramDigest()}}};
}

}  // namespace spillway

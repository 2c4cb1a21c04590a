// Parts of Prepare: steps, machines with a scenario's changes, a given plan. Private to prepare.cc.
#ifndef SPILLWAY_SCENARIOS_RUN_PREPARE_INTERNAL_H_
#define SPILLWAY_SCENARIOS_RUN_PREPARE_INTERNAL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/profile/machine.h"
#include "scenarios/file/scenario.h"
#include "scenarios/run/prepare.h"

namespace spillway {

// ---- From a network as a scenario names it to a step: the part of Prepare that is done again where steps are not
// kept.

// Reads the file that the choice names, if it names one. UserError: it cannot be read, or the zoo cannot build it.
std::shared_ptr<NetworkSource> SourceOf(const NetworkChoice& choice);

// Of all networks of a scenario. Those of different files that have one name are told apart by their files.
std::vector<std::shared_ptr<NetworkSource>> SourcesOf(const std::vector<NetworkChoice>& choices);

// `keep`: with network and ops; otherwise they are built, to see that they can be, and dropped.
std::unique_ptr<PreparedStep> PrepareStep(const std::shared_ptr<const NetworkSource>& source,
                                          const std::string& options, std::int64_t batch, bool keep);

// ---- A machine as a scenario changes it: another link, a paced one, another connection to the host. What is changed
// says so in its source or in the machine's notes.

// The machine with one rate for both directions of every link, latencies kept; marked as assumed. A rate that a
// scenario states is no other host's: Link::host_error is 0.
Machine WithLinkRate(Machine machine, double bytes_per_nanosecond);

// The machine with copies paced to that rate, on every link: its own times where they are longer, and no host_error.
// REQUIRES: no link is slower.
Machine WithPacedLink(Machine machine, double bytes_per_nanosecond);

// The machine as `choice` wants it: the link to its host comes first, its curves those of the memory asked for, with
// their usual host_error unless the profile states another one. REQUIRES: a choice that ReadMachines found nothing wrong with, or one of no more than a name.
Machine WithConnection(Machine machine, const MachineChoice& choice);

std::string RateText(double bytes_per_nanosecond);  // "8GB/s"

// What else is said of a machine.
struct MachineTerms {
  double link = 0;
  Emulation emulation;
  std::string file;                              // of the scenario
  Bytes workspace = 0;                           // what a call is granted
  bool said = false;                             // the scenario says so, and the label repeats it
  std::string costs;                             // file of a measured step's, "": the profile's
  std::shared_ptr<const RecordedStep> recorded;  // whose ops have times of their own
  LargeCalls large_calls = LargeCalls::kRefused;
};

// A profile has hundreds of kilobytes, and teachers have to be read with it: once for all link rates of all scenarios.
const Machine& ProfileOf(const std::string& from, const std::string& costs, PreparedRun& run);

// UserError: `terms` emulate a link faster than the machine's own.
std::unique_ptr<PreparedMachine> PrepareMachine(const Machine& profile, const MachineChoice& choice,
                                                const MachineTerms& terms);

// The plan of --plan, and which points it is for.
class GivenPlan {
 public:
  // Reads the file, once. UserError: as LoadDocument. `overrides` outlive it.
  explicit GivenPlan(const Overrides& overrides);

  // The plan, if its network, batch and machine are these; what it does not say may be any. Its machine is one as results
  // call it, with all that a scenario changes about it. UserError: as ParsePlan.
  std::shared_ptr<const Plan> For(const PreparedRun& run, std::size_t step, const PreparedMachine& on);

  // Throws UserError: none of the points of this scenario was for the plan, and by what the plan missed them.
  [[noreturn]] void RefuseScenario(const std::string& scenario) const;

 private:
  const Node* Says(const char* key) const { return document_.root.Find(key); }
  bool IsFor(const char* key, const std::string& value) const;
  std::int64_t PartsOfBatch(std::int64_t batch) const;

  const Overrides& overrides_;
  Document document_;
  std::map<std::size_t, std::shared_ptr<const Plan>> plans_;  // by step
  // What the points have that were asked about: all networks, the batches of those with the plan's network, the machines
  // of those with its network and batch, but not its machine.
  std::vector<std::string> networks_, batches_, machines_;
};

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_RUN_PREPARE_INTERNAL_H_

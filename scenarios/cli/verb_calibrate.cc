// spillway calibrate: measures this machine and writes its profile, with the journal of what was measured beside it.
#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "hw/text/lists.h"
#include "scenarios/cli/calibrate_command.h"
#include "scenarios/cli/options.h"
#include "scenarios/file/scenario.h"
#include "scenarios/output/not_destroyed.h"
#include "sim/execute/clock.h"

namespace spillway {
namespace {

namespace fs = std::filesystem;

// A little less than a minute: the last fit and starting up take their time too, as with the usual budget.
constexpr Nanos kQuickBudget = 52 * kSecond;

// ---- what is asked for: text of the command line becomes values. Throws UserError.

Nanos BudgetOf(const std::string& text) {
  const auto budget = ParseDuration(text);
  if (!budget || *budget <= 0) {
    throw UserError(fmt::format("--budget: expected a duration with a unit, as 300s, found '{}'", text));
  }
  return *budget;
}

double LinkRateOf(const std::string& text) {
  const auto rate = ParseBandwidth(text);
  if (!rate || *rate <= 0) {
    throw UserError(fmt::format("--link-rate: expected a rate with a unit, as \"2 GB/s\", found '{}'", text));
  }
  return *rate;
}

Bytes PinnedLimitOf(const std::string& text) {
  const auto limit = ParseBytes(text);
  if (!limit || *limit <= 0) {
    throw UserError(fmt::format("--pinned-limit: expected a size above 0 with a unit, as 100GiB, found '{}'", text));
  }
  return *limit;
}

constexpr BenchProtocol kProtocols[] = {BenchProtocol::kStep, BenchProtocol::kCold, BenchProtocol::kWarm};

std::vector<std::string> ProtocolNames() {
  std::vector<std::string> names;
  for (const BenchProtocol protocol : kProtocols) names.emplace_back(BenchProtocolName(protocol));
  return names;
}

BenchProtocol ProtocolOf(const std::string& text) {
  for (const BenchProtocol protocol : kProtocols) {
    if (text == BenchProtocolName(protocol)) return protocol;
  }
  throw UserError(
      fmt::format("--protocol: expected step, cold or warm, found '{}'{}", text, DidYouMean(text, ProtocolNames())));
}

std::vector<BenchGroup> GroupsOf(const std::vector<std::string>& words) {
  const std::vector<std::string>& names = BenchGroupNames();
  std::vector<BenchGroup> groups;
  for (const std::string& name : words) {
    const auto index = IndexIn(names, name);
    if (!index) {
      throw UserError(fmt::format("--groups: there is no group '{}'{} ({})", name, DidYouMean(name, names),
                                  fmt::join(names, ", ")));
    }
    groups.push_back(static_cast<BenchGroup>(*index));
  }
  return groups;
}

void CheckOutput(const std::string& out) {
  std::error_code ignored;
  if (fs::is_directory(out, ignored)) throw UserError(fmt::format("--output: {} is a folder", out));
  if (fs::path(out).extension() == ".yaml") return;
  throw UserError(fmt::format("--output: a profile is a file that ends in .yaml, found '{}'", out));
}

}  // namespace

void CalibrateCommand::Declare(Options& options) {
  options.Text("--device", device_name_, "cpu, or cuda:0 and so on").Required().Offer(DeviceWords);
  options.Text("-o,--output", asked_.out, "profile to write; its journal is NAME.samples.csv in the same folder")
      .Required();
  options.Flag("--quick", asked_.quick, "within a minute: fewer repetitions, fewer shapes and sizes");
  options.Text("--budget", budget_, "time to measure, e.g. 300s; what matters most comes first");
  options.Flag("--resume", asked_.resume, "continue the journal of an earlier run; nothing is measured again");
  options.Text("--link-rate", link_rate_, "rate of the link in each direction, e.g. \"2 GB/s\" (default: memory's)");
  options.Text("--pinned-limit", pinned_limit_, "limit of pinned host memory, e.g. 100GiB (default: the system's)");
  options.Texts("--networks", asked_.networks, "measure these first: NAME:BATCH, network.yaml:BATCH or a scenario")
      .SplitAtCommas()
      .Offer(ZooNames);
  options.Texts("--groups", groups_, "any of copies,host,networks,beside,memory,grid,beyond,again,managed")
      .SplitAtCommas()
      .Offer(BenchGroupNames);
  options.Flag("--no-grid", asked_.no_grid, "measure only --networks; the models then hold for these only");
  options.Whole("--threads", asked_.threads, 1, 256, "threads of the compute library");
  options.Text("--protocol", protocol_, "state of the operands: step (as in training; default), cold or warm")
      .Offer(ProtocolNames);
}

void CalibrateCommand::Parse() {
  device_ = DeviceByName(device_name_);
  CheckOutput(asked_.out);
  MustNotDestroy(asked_.out, Written::kMachine, {});
  if (asked_.quick) asked_.budget = kQuickBudget;
  if (!budget_.empty()) asked_.budget = BudgetOf(budget_);
  if (!pinned_limit_.empty()) asked_.pinned_limit = PinnedLimitOf(pinned_limit_);
  if (!protocol_.empty()) asked_.protocol = ProtocolOf(protocol_);
  if (!link_rate_.empty()) asked_.link_rate = LinkRateOf(link_rate_);
  asked_.groups = GroupsOf(groups_);
}

ExitCode CalibrateCommand::Run(Console& console) const {
  const SteadyClock clock;
  return CalibrateWith(*device_.Make(clock), asked_, console);
}

Verb CalibrateVerb() {
  return {.name = "calibrate",
          .description = "measure this machine and write its profile",
          .examples = {"spillway calibrate --device cpu --quick -o hw/mine.yaml",
                       "spillway calibrate --device cuda:0 --budget 300s --networks resnet50:64 -o hw/mine.yaml",
                       "spillway calibrate --device cpu --resume -o hw/mine.yaml"},
          .exits = {kDoneExit, kWrongExit, kInterruptedExit},
          .make = MakeCommand<CalibrateCommand>};
}

}  // namespace spillway

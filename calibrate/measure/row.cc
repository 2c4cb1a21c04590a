#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "calibrate/measure/journal.h"
#include "calibrate/measure/run.h"
#include "model/kernels/kernel_form.h"

namespace spillway {
namespace {

constexpr const char* kOwnTimeNote = "own time";

double Microseconds(double nanos) { return std::round(nanos) / 1000; }

void FillResult(const LoopResult& result, Sample* sample) {
  sample->microseconds = Microseconds(result.median);
  // Of a time only what a host call costs may be nothing.
  if (sample->what != SampleKind::kOther) sample->microseconds = std::max(sample->microseconds, 0.001);
  sample->p10 = std::min(Microseconds(result.p10), sample->microseconds);
  sample->p90 = std::max(Microseconds(result.p90), sample->microseconds);
  // As a reader of the row finds it.
  if (sample->p10 > 0 && sample->microseconds > 0) sample->spread = (sample->p90 - sample->p10) / sample->microseconds;
  sample->repetitions = result.timings * result.runs;
  sample->host_microseconds = Microseconds(result.host);
}

std::vector<std::string> FlagsOf(const LoopResult& result) {
  std::vector<std::string> flags;
  if (result.cut_short) flags.emplace_back(kCutShortNote);
  if (result.noisy && !result.cut_short) flags.emplace_back(kNoisyNote);
  if (result.own_time) flags.emplace_back(kOwnTimeNote);
  if (result.throttled) flags.emplace_back(kThrottledNote);
  if (result.unheld) flags.emplace_back(kUnheldNote);
  if (!result.limited.empty()) flags.push_back(result.limited);
  return flags;
}

}  // namespace

Sample BareRow(const BenchTarget& target, const BenchItem& item, const BenchVariant& variant) {
  Sample sample = target.Identity();
  sample.contention = item.contention;
  if (item.kind == BenchItem::Kind::kKernel) {
    sample.what = SampleKind::kKernel;
    sample.launch = item.launch;
    sample.launch.algorithm = variant.algorithm;
    sample.algorithm = AlgorithmName(item.launch.kind, item.launch.pass, variant.algorithm);
    return sample;
  }
  sample.kind = "";
  if (item.kind == BenchItem::Kind::kHost) {
    sample.op = "overhead";
    sample.algorithm = item.call;
    return sample;
  }
  sample.what = SampleKind::kCopy;
  sample.kind = item.memory.empty() ? target.CopyKind() : item.memory;
  sample.link = item.link;
  sample.bytes = item.bytes;
  sample.row_bytes = item.row_bytes;
  sample.pitch_bytes = item.pitch_bytes;
  sample.direction = item.direction;
  return sample;
}

void FillRow(const BenchItem& item, const BenchVariant& variant, const LoopResult& result, double load, Sample* row) {
  FillResult(result, row);
  row->round = item.round;
  row->flags = FlagsOf(result);
  row->load = std::round(100 * load) / 100;
  row->workspace = variant.workspace;
  row->deterministic = variant.deterministic;
  row->heuristic_rank = variant.rank;
  row->sm_clock_mhz = result.sm_clock_mhz;
  if (item.from != nullptr) row->network = item.from->name;
}

// ---- The set-up that rows come from.

namespace {

constexpr std::string_view kDriver = "driver ";

// Where the driver's version begins; npos: no part of the text names one.
std::size_t VersionAt(const std::string& driver) {
  if (driver.starts_with(kDriver)) return kDriver.size();
  const std::size_t comma = driver.find(fmt::format(", {}", kDriver));
  return comma == std::string::npos ? comma : comma + 2 + kDriver.size();
}

struct Setup {
  std::string host, driver;
  std::size_t rows = 0;
  bool Has(const Sample& row) const { return row.host == host && row.driver == driver; }
};

// In the order in which they come.
std::vector<Setup> SetupsOf(std::span<const Sample> rows) {
  std::vector<Setup> setups;
  for (const Sample& row : rows) {
    auto found = std::find_if(setups.begin(), setups.end(), [&](const Setup& setup) { return setup.Has(row); });
    if (found == setups.end()) found = setups.insert(found, {row.host, row.driver, 0});
    ++found->rows;
  }
  return setups;
}

std::string Counted(std::size_t rows) { return fmt::format("{} row{}", rows, rows == 1 ? "" : "s"); }

void Compare(const char* what, const std::string& there, const std::string& here, std::vector<std::string>* refusals) {
  if (there == here) return;
  refusals->push_back(fmt::format(
      "the journal is of {} '{}', this run of '{}'; resume as it was begun, or remove the file to measure anew", what,
      there, here));
}

}  // namespace

std::string DriverBranch(const std::string& driver) {
  const std::size_t begin = VersionAt(driver);
  if (begin == std::string::npos) return driver;
  const std::size_t end = std::min(driver.find(',', begin), driver.size()), dot = driver.find('.', begin);
  return dot >= end ? driver : driver.substr(0, dot) + driver.substr(end);
}

std::vector<std::string> SetupRefusals(const Sample& there, const Sample& here) {
  std::vector<std::string> refusals;
  Compare("device", there.device, here.device, &refusals);
  if (DriverBranch(there.driver) != DriverBranch(here.driver)) Compare("set-up", there.driver, here.driver, &refusals);
  Compare("CUDA", there.cuda, here.cuda, &refusals);
  Compare("cuDNN", there.cudnn, here.cudnn, &refusals);
  if (there.what == SampleKind::kKernel) Compare("protocol", there.kind, here.kind, &refusals);
  return refusals;
}

std::vector<std::string> SetupWarnings(std::span<const Sample> rows, const Sample& here) {
  std::vector<std::string> warnings;
  for (const Setup& setup : SetupsOf(rows)) {
    if (setup.Has(here)) continue;
    std::string differs;
    const auto add = [&](const char* what, const std::string& there, const std::string& now) {
      if (there == now) return;
      differs += fmt::format("{}{} '{}', this one '{}'", differs.empty() ? "" : "; ", what, there, now);
    };
    add("host", setup.host, here.host);
    add("set-up", setup.driver, here.driver);
    warnings.push_back(
        fmt::format("{} of another machine ({}): kept and not measured again", Counted(setup.rows), differs));
  }
  return warnings;
}

std::vector<std::string> SetupNotes(std::span<const Sample> rows) {
  const std::vector<Setup> setups = SetupsOf(rows);
  std::vector<std::string> notes;
  if (setups.size() < 2) return notes;
  for (const Setup& setup : setups) {
    notes.push_back(fmt::format("{} of {} were measured on the host '{}', set-up '{}'", setup.rows,
                                Counted(rows.size()), setup.host, setup.driver));
  }
  return notes;
}

}  // namespace spillway

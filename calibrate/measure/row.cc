#include "calibrate/measure/row.h"

#include <algorithm>
#include <cmath>

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

}  // namespace spillway

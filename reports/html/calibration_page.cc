#include <fmt/format.h>

#include <algorithm>

#include "model/cost/cost_model.h"
#include "model/profile/launch_text.h"
#include "reports/html/page.h"
#include "reports/tables/text.h"

namespace spillway {

namespace {

std::string MicrosecondsAsSeconds(double microseconds) {
  return microseconds > 0 ? fmt::format("{:.9f}", microseconds * 1e-6) : "";
}

std::string SampleFlags(const Sample& sample) { return CsvField(fmt::format("{}", fmt::join(sample.flags, " "))); }

std::string SampleTimes(const Sample& sample, const Cost& cost) {
  const double predicted = static_cast<double>(cost.time) / 1000;
  return fmt::format("{},{},{},{},{:.6f},{},{}\n", MicrosecondsAsSeconds(sample.microseconds),
                     MicrosecondsAsSeconds(sample.p10), MicrosecondsAsSeconds(sample.p90),
                     MicrosecondsAsSeconds(predicted), predicted / sample.microseconds - 1, cost.how,
                     SampleFlags(sample));
}

std::string KernelLine(const Sample& sample, const CostModel& models) {
  const MeasuredOp op = MeasuredOpOf(sample.launch);
  return fmt::format("kernel,{},{},{},{},,,,", OpKindName(op.op), PassName(op.pass), CsvField(op.shape), op.algorithm) +
         SampleTimes(sample, models.Kernel(sample.launch));
}

std::string CopyLine(const Sample& sample, const CostModel& models) {
  const std::int64_t rows = sample.row_bytes > 0 ? std::max<std::int64_t>(1, sample.bytes / sample.row_bytes) : 1;
  return fmt::format("copy,,,,,{},{},{},", sample.direction, sample.bytes, rows) +
         SampleTimes(sample, models.Copy(sample.bytes, DirectionOf(sample.direction), 0, rows));
}

// Copies on the device, between devices, of other memory, or beside others are no link's.
bool IsOfTheLink(const Sample& sample) {
  return sample.what == SampleKind::kCopy && (sample.direction == "h2d" || sample.direction == "d2h") &&
         (sample.kind == "pinned" || sample.kind == "pitched") && sample.contention == "none";
}

}  // namespace

std::string CalibrationCsv(std::span<const Sample> samples, const Machine& machine) {
  Machine unmeasured = machine;
  unmeasured.devices[0].measured.clear();
  const CostModel models(unmeasured);
  std::string text =
      "what,op,pass,shape,algorithm,direction,bytes,rows,measured_s,low_s,high_s,predicted_s,error,how,flags\n";
  for (const Sample& sample : samples) {
    if (sample.microseconds <= 0) continue;
    if (sample.what == SampleKind::kKernel && sample.kind != "race") text += KernelLine(sample, models);
    if (IsOfTheLink(sample)) text += CopyLine(sample, models);
  }
  return text;
}

std::string CalibrationPage(std::span<const Sample> samples, const Machine& machine) {
  return PageOf({{"calibration.csv", CalibrationCsv(samples, machine)}});
}

}  // namespace spillway

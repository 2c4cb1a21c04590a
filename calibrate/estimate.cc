#include "calibrate/estimate.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <optional>

#include "calibrate/csv.h"
#include "calibrate/fit_layout.h"
#include "calibrate/sample_file.h"

namespace spillway {
namespace {

constexpr const char* kAdded = "predicted_us,predicted_algorithm,predicted_workspace_bytes,how,source,error";

struct Answer {
  std::optional<Cost> cost;  // without one, `why` says why not
  double nanoseconds = 0;
  std::string algorithm, why;
};

// What the harness shows of a kernel; the kernel's own time where the profile does not know the harness.
double AsObserved(double nanoseconds, const Sample& sample, const Device& device) {
  const std::string op = OpKindName(sample.launch.kind), pass = PassName(sample.launch.pass);
  for (const CallFloor& floor : device.call_floors) {
    if (floor.harness != sample.harness || floor.op != op || (!floor.pass.empty() && floor.pass != pass)) continue;
    const HarnessTime harness{static_cast<double>(floor.added), static_cast<double>(floor.floor)};
    return std::exp(Observe(std::log(std::max(1.0, nanoseconds)), harness).log_time);
  }
  return nanoseconds;
}

Answer KernelAnswer(const Sample& sample, const CostModel& costs) {
  Launch launch = sample.launch;
  if (sample.workspace >= 0) launch.workspace = sample.workspace;
  const Cost cost = costs.Kernel(launch);
  const auto names = AlgorithmNames(launch.kind, launch.pass);
  const auto chosen = static_cast<std::size_t>(cost.algorithm);
  Answer answer{cost, AsObserved(static_cast<double>(cost.time), sample, costs.machine().devices[0]), "", ""};
  if (chosen > 0 && chosen <= names.size()) answer.algorithm = names[chosen - 1];
  if (launch.algorithm != 0 && cost.algorithm != launch.algorithm) {
    answer.why = "the profile has no model of this algorithm that can run the operation";
    answer.cost.reset();
  } else if (sample.workspace >= 0 && cost.workspace > sample.workspace) {
    answer.why = fmt::format("workspace: {} B wanted, {} B granted", cost.workspace, sample.workspace);
    answer.cost.reset();
  }
  return answer;
}

Answer CopyAnswer(const Sample& sample, const CostModel& costs) {
  const bool pinned = sample.kind.empty() || sample.kind == "pinned" || sample.kind == "pitched";
  const bool near = sample.link.empty() || sample.link == "local" || sample.link == costs.machine().LinkOf(0).name;
  if (!pinned || !near || (sample.direction != "h2d" && sample.direction != "d2h")) {
    return {std::nullopt, 0, "", "the cost model knows copies between pinned memory and the device on its first link"};
  }
  const Direction direction = sample.direction == "h2d" ? Direction::kHostToDevice : Direction::kDeviceToHost;
  const std::int64_t rows = sample.row_bytes > 0 ? sample.bytes / sample.row_bytes : 1;
  const Cost cost = costs.Copy(sample.bytes, direction, 0, std::max<std::int64_t>(1, rows));
  return {cost, static_cast<double>(cost.time), "", ""};
}

Answer AnswerTo(const Sample& sample, const CostModel& costs) {
  if (sample.what == SampleKind::kKernel) return KernelAnswer(sample, costs);
  if (sample.what == SampleKind::kCopy) return CopyAnswer(sample, costs);
  return {std::nullopt, 0, "", fmt::format("no cost model for '{}'", sample.op)};
}

std::string AnswerText(const Answer& answer) {
  if (!answer.cost) return fmt::format(",,,{},,", CsvText(answer.why));
  const Cost& cost = *answer.cost;
  return fmt::format("{:.3f},{},{},{},{},{:.3f}", answer.nanoseconds * 1e-3, answer.algorithm, cost.workspace, cost.how,
                     SourceKindName(cost.source), cost.error);
}

void AppendCells(const CsvRow& row, fmt::memory_buffer& out) {
  for (const CsvCell& cell : row) fmt::format_to(std::back_inserter(out), "{},", CsvText(cell.text));
}

}  // namespace

std::string EstimateCsv(const std::string& text, const std::string& file, const CostModel& costs,
                        std::vector<std::string>* warnings) {
  const SampleSet operations = ParseOperations(text, file);
  if (warnings != nullptr) warnings->insert(warnings->end(), operations.warnings.begin(), operations.warnings.end());
  Document document;
  document.file = file;
  document.text = text;
  Diagnostics diagnostics(document);
  const std::vector<CsvRow> rows = ParseCsv(document, diagnostics);
  diagnostics.ThrowIfAny();
  fmt::memory_buffer out;
  auto next = operations.samples.begin();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    AppendCells(rows[i], out);
    const bool known = next != operations.samples.end() && next->line == rows[i][0].mark.line;
    const std::string added = i == 0  ? kAdded
                              : known ? AnswerText(AnswerTo(*next, costs))
                                      : AnswerText({std::nullopt, 0, "", "refused by its status"});
    fmt::format_to(std::back_inserter(out), "{}\n", added);
    if (known) ++next;
  }
  return fmt::to_string(out);
}

}  // namespace spillway

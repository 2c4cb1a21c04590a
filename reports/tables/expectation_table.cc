// How verdicts on expectations are shown.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "reports/rows/result_row.h"
#include "reports/tables/tables.h"
#include "reports/tables/text.h"

namespace spillway {

namespace {

using Verdicts = std::span<const Verdict>;
constexpr std::size_t kShownInFull = 3;
constexpr std::size_t kExceptionsShown = 5;

}  // namespace

std::string ValueText(Measure measure, double value) {
  switch (TraitsOf(measure).form) {
    case MeasureForm::kCount:
      return fmt::format("{:.0f}", value);
    case MeasureForm::kPerSecond:
      return ShortNumber(value) + "/s";
    case MeasureForm::kSeconds:
      return ShortNumber(value) + " s";
    case MeasureForm::kShare:
      return fmt::format("{:.1f} %", value * 100);
    case MeasureForm::kFactor:
      return fmt::format("{:.2f}x", value);
    case MeasureForm::kFits:
      return value > 0.5 ? "fits" : "does not fit";
    case MeasureForm::kBytes:
      return FormatBytes(static_cast<Bytes>(value));
    case MeasureForm::kBytesPerSecond:
      return FormatBytes(static_cast<Bytes>(value)) + "/s";
  }
  return "";
}

std::string RangeText(Measure measure, double low, double high) {
  if (std::isinf(high)) return ">= " + ValueText(measure, low);
  if (std::isinf(low)) return "<= " + ValueText(measure, high);
  if (low == high) return ValueText(measure, low);
  return ValueText(measure, low) + " to " + ValueText(measure, high);
}

std::string DifferenceText(const Verdict& v) {
  if (!v.ours) return "";
  if (v.difference == 0) return v.expectation->value.low == v.expectation->value.high ? "equal" : "inside";
  if (v.expectation->measure == Measure::kFeasible) return "differs";
  const char* unit = TraitsOf(v.expectation->measure).form == MeasureForm::kShare ? "points" : "%";
  return fmt::format("{:+.1f} {}", v.difference * 100, unit);
}

namespace {

std::string GateText(bool gate, bool passed) { return gate ? (passed ? "yes" : "NO") : "-"; }

// Of a ratio the row that it is over; "" of other figures, which name none.
std::string OtherText(const RowSelector& other) {
  std::string text;
  for (const std::string& part : {other.network, other.machine, other.strategy}) {
    if (!part.empty()) text += " " + part;
  }
  if (other.batch != 0) text += fmt::format(" b={}", other.batch);
  return text;
}

}  // namespace

std::string MeasureText(const Expectation& e) { return TraitsOf(e.measure).words + OtherText(e.other); }

namespace {

std::vector<std::string> OneLine(const Verdict& v) {
  const Expectation& e = *v.expectation;
  const ResultRow& row = *v.row;
  return {"  " + row.network,
          std::to_string(row.batch),
          row.machine,
          FormatBytes(row.memory_limit),
          row.strategy,
          MeasureText(e),
          RangeText(e.measure, e.value.low, e.value.high),
          v.ours ? ValueText(e.measure, *v.ours) : "does not run",
          DifferenceText(v),
          GateText(v.gate, v.passed)};
}

std::string OursOver(Verdicts group) {
  double low = INFINITY, high = -INFINITY;
  std::size_t without = 0;
  for (const Verdict& v : group) {
    without += v.ours ? 0 : 1;
    if (!v.ours) continue;
    low = std::min(low, *v.ours);
    high = std::max(high, *v.ours);
  }
  const std::string range = without == group.size() ? "" : RangeText(group[0].expectation->measure, low, high);
  return without == 0 ? range : fmt::format("{} ({} do not run)", range, without);
}

std::vector<std::string> SummaryLine(Verdicts group) {
  const Expectation& e = *group[0].expectation;
  const auto outside = std::count_if(group.begin(), group.end(), [](const Verdict& v) { return v.difference != 0; });
  const bool passed = std::all_of(group.begin(), group.end(), [](const Verdict& v) { return v.passed; });
  const auto any = [](const std::string& name) { return name.empty() ? std::string("any") : name; };
  return {"  " + any(e.where.network),
          e.where.batch == 0 ? "any" : std::to_string(e.where.batch),
          any(e.where.machine),
          "any",
          any(e.where.strategy),
          MeasureText(e),
          RangeText(e.measure, e.value.low, e.value.high),
          OursOver(group),
          fmt::format("{} of {} outside", outside, group.size()),
          GateText(group[0].gate, passed)};
}

// Of an ordering ("at least as fast as"), every exception is worth a look.
bool IsException(const Verdict& v) {
  const ValueRange& range = v.expectation->value;
  return v.difference != 0 && (std::isinf(range.low) || std::isinf(range.high));
}

// The column with the memory limit is left out where all rows have the same.
struct ExpectationColumns {
  bool memory = false;
  std::vector<std::string> Chosen(std::vector<std::string> cells) const {
    if (!memory) cells.erase(cells.begin() + kMemoryColumn);
    return cells;
  }
  static constexpr std::ptrdiff_t kMemoryColumn = 3;
};

void AddGroup(TextTable& table, const ExpectationColumns& columns, Verdicts group) {
  const bool sum_up = group.size() > kShownInFull;
  if (sum_up) table.Row(columns.Chosen(SummaryLine(group)));
  std::size_t exceptions = 0;
  for (const Verdict& v : group) {
    const bool failed = v.gate && !v.passed;
    const bool exception = IsException(v) && exceptions++ < kExceptionsShown;
    if (!sum_up || failed || exception) table.Row(columns.Chosen(OneLine(v)));
  }
  const std::string& why = group[0].expectation->why;
  if (!why.empty()) table.Line("    why: " + why);
}

std::string Number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }

}  // namespace

std::string ExpectationTable(const std::vector<Verdict>& verdicts) {
  if (verdicts.empty()) return "";
  ExpectationColumns columns;
  for (const Verdict& v : verdicts) columns.memory |= v.row->memory_limit != verdicts[0].row->memory_limit;
  TextTable table(columns.Chosen(
      {"<  network", "batch", "<machine", "memory", "<strategy", "<figure", "paper", "ours", "difference", "within?"}));
  const std::string* source = nullptr;
  for (const Verdicts group : ByExpectation(verdicts)) {
    const Expectation& e = *group[0].expectation;
    if (source == nullptr || e.source != *source) table.Line(e.source);
    source = &e.source;
    AddGroup(table, columns, group);
  }
  return table.Text();
}

std::string ExpectationCsv(const std::vector<Verdict>& verdicts) {
  std::string text =
      "scenario,network,batch,machine,memory_limit_bytes,strategy,measure,paper_low,paper_high,ours,difference,gate,"
      "passed,source,why\n";
  for (const Verdict& v : verdicts) {
    const Expectation& e = *v.expectation;
    const ResultRow& r = *v.row;
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", CsvField(r.scenario), CsvField(r.network),
                        r.batch, CsvField(r.machine), r.memory_limit, CsvField(r.strategy), TraitsOf(e.measure).name,
                        Number(e.value.low), Number(e.value.high), v.ours ? Number(*v.ours) : "",
                        v.ours ? Number(v.difference) : "", v.gate ? 1 : 0, v.gate ? (v.passed ? "1" : "0") : "",
                        CsvField(e.source), CsvField(e.why));
  }
  return text;
}

}  // namespace spillway

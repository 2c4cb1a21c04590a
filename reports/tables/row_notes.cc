// What a row's figures rest on, in marks and lines: sources of its costs, and what its algorithms bring.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "reports/rows/standing.h"
#include "reports/tables/tables.h"
#include "reports/tables/text.h"

namespace spillway {

namespace {

constexpr double kWorthMarking = 0.05, kMostly = 0.5;  // of the step

struct SourceMark {
  char mark;
  double SourceShares::*share;
  const char* words;
};
constexpr std::array<SourceMark, 3> kMarks = {{
    {'a', &SourceShares::assumed, "assumed costs"},
    {'b', &SourceShares::beyond, "kernel models beyond their data"},
    {'p', &SourceShares::roofline, "full peak and bandwidth, for lack of laws"},
}};

char Capital(const SourceMark& mark) { return static_cast<char>(mark.mark - 'a' + 'A'); }

bool Marked(const ResultRow& row, const SourceMark& mark) {
  return row.feasible && row.provenance.shares.*mark.share >= kWorthMarking;
}

}  // namespace

std::string SourceMarks(const ResultRow& row) {
  std::string marks;
  for (const SourceMark& mark : kMarks) {
    if (Marked(row, mark)) marks += row.provenance.shares.*mark.share < kMostly ? mark.mark : Capital(mark);
  }
  return marks;
}

std::string SourceLine(const std::vector<const ResultRow*>& rows) {
  std::string line;
  for (const SourceMark& mark : kMarks) {
    double most = 0;
    for (const ResultRow* row : rows) {
      if (Marked(*row, mark)) most = std::max(most, row->provenance.shares.*mark.share);
    }
    if (most == 0) continue;
    const std::string both = most < kMostly ? std::string() : fmt::format(", {}", Capital(mark));
    line += fmt::format("{}{}{}: {} (up to {})", line.empty() ? "" : "; ", mark.mark, both, mark.words, Percent(most));
  }
  return line.empty() ? line : line + "\n";
}

std::string DividedText(const ResultRow& row) {
  if (row.plan.divided_kernels == 0) return "";
  return fmt::format(
      "{} at batch {}: {} convolutions with tensors of 2^31 elements or more run in parts, as cuDNN before 9.3 needs: "
      "{} "
      "divides them",
      row.strategy, row.batch, row.plan.divided_kernels, row.grouping.options);
}

std::string AlgorithmsText(const ResultRow& row) {
  const Nanos gain = row.times.usual - row.times.Chosen();
  if (!row.feasible || static_cast<double>(gain) < kWorthSaying * static_cast<double>(row.times.step)) return "";
  return fmt::format("{} at batch {}: algorithms and workspace bring {}: ops take {}, {} as usual", row.strategy,
                     row.batch, FormatDuration(gain), FormatDuration(row.times.Chosen()),
                     FormatDuration(row.times.usual));
}

}  // namespace spillway

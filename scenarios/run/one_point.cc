#include <fmt/format.h>
#include <fmt/ranges.h>

#include "scenarios/output/output_folder.h"
#include "scenarios/run/run.h"

namespace spillway {

namespace {

// By what tells it from the other one.
std::string Called(const ResultRow& row, const ResultRow& other) {
  std::string text = fmt::format("{} at batch {} on {}", row.network, row.batch, row.machine);
  if (row.memory_limit != other.memory_limit) {
    const bool alike = FormatBytes(row.memory_limit) == FormatBytes(other.memory_limit);
    text += " with " + (alike ? FormatBytesExact(row.memory_limit) : FormatBytes(row.memory_limit));
  }
  return row.scenario == other.scenario ? text : text + " of scenario " + row.scenario;
}

}  // namespace

void MustBeOnePlace(const PreparedRun& run, const std::string& verb) {
  const ResultRow& first = run.points.front().row;
  for (const Point& point : run.points) {
    if (SamePlace(first, point.row)) continue;
    throw UserError(fmt::format("{}: the scenario has more than one point, among them {} and {}; choose one{}{}", verb,
                                Called(first, point.row), Called(point.row, first),
                                run.choices.empty() ? " scenario" : " by ", fmt::join(run.choices, " and ")));
  }
}

namespace {

// A plan with the numbers of the whole batch before any other, then the faster one.
bool Before(const ResultRow& a, const ResultRow& b) {
  return a.SameNumbers() == b.SameNumbers() ? a.times.step < b.times.step : a.SameNumbers();
}

}  // namespace

std::optional<PointResult> BestOf(const PreparedRun& run, int jobs, Console& console) {
  std::vector<ResultRow> rows;
  std::optional<PointResult> best;
  {
    Progress progress(console, "point", run.points.size());
    const auto add = [&](const Point&, PointResult& result) {
      progress.Step();
      rows.push_back(result.row);
      if (result.row.feasible && (!best || Before(result.row, best->row))) best = std::move(result);
    };
    const auto waiting = [&] {
      progress.Wait();
      return false;
    };
    RunPoints(run, jobs, add, 0, waiting);
  }
  if (best) return best;
  for (const ResultRow& row : rows) console.err << row.strategy << ": " << row.reason << "\n";
  for (const std::string& message : PointsWithoutStrategy(run, rows)) console.err << message << "\n";
  return std::nullopt;
}

void WriteText(const std::string& file, const std::string& text, Console& console) {
  if (file.empty() || file == "-") {
    console.out << text;
  } else {
    WriteFile(file, text);
  }
}

}  // namespace spillway

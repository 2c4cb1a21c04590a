#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "hw/text/lists.h"
#include "reports/rows/standing.h"
#include "reports/tables/tables.h"
#include "reports/tables/text.h"
#include "sim/bounds/claimed_bound.h"

namespace spillway {

namespace {

struct TimeUnit {
  const char* name;
  Nanos nanos;
};

constexpr std::size_t kBeatenTold = 3, kAlgorithmsTold = 3;  // lines a block
constexpr std::size_t kScopesTold = 3;                       // strategies

using RowIterator = std::vector<ResultRow>::const_iterator;

bool SameBlock(const ResultRow& a, const ResultRow& b) {
  return a.scenario == b.scenario && a.network == b.network && a.machine == b.machine &&
         a.memory_limit == b.memory_limit;
}

TimeUnit UnitOf(RowIterator begin, RowIterator end) {
  Nanos longest = 0;
  for (auto row = begin; row != end; ++row) longest = std::max(longest, row->times.step);
  if (longest >= kSecond) return {"s", kSecond};
  if (longest >= kMillisecond) return {"ms", kMillisecond};
  return {"us", kMicrosecond};
}

std::string InUnit(Nanos time, const TimeUnit& unit) {
  return ShortNumber(static_cast<double>(time) / static_cast<double>(unit.nanos));
}

// The ends with the digits that sim/uncertainty/uncertainty.h left them: in steps of more than a hundredth of their distance.
std::string IntervalText(const ResultRow& row, const TimeUnit& unit) {
  const Nanos width = row.times.high - row.times.low;
  if (width == 0) return InUnit(row.times.low, unit);
  int digits = 0;
  for (Nanos step = unit.nanos; step > 1 && step > width / 10; step /= 10) ++digits;
  const auto text = [&](Nanos time) {
    return fmt::format("{:.{}f}", static_cast<double>(time) / static_cast<double>(unit.nanos), digits);
  };
  return text(row.times.low) + "-" + text(row.times.high);
}

std::string GapText(const ResultRow& row) {
  if (row.bounds.lower <= 0) return "";
  return Percent(row.BoundGap()) + (row.bounds.binding.empty() ? "" : " " + row.bounds.binding.substr(0, 1));
}

std::string StandingText(const ResultRow& row, const ResultRow* best) {
  const std::string word = StandingWord(row, best);
  return word == "equal" ? "=" : word;
}

// With its marks behind, as wide as the widest of the block.
std::string MarkedInterval(const ResultRow& row, const TimeUnit& unit, std::size_t marks) {
  return IntervalText(row, unit) + (marks == 0 ? "" : fmt::format(" {:<{}}", SourceMarks(row), marks));
}

std::vector<std::string> FeasibleCells(const ResultRow& row, const Standing& among, const TimeUnit& unit,
                                       std::size_t marks) {
  return {std::to_string(row.batch),
          row.strategy,
          ShortNumber(row.SamplesPerSecond()),
          Percent(row.Loss()),
          StandingText(row, among.best),
          InUnit(row.times.step, unit),
          MarkedInterval(row, unit, marks),
          GapText(row),
          ShortNumber(static_cast<double>(row.memory.peak) / static_cast<double>(kGB)),
          ClassesText(row.plan.classes),
          InUnit(row.times.recompute, unit),
          InUnit(row.times.stall_out, unit),
          InUnit(row.times.stall_in, unit),
          InUnit(row.times.stall_host, unit)};
}

// What a row with more memory, a faster link or a cleverer strategy loses to one with less: for all to see.
std::string BeatenLines(const std::vector<ResultRow>& rows, RowIterator begin, RowIterator end,
                        const std::vector<Standing>& standings) {
  std::string text;
  std::size_t told = 0, beaten = 0;
  for (auto row = begin; row != end; ++row) {
    const ResultRow* by = standings[static_cast<std::size_t>(row - rows.begin())].beaten_by;
    if (by == nullptr || ++beaten > kBeatenTold) continue;
    ++told;
    text += "unexpectedly slow: " + BeatenText(*row, *by) + "\n";
  }
  if (beaten > told) text += fmt::format("and {} more such rows (column beaten_by of results.csv)\n", beaten - told);
  return text;
}

// A plan file that names one algorithm has a bound over all algorithms, and a larger gap. One line tells the reader of the
// table.
std::string ScopeLine(const std::vector<ResultRow>& rows) {
  std::vector<std::string> strategies, scopes;
  for (const ResultRow& row : rows) {
    if (!row.feasible || row.bounds.scope.algorithms == AlgorithmScope::kUsual) continue;
    AddOnce(strategies, row.strategy);
    AddOnce(scopes, row.bounds.scope.Text());
  }
  if (strategies.empty()) return "";
  const std::size_t told = strategies.size() > kScopesTold + 1 ? kScopesTold : strategies.size();
  std::string names =
      fmt::format("{}", fmt::join(strategies.begin(), strategies.begin() + static_cast<std::ptrdiff_t>(told), ", "));
  if (told < strategies.size()) names += fmt::format(" and {} others", strategies.size() - told);
  const std::string plans = scopes.size() == 1
                                ? "plans with " + scopes.front()
                                : fmt::format("plans of {} kinds (bound_scope in results.json)", scopes.size());
  return fmt::format("gap of {}: the lower bound holds for {}\n", names, plans);
}

std::string DividedLines(RowIterator begin, RowIterator end) {
  std::string text;
  for (auto row = begin; row != end; ++row) text += DividedText(*row) + (row->plan.divided_kernels > 0 ? "\n" : "");
  return text;
}

std::string AccumulateLines(RowIterator begin, RowIterator end) {
  std::string text;
  for (auto row = begin; row != end; ++row) text += AccumulateText(*row) + (row->plan.accumulate > 1 ? "\n" : "");
  return text;
}

// What is not owed to where feature maps go: rows beside it may have less workspace.
std::string AlgorithmsLines(RowIterator begin, RowIterator end) {
  std::string text;
  std::size_t found = 0;
  for (auto row = begin; row != end; ++row) {
    const std::string line = AlgorithmsText(*row);
    if (!line.empty() && ++found <= kAlgorithmsTold) text += line + "\n";
  }
  if (found > kAlgorithmsTold) {
    text += fmt::format("and {} more such rows (column usual_compute_s of results.csv)\n", found - kAlgorithmsTold);
  }
  return text;
}

std::string BlockText(const std::vector<ResultRow>& rows, RowIterator begin, RowIterator end,
                      const std::vector<Standing>& standings) {
  const TimeUnit unit = UnitOf(begin, end);
  std::string text =
      fmt::format("{}: {} ({}) on {}, {} of device memory, times in {}\n", begin->scenario, begin->network,
                  begin->precision, begin->machine, FormatBytes(begin->memory_limit), unit.name);
  TextTable table({"batch", "<strategy", "images/s", "loss", "<", "step", "80 %", "gap", "peak GB", "k/s/r", "rec",
                   "out", "in", "host"});
  std::vector<const ResultRow*> block;
  std::size_t marks = 0;
  for (auto row = begin; row != end; ++row) {
    block.push_back(&*row);
    marks = std::max(marks, SourceMarks(*row).size());
  }
  for (auto row = begin; row != end; ++row) {
    if (row->feasible) {
      table.Row(FeasibleCells(*row, standings[static_cast<std::size_t>(row - rows.begin())], unit, marks));
    } else {
      table.RowThenText({std::to_string(row->batch), row->strategy}, "does not run: " + row->reason);
    }
  }
  return text + table.Text() + SourceLine(block) + BeatenLines(rows, begin, end, standings) +
         AlgorithmsLines(begin, end) + DividedLines(begin, end) + AccumulateLines(begin, end);
}

constexpr const char* kLegend =
    "loss: share of the step that is not its ops, each once: recomputing, waiting, slowed by copies\n"
    "best: the fastest strategy at the batch; =: cannot be told apart from the best\n"
    "  (slower than the best in fewer than 90 % of common draws of the cost model's errors)\n"
    "80 %: interval of the step time, from errors of the op costs and the host's time, not of the rest of the runtime\n"
    "behind it what 5 % of the step or more rests on; capitals: half or more\n"
    "k/s/r: feature maps kept, swapped, recomputed; rec: time spent recomputing\n"
    "out, in, host: time that compute waits for swap-outs, for swap-ins, for the host\n"
    "gap: step time above the lower bound under this cost model; the letter names the bound:\n"
    "  c compute, t transfer, m memory\n";
constexpr const char* kInstantLegend =
    "  i instant: what can be kept, copied and recomputed around one op (sim/bounds/README.md)\n";
constexpr const char* kNumbersLegend =
    "redrawn, changed: results differ from those of the whole batch; no such row is best\n";
constexpr const char* kClaimedLegend = "  s strategy: proved by the strategy itself (results.json: bound_by)\n";

}  // namespace

std::string ClassesText(const ClassCounts& classes) {
  return fmt::format("{}/{}/{}", classes.keep, classes.swap, classes.recompute);
}

std::string BeatenText(const ResultRow& row, const ResultRow& beaten_by) {
  std::string how;
  if (beaten_by.memory_limit < row.memory_limit) {
    how = "with " + FormatBytes(beaten_by.memory_limit);
  } else if (beaten_by.machine != row.machine) {
    how = fmt::format("on {}", beaten_by.machine);
  } else {
    how = "by " + beaten_by.strategy;
  }
  return fmt::format("{} at batch {}: {} images/s, {} {}", row.strategy, row.batch, ShortNumber(row.SamplesPerSecond()),
                     ShortNumber(beaten_by.SamplesPerSecond()), how);
}

std::string AccumulateText(const ResultRow& row) {
  if (row.plan.accumulate == 1) return "";
  const char* const changes =
      row.plan.numbers == "changed"   ? "; not the results of the whole batch: batch norm uses the statistics of a part"
      : row.plan.numbers == "redrawn" ? "; not the results of the whole batch: dropout draws other masks"
                                      : "";
  const std::int64_t parts = row.plan.accumulate, least = row.batch / parts;
  const std::string samples =
      row.batch % parts == 0 ? std::to_string(least) : fmt::format("{} or {}", least + 1, least);
  return fmt::format("{} at batch {}: {} parts of {} samples{}", row.strategy, row.batch, parts, samples, changes);
}

std::string ResultTable(const ResultSet& results) {
  std::string text;
  const auto& rows = results.rows;
  const std::vector<Standing> standings = Standings(rows);
  for (auto begin = rows.begin(); begin != rows.end();) {
    const auto end = std::find_if_not(begin, rows.end(), [&](const ResultRow& r) { return SameBlock(*begin, r); });
    text += BlockText(rows, begin, end, standings) + "\n";
    begin = end;
  }
  if (rows.empty()) return text;
  const auto binds = [&rows](const char* bound) {
    return std::any_of(rows.begin(), rows.end(), [&](const ResultRow& r) { return r.bounds.binding == bound; });
  };
  const bool numbers = std::any_of(rows.begin(), rows.end(), [](const ResultRow& r) { return !r.SameNumbers(); });
  return text + ScopeLine(rows) + kLegend + (numbers ? kNumbersLegend : "") +
         (binds(kInstantBinds) ? kInstantLegend : "") + (binds(kClaimed) ? kClaimedLegend : "");
}

}  // namespace spillway


#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "reports/tables/tables.h"
#include "reports/tables/text.h"
#include "sim/uncertainty/uncertainty.h"

namespace spillway {

namespace {

struct Pair {
  const ResultRow* a = nullptr;
  const ResultRow* b = nullptr;
};

bool SameWork(const ResultRow& a, const ResultRow& b) {
  return a.scenario == b.scenario && a.network == b.network && a.batch == b.batch;
}

// The row of machine b for the same work, strategy and memory limit; whatever its limit if the machines' own differ.
const ResultRow* Partner(const std::vector<ResultRow>& rows, const ResultRow& a, const std::string& machine_b) {
  const ResultRow* any_limit = nullptr;
  for (const ResultRow& b : rows) {
    if (b.machine != machine_b || b.strategy != a.strategy || !SameWork(a, b)) continue;
    if (b.memory_limit == a.memory_limit) return &b;
    if (any_limit == nullptr) any_limit = &b;
  }
  return any_limit;
}

bool Better(const ResultRow& row, const ResultRow* best) {
  return row.feasible && row.SameNumbers() && (best == nullptr || row.times.step < best->times.step);
}

std::string RateText(const ResultRow* row) {
  if (row == nullptr) return "";
  if (!row->feasible) return "does not run";
  const std::string marks = SourceMarks(*row);
  return ShortNumber(row->SamplesPerSecond()) + (marks.empty() ? "" : " " + marks);
}

std::string Comparison(const Pair& pair) {
  const bool a_runs = pair.a != nullptr && pair.a->feasible;
  const bool b_runs = pair.b != nullptr && pair.b->feasible;
  if (!a_runs && !b_runs) return "neither runs";
  if (!a_runs || !b_runs) return fmt::format("{} runs", (a_runs ? pair.a : pair.b)->machine);
  if (pair.a->times.step == pair.b->times.step) return "equal";
  const bool a_wins = pair.a->times.step < pair.b->times.step;
  const ResultRow& faster = a_wins ? *pair.a : *pair.b;
  const ResultRow& slower = a_wins ? *pair.b : *pair.a;
  const double factor = static_cast<double>(slower.times.step) / static_cast<double>(faster.times.step);
  const bool drawn = !faster.times.draws.empty() && faster.times.draws.size() == slower.times.draws.size();
  if (drawn && CannotBeToldApart(faster.times.draws, slower.times.draws)) {
    return fmt::format("cannot be told apart ({} by {:.2f}x)", faster.machine, factor);
  }
  const std::string why = WhySlower(slower, faster);
  return fmt::format("{} by {:.2f}x{}", faster.machine, factor, why.empty() ? "" : ": " + slower.machine + " " + why);
}

void AddPair(TextTable& table, const std::string& strategy, const Pair& pair) {
  const ResultRow& row = pair.a != nullptr ? *pair.a : *pair.b;
  const auto classes = [](const ResultRow* r) {
    return r != nullptr && r->feasible ? ClassesText(r->plan.classes) : std::string();
  };
  table.RowThenText({row.network, std::to_string(row.batch), strategy, RateText(pair.a), classes(pair.a),
                     RateText(pair.b), classes(pair.b)},
                    Comparison(pair));
}

Pair BestOf(const std::vector<ResultRow>& rows, const ResultRow& work, const std::string& machine_a,
            const std::string& machine_b) {
  Pair best;
  for (const ResultRow& row : rows) {
    if (!SameWork(row, work)) continue;
    if (row.machine == machine_a && Better(row, best.a)) best.a = &row;
    if (row.machine == machine_b && Better(row, best.b)) best.b = &row;
  }
  return best;
}

std::string BestName(const Pair& best) {
  const std::string a = best.a == nullptr ? "none" : best.a->strategy;
  const std::string b = best.b == nullptr ? "none" : best.b->strategy;
  return a == b ? fmt::format("fastest: {}", a) : fmt::format("fastest: {} | {}", a, b);
}

}  // namespace

std::string WhySlower(const ResultRow& slower, const ResultRow& faster) {
  struct Part {
    Nanos more;
    const char* what;
  };
  const std::array<Part, 5> parts = {{
      {slower.times.stall_in - faster.times.stall_in, "waiting for swap-ins"},
      {slower.times.stall_out - faster.times.stall_out, "waiting for swap-outs"},
      {slower.times.recompute - faster.times.recompute, "recomputing"},
      {slower.times.stall_host - faster.times.stall_host, "waiting for the host"},
      {slower.times.compute - faster.times.compute, "computing"},
  }};
  const Part& most =
      *std::max_element(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.more < b.more; });
  return most.more <= 0 ? "" : fmt::format("spends {} more {}", FormatDuration(most.more), most.what);
}

std::string CompareTable(const ResultSet& results, const std::string& machine_a, const std::string& machine_b) {
  TextTable table({"<network", "batch", "<strategy", "A images/s", "k/s/r", "B images/s", "k/s/r"});
  const ResultRow* previous = nullptr;
  const auto close = [&] {
    if (previous == nullptr) return;
    const Pair best = BestOf(results.rows, *previous, machine_a, machine_b);
    if (best.a != nullptr || best.b != nullptr) AddPair(table, BestName(best), best);
  };
  for (const ResultRow& row : results.rows) {
    if (row.machine != machine_a) continue;
    if (previous != nullptr && !SameWork(*previous, row)) close();
    AddPair(table, row.strategy, {&row, Partner(results.rows, row, machine_b)});
    previous = &row;
  }
  close();
  std::string in_parts;
  std::vector<const ResultRow*> rows;
  for (const ResultRow& row : results.rows) {
    if (row.feasible && row.plan.accumulate > 1) in_parts += fmt::format("{}: {}\n", row.machine, AccumulateText(row));
    rows.push_back(&row);
  }
  return fmt::format("A = {}, B = {}; k/s/r: feature maps kept, swapped, recomputed\n", machine_a, machine_b) +
         table.Text() + SourceLine(rows) + in_parts;
}

}  // namespace spillway

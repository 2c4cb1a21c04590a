#include "reports/rows/standing.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <tuple>

#include "sim/uncertainty/uncertainty.h"

namespace spillway {
namespace {

using Rows = std::vector<ResultRow>;
using Indices = std::vector<std::size_t>;

// "in-core" as it is, and on the runtimes put in place of its own.
bool IsInCore(const std::string& strategy) { return strategy == "in-core" || strategy.starts_with("in-core+"); }

// How the scenario has the plan carried out, behind the strategy's name: "arena" of "pooch+arena"; "" on its own
// runtime.
std::string_view RuntimeAskedFor(const ResultRow& r) {
  const std::size_t plus = r.strategy.find('+');
  return plus == std::string::npos ? std::string_view() : std::string_view(r.strategy).substr(plus + 1);
}

auto WherePut(const ResultRow& r) {
  return std::tie(r.scenario, r.grouping.network, r.grouping.options, r.machine, r.memory_limit);
}
auto Place(const ResultRow& r) { return std::tie(r.scenario, r.network, r.batch, r.machine, r.memory_limit); }
// Two runtimes of a scenario's own are told apart by what it calls them.
auto PlaceAndRuntime(const ResultRow& r) {
  return std::tuple_cat(Place(r), std::tie(r.plan.numbers, r.plan.runtime), std::tuple(RuntimeAskedFor(r)));
}
auto ButForMemory(const ResultRow& r) {
  return std::tie(r.scenario, r.network, r.batch, r.machine, r.strategy, r.plan.numbers);
}
auto ButForLink(const ResultRow& r) {
  return std::tie(r.scenario, r.network, r.batch, r.grouping.beside_link, r.memory_limit, r.strategy, r.plan.numbers);
}

// Calls `each` with the indices of the feasible rows that have the same key, in their order.
template <typename KeyOf>
void ForGroups(const Rows& rows, const KeyOf& key_of, const std::function<void(const Indices&)>& each) {
  std::map<decltype(key_of(rows[0])), Indices> groups;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].feasible) groups[key_of(rows[i])].push_back(i);
  }
  for (const auto& [key, group] : groups) each(group);
}

// Where rows ascend by `measure`, each is held against the fastest of those that have less of it.
template <typename Measure>
void HoldAgainstLess(const Rows& rows, Indices group, const Measure& measure, std::vector<Standing>& standings) {
  std::stable_sort(group.begin(), group.end(),
                   [&](std::size_t a, std::size_t b) { return measure(rows[a]) < measure(rows[b]); });
  const ResultRow* fastest = nullptr;  // of those with strictly less
  for (std::size_t begin = 0; begin < group.size();) {
    std::size_t end = begin;
    while (end < group.size() && !(measure(rows[group[begin]]) < measure(rows[group[end]]))) ++end;
    for (std::size_t i = begin; i < end && fastest != nullptr; ++i) {
      const ResultRow& row = rows[group[i]];
      const ResultRow*& beaten_by = standings[group[i]].beaten_by;
      const bool beaten =
          static_cast<double>(row.times.step) > (1 + kWorthSaying) * static_cast<double>(fastest->times.step);
      if (beaten && (beaten_by == nullptr || fastest->times.step < beaten_by->times.step)) beaten_by = fastest;
    }
    for (; begin < end; ++begin) {
      const ResultRow& row = rows[group[begin]];
      if (fastest == nullptr || row.times.step < fastest->times.step) fastest = &row;
    }
  }
}

// Of the rows with the numbers of the whole batch; nullptr: there are none.
const ResultRow* Fastest(const Rows& rows, const Indices& group) {
  const ResultRow* fastest = nullptr;
  for (const std::size_t i : group) {
    const bool faster = fastest == nullptr || rows[i].times.step < fastest->times.step;
    if (rows[i].SameNumbers() && faster) fastest = &rows[i];
  }
  return fastest;
}

const ResultRow* FasterInCore(const ResultRow* best, const ResultRow& row) {
  if (!row.feasible || !IsInCore(row.strategy)) return best;
  return best == nullptr || row.ElementsPerSecond() > best->ElementsPerSecond() ? &row : best;
}

}  // namespace

std::vector<Standing> Standings(const Rows& rows) {
  std::vector<Standing> standings(rows.size());
  std::map<decltype(WherePut(rows[0])), const ResultRow*> references;
  ForGroups(rows, WherePut, [&](const Indices& group) {
    const ResultRow*& reference = references[WherePut(rows[group[0]])];
    for (const std::size_t i : group) reference = FasterInCore(reference, rows[i]);
  });
  std::map<decltype(Place(rows[0])), const ResultRow*> best;
  ForGroups(rows, Place, [&](const Indices& group) { best[Place(rows[group[0]])] = Fastest(rows, group); });
  ForGroups(rows, PlaceAndRuntime, [&](const Indices& group) {
    Indices rated;  // whose strategies are known
    for (const std::size_t i : group) {
      if (rows[i].grouping.choices >= 0) rated.push_back(i);
    }
    HoldAgainstLess(
        rows, rated, [](const ResultRow& r) { return r.grouping.choices; }, standings);
  });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (const auto found = references.find(WherePut(rows[i])); found != references.end()) {
      standings[i].reference = found->second;
    }
    if (const auto found = best.find(Place(rows[i])); found != best.end()) standings[i].best = found->second;
  }
  ForGroups(rows, ButForMemory, [&](const Indices& group) {
    HoldAgainstLess(
        rows, group, [](const ResultRow& r) { return r.memory_limit; }, standings);
  });
  ForGroups(rows, ButForLink, [&](const Indices& group) {
    HoldAgainstLess(
        rows, group, [](const ResultRow& r) { return r.grouping.link_rate; }, standings);
  });
  return standings;
}

double BelowInCore(const ResultRow& reference, const ResultRow& row) {
  return 1 - row.ElementsPerSecond() / reference.ElementsPerSecond();
}

std::string StandingWord(const ResultRow& row, const ResultRow* best) {
  if (!row.SameNumbers()) return row.plan.numbers;
  if (best == nullptr) return "";
  if (row.times.step == best->times.step) return "best";
  if (row.times.draws.empty() || row.times.draws.size() != best->times.draws.size()) return "";
  return CannotBeToldApart(row.times.draws, best->times.draws) ? "equal" : "";
}

}  // namespace spillway

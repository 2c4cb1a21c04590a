// What a search of `best` chooses from: the step with every op whole, with convolutions in parts, or with groups of ops
// that run in parts together.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_SEARCH_SPACE_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_SEARCH_SPACE_H_

#include <algorithm>
#include <vector>

#include "sim/strategies/best/annealing.h"
#include "sim/strategies/best/gap_model.h"

namespace spillway {

struct SearchSpace {
  // Bytes as in GapTables.
  SearchSpace(const StepFacts& facts, const Runtime& runtime, Bytes capacity, Bytes small, const Allowed& allowed,
              const WaysLookedAt& looked_at)
      : tables(facts, runtime.backward_units, capacity, small, looked_at, runtime.gaps), open(tables, allowed) {}

  // All kept that may be, every op in the way of which `key` is least.
  template <typename Key>
  GapChoices AllKeptWith(Key key) const {
    GapChoices kept = AllKept(tables);
    for (const OpenChoices::Op& op : open.ops) {
      const auto first = tables.ways.begin() + tables.ops[op.row].ways.begin;
      const auto least =
          std::min_element(first, first + op.ways, [key](const auto& a, const auto& b) { return key(a) < key(b); });
      kept.ops[op.row] = static_cast<std::uint8_t>(least - first);
    }
    return kept;
  }

  GapTables tables;
  OpenChoices open;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_SEARCH_SPACE_H_

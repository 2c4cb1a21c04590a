// A plan's decisions sorted by the op at which they take effect.
//
//   gaps of a plan: #0 after op 2, #1 after op 0, #2 after op 2
//   DecisionsAt at(plan.gaps, &GapDecision::after, ops)             at[2] is {0, 2}, at[0] is {1}
#ifndef SPILLWAY_SIM_PROGRAM_LOWER_DECISIONS_AT_H_
#define SPILLWAY_SIM_PROGRAM_LOWER_DECISIONS_AT_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/step/training_step.h"

namespace spillway {

class DecisionsAt {
 public:
  DecisionsAt() = default;  // none
  // `op_of`: a function of a decision, or a field; kNoOp stands for "before the first op", `ops` for never.
  template <typename Decision, typename OpOf>
  DecisionsAt(const std::vector<Decision>& decisions, OpOf op_of, std::size_t ops)
      : first_(ops + 3, 0), order_(decisions.size()) {
    const auto slot = [&](const Decision& one) { return std::min(Index(std::invoke(op_of, one) + 1), ops + 1); };
    for (const Decision& decision : decisions) ++first_[slot(decision) + 1];
    for (std::size_t k = 1; k < first_.size(); ++k) first_[k] += first_[k - 1];
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for (std::uint32_t row = 0; row < decisions.size(); ++row) order_[next[slot(decisions[row])]++] = row;
  }

  // Rows of the decisions, ascending.
  std::span<const std::uint32_t> operator[](OpId op) const {
    if (order_.empty()) return {};
    const auto slot = static_cast<std::size_t>(op + 1);
    return {order_.data() + first_[slot], order_.data() + first_[slot + 1]};
  }

 private:
  std::vector<std::uint32_t> first_;  // by op + 1, into order_, and the end
  std::vector<std::uint32_t> order_;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LOWER_DECISIONS_AT_H_

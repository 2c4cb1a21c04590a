// PoocH's step 1.
//
// The bound. Simulate with every undecided map in class kFree: no memory, no copies, no time. Any class they get later
// on only adds copies to the lanes and bytes to the loads, and neither ever makes anything happen earlier: forward
// waits longer for memory, swap-ins keep their order and find room later, lanes serve more. So the time is a lower
// bound of every leaf below. The same argument says that a classification that does not fit never fits again by
// keeping more.
#include <algorithm>
#include <cstddef>

#include "sim/strategies/pooch/search.h"

namespace spillway {
namespace {

// Every map swapped: how long that takes, and whose copies stall. Does not fit: no stalls.
KeepOrSwap AllSwapped(Search& search) {
  KeepOrSwap result;
  result.classes = search.AllSwap();
  result.simulation = search.Simulate(result.classes);
  if (!result.simulation.feasible) return result;
  for (std::int32_t m = 0; m < search.model->maps(); ++m) {
    if (search.scratch.out_wait[Index(m)] > 0) result.out_stalls.push_back(m);
    if (search.scratch.in_wait[Index(m)] > 0) result.in_stalls.push_back(m);
  }
  return result;
}

class Tree {
 public:
  // `best`: AllSwapped, simulated last.
  Tree(Search& search, std::int64_t cap, KeepOrSwap& best)
      : search_(search), cap_(cap), best_(best), in_(best.in_stalls), classes_(search.AllSwap()) {
    // The most harmful swap-ins first: good leaves early, tight bounds high up.
    const std::vector<Nanos>& wait = search.scratch.in_wait;
    std::stable_sort(in_.begin(), in_.end(),
                     [&](std::int32_t a, std::int32_t b) { return wait[Index(a)] > wait[Index(b)]; });
    std::set_difference(best.out_stalls.begin(), best.out_stalls.end(), best.in_stalls.begin(), best.in_stalls.end(),
                        std::back_inserter(scan_));
    std::reverse(scan_.begin(), scan_.end());
  }

  // A first leaf to beat: keep from the output layer whatever fits.
  void GreedyLeaf() {
    std::vector<std::int32_t> order = in_;
    std::sort(order.rbegin(), order.rend());
    for (std::int32_t m : order) {
      classes_[Index(m)] = MapClass::kKeep;
      if (!search_.Fits(classes_)) classes_[Index(m)] = MapClass::kSwap;
    }
    Leaf();
    for (std::int32_t m : in_) classes_[Index(m)] = MapClass::kSwap;
  }

  void Visit(std::size_t depth) {
    if (Stopped() || Bound(depth) >= best_.simulation.total) return;
    if (depth == in_.size()) return Leaf();
    classes_[Index(in_[depth])] = MapClass::kKeep;
    if (search_.Fits(classes_)) Visit(depth + 1);
    classes_[Index(in_[depth])] = MapClass::kSwap;
    Visit(depth + 1);
  }

 private:
  bool Stopped() {
    if (cap_ > 0 && search_.simulations >= cap_) best_.exact = false;
    return !best_.exact;
  }

  Nanos Bound(std::size_t depth) {
    for (std::size_t i = depth; i < in_.size(); ++i) classes_[Index(in_[i])] = MapClass::kFree;
    for (std::int32_t m : scan_) classes_[Index(m)] = MapClass::kFree;
    const Nanos bound = search_.Simulate(classes_).total;
    for (std::size_t i = depth; i < in_.size(); ++i) classes_[Index(in_[i])] = MapClass::kSwap;
    for (std::int32_t m : scan_) classes_[Index(m)] = MapClass::kSwap;
    return bound;
  }

  // REQUIRES: fits with all of `scan_` swapped. Of equally fast points the one that keeps most counts.
  void Leaf() {
    std::size_t kept = 0, best_kept = 0;
    Simulation best = search_.Simulate(classes_);
    for (; kept < scan_.size(); ++kept) {
      classes_[Index(scan_[kept])] = MapClass::kKeep;
      const Simulation simulation = search_.Simulate(classes_);
      if (!simulation.feasible) break;
      if (simulation.total > best.total) continue;
      best = simulation;
      best_kept = kept + 1;
    }
    for (std::size_t i = best_kept; i < scan_.size(); ++i) classes_[Index(scan_[i])] = MapClass::kSwap;
    if (best.total < best_.simulation.total) {
      best_.simulation = best;
      best_.classes = classes_;
    }
    for (std::int32_t m : scan_) classes_[Index(m)] = MapClass::kSwap;
  }

  Search& search_;
  const std::int64_t cap_;  // 0 = none
  KeepOrSwap& best_;
  std::vector<std::int32_t> in_;    // L_I in the order of the tree's levels
  std::vector<std::int32_t> scan_;  // L_O \ L_I, output layer first
  Classes classes_;
};

}  // namespace

KeepOrSwap SearchKeepOrSwap(Search& search, std::int64_t cap) {
  KeepOrSwap result = AllSwapped(search);
  if (!result.simulation.feasible) return result;
  Tree tree(search, result.in_stalls.size() > kExactLimit ? cap : 0, result);
  tree.GreedyLeaf();
  tree.Visit(0);
  return result;
}

KeepOrSwap GreedyKeepOrSwap(Search& search) {
  KeepOrSwap result = AllSwapped(search);
  if (!result.simulation.feasible) return result;
  const auto keep = [&](std::int32_t m) {
    result.classes[Index(m)] = MapClass::kKeep;
    const bool fits = search.Fits(result.classes);
    if (!fits) result.classes[Index(m)] = MapClass::kSwap;
    return fits;
  };
  for (std::size_t i = result.out_stalls.size(); i-- > 0 && keep(result.out_stalls[i]);) {
  }
  for (std::int32_t m = search.model->maps() - 1; m >= 0; --m) {
    if (result.classes[Index(m)] == MapClass::kSwap) keep(m);
  }
  result.simulation = search.Simulate(result.classes);
  return result;
}

}  // namespace spillway

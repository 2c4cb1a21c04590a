#include "sim/strategies/ucudnn/workspace_division.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace spillway::ucudnn {
namespace {

using Kernels = std::vector<std::vector<Choice>>;

// Times are whole, so what is within half a nanosecond of the best known is no faster; that is also far more than doubles
// are off at 1e14.
constexpr double kTie = 0.5;

// ---- the linear program's greedy solution

// From one corner of a kernel's lower convex hull to the next.
struct Step {
  std::size_t kernel = 0, to = 0;
  Bytes workspace = 0;
  Nanos saved = 0;
  double Price() const { return static_cast<double>(saved) / static_cast<double>(workspace); }
};

std::vector<std::size_t> LowerHull(const std::vector<Choice>& choices) {
  std::vector<std::size_t> hull;
  const auto slope = [&](std::size_t a, std::size_t b) {
    return static_cast<double>(choices[b].time - choices[a].time) /
           static_cast<double>(choices[b].workspace - choices[a].workspace);
  };
  for (std::size_t c = 0; c < choices.size(); ++c) {
    while (hull.size() > 1 && slope(hull[hull.size() - 2], hull.back()) >= slope(hull.back(), c)) hull.pop_back();
    hull.push_back(c);
  }
  return hull;
}

// Those that save most per byte first; of one kernel in order.
std::vector<Step> Steps(const Kernels& kernels) {
  std::vector<Step> steps;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const std::vector<std::size_t> hull = LowerHull(kernels[k]);
    for (std::size_t i = 1; i < hull.size(); ++i) {
      const Choice& from = kernels[k][hull[i - 1]];
      const Choice& to = kernels[k][hull[i]];
      steps.push_back({k, hull[i], to.workspace - from.workspace, from.time - to.time});
    }
  }
  std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.Price() > b.Price(); });
  return steps;
}

struct Greedy {
  std::vector<std::size_t> choice;  // by kernel
  double price = 0;                 // nanoseconds per byte at which the workspace runs out; 0: it does not
};

// Every step that fits; a kernel whose step did not fit stays where it is.
Greedy Solve(const Kernels& kernels, Bytes room) {
  Greedy greedy{std::vector<std::size_t>(kernels.size(), 0), 0};
  std::vector<bool> stays(kernels.size(), false);
  for (const Step& step : Steps(kernels)) {
    if (step.workspace > room && greedy.price == 0) greedy.price = step.Price();
    stays[step.kernel] = stays[step.kernel] || step.workspace > room;
    if (stays[step.kernel]) continue;
    room -= step.workspace;
    greedy.choice[step.kernel] = step.to;
  }
  return greedy;
}

// ---- sums, kernel by kernel

struct Sum {
  Bytes workspace = 0;
  Nanos time = 0;
  std::uint32_t before = 0, choice = 0;  // the sum that it was made from, and what was added
};
using Sums = std::vector<Sum>;

// What the kernels from one on can come to.
struct Rest {
  Bytes least_workspace = 0;
  double least_price = 0;  // of time + price x workspace
};

std::vector<Rest> RestsOf(const Kernels& kernels, double price) {
  std::vector<Rest> rests(kernels.size() + 1);
  for (std::size_t k = kernels.size(); k-- > 0;) {
    double least = INFINITY;
    for (const Choice& choice : kernels[k]) {
      least = std::min(least, static_cast<double>(choice.time) + price * static_cast<double>(choice.workspace));
    }
    rests[k] = {rests[k + 1].least_workspace + kernels[k].front().workspace, rests[k + 1].least_price + least};
  }
  return rests;
}

class Search {
 public:
  Search(const Kernels& kernels, Bytes total, const Greedy& greedy)
      : kernels_(kernels), total_(total), price_(greedy.price), rests_(RestsOf(kernels, greedy.price)) {
    for (std::size_t k = 0; k < kernels.size(); ++k) known_ += kernels[k][greedy.choice[k]].time;
    bound_ = static_cast<double>(known_);
  }

  // Returns the choices that beat the greedy solution; empty: none does.
  std::vector<std::size_t> Run(std::size_t most_states) {
    const std::size_t share = std::max<std::size_t>(1, most_states / std::max<std::size_t>(1, kernels_.size()));
    layers_.assign(1, Sums{Sum{}});
    for (std::size_t k = 0; k < kernels_.size(); ++k) {
      layers_.push_back(Add(layers_.back(), k));
      states_ += static_cast<std::int64_t>(layers_.back().size());
      if (layers_.back().size() > share) Thin(layers_.back(), k + 1, share);
    }
    // A promise counts workspace left over as if it were of use; what is complete has kept it or not.
    const bool better = !layers_.back().empty() && layers_.back().back().time < known_;
    return better ? Trace() : std::vector<std::size_t>{};
  }
  // No solution is below it, rounded up.
  double bound() const { return bound_; }
  std::int64_t states() const { return states_; }

 private:
  // The least time that a sum over the first `k` kernels can come to within the total.
  double Promise(const Sum& sum, std::size_t k) const {
    return static_cast<double>(sum.time) + rests_[k].least_price - price_ * static_cast<double>(total_ - sum.workspace);
  }

  Sums Add(const Sums& from, std::size_t k) const {
    Sums sums;
    for (std::uint32_t c = 0; c < kernels_[k].size(); ++c) {
      const Choice& choice = kernels_[k][c];
      for (std::uint32_t i = 0; i < from.size(); ++i) {
        const Sum sum{from[i].workspace + choice.workspace, from[i].time + choice.time, i, c};
        if (sum.workspace + rests_[k + 1].least_workspace > total_) break;  // ascending
        if (Promise(sum, k + 1) > static_cast<double>(known_) - kTie) continue;
        sums.push_back(sum);
      }
    }
    KeepFront(sums);
    return sums;
  }

  // Those that no other one beats, ascending in workspace; of equal ones the first.
  static void KeepFront(Sums& sums) {
    std::stable_sort(sums.begin(), sums.end(), [](const Sum& a, const Sum& b) {
      return std::pair(a.workspace, a.time) < std::pair(b.workspace, b.time);
    });
    std::size_t kept = 0;
    for (const Sum& sum : sums) {
      if (kept == 0 || sum.time < sums[kept - 1].time) sums[kept++] = sum;
    }
    sums.resize(kept);
  }

  // Keeps those that promise most.
  void Thin(Sums& sums, std::size_t k, std::size_t share) {
    std::vector<double> promises;
    for (const Sum& sum : sums) promises.push_back(Promise(sum, k));
    std::nth_element(promises.begin(), promises.begin() + static_cast<std::ptrdiff_t>(share), promises.end());
    const double most = promises[share];
    bound_ = std::min(bound_, most);
    std::erase_if(sums, [&](const Sum& sum) { return Promise(sum, k) >= most; });
  }

  // The last layer ascends in workspace and descends in time.
  std::vector<std::size_t> Trace() const {
    std::vector<std::size_t> choice(kernels_.size());
    std::size_t at = layers_.back().size() - 1;
    for (std::size_t k = kernels_.size(); k-- > 0;) {
      const Sum& sum = layers_[k + 1][at];
      choice[k] = sum.choice;
      at = sum.before;
    }
    return choice;
  }

  const Kernels& kernels_;
  Bytes total_;
  double price_;
  std::vector<Rest> rests_;
  Nanos known_ = 0;  // the greedy solution's
  std::vector<Sums> layers_;
  double bound_ = 0;
  std::int64_t states_ = 0;
};

Division DivisionOf(const Kernels& kernels, std::vector<std::size_t> choice) {
  Division division{.choice = std::move(choice)};
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    division.time += kernels[k][division.choice[k]].time;
    division.workspace += kernels[k][division.choice[k]].workspace;
  }
  return division;
}

}  // namespace

std::optional<Division> DivideWorkspace(const Kernels& kernels, Bytes total, std::int64_t most_states) {
  Bytes room = total;
  for (const std::vector<Choice>& choices : kernels) {
    if (choices.empty()) return std::nullopt;
    room -= choices.front().workspace;
  }
  if (room < 0) return std::nullopt;
  const Greedy greedy = Solve(kernels, room);
  Search search(kernels, total, greedy);
  std::vector<std::size_t> better = search.Run(static_cast<std::size_t>(most_states));
  Division division = DivisionOf(kernels, better.empty() ? greedy.choice : std::move(better));
  division.bound = std::min(division.time, static_cast<Nanos>(std::ceil(search.bound() - kTie)));
  division.states = search.states();
  return division;
}

}  // namespace spillway::ucudnn

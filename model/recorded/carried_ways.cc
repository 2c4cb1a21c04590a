#include "model/recorded/carried_ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/recorded/recorded_step.h"

namespace spillway {

namespace {

constexpr double kLeastShare = 0.1;  // of a class's time, for a ratio of its own
constexpr double kMostRatio = 1000;  // of times: sums of them are whole numbers of 64 bits

// Of the logarithms of (time by law / recorded time), weighted by recorded time.
struct LogRatios {
  double matched = 0, all = 0;  // recorded time
  double sum = 0, squares = 0;

  void Add(double recorded, double by_law) {
    const double log = std::clamp(std::log(by_law / recorded), -std::log(kMostRatio), std::log(kMostRatio));
    matched += recorded;
    sum += recorded * log;
    squares += recorded * log * log;
  }
  bool Suffice() const { return matched > 0 && matched >= kLeastShare * all; }
  double Mean() const { return std::exp(sum / matched); }
  double Spread() const { return std::sqrt(std::max(0.0, squares / matched - sum / matched * (sum / matched))); }
};

class Carrier {
 public:
  Carrier(const Machine& machine, const CostOptions& options, const RecordedStep& recorded)
      : machine_(machine), recorded_(recorded), slowdown_(options.compute_slowdown) {}

  CarriedWays Carry() {
    times_ = CarryTimes(machine_, recorded_);
    laws_.resize(recorded_.ways.size());
    if (times_.other_device) {
      AskLaws();
      FindRatios();
    }
    CarriedWays carried;
    for (std::size_t op = 0; op < laws_.size(); ++op) {
      carried.ways.push_back(laws_[op].empty() ? WaysOfFile(op) : WaysOfLaws(op));
    }
    if (times_.by_laws > 0) Say(carried.ways);
    carried.times = std::move(times_);
    return carried;
  }

 private:
  const RecordedWay& FastestOfFile(std::size_t op) const {
    const std::vector<RecordedWay>& ways = recorded_.ways[op];
    return *std::min_element(ways.begin(), ways.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
  }

  bool IsProductCall(std::size_t op) const {
    const RecordedCall& call = recorded_.calls[op];
    const auto product = [](const Launch& launch) { return IsProduct(launch.kind); };
    return call.flops > 0 || (call.launches && std::any_of(call.launches->begin(), call.launches->end(), product));
  }

  // Beyond what all times of a file may be together, calls keep the file's.
  void AskLaws() {
    LawWays laws(machine_);
    Nanos whole = 0;
    times_.calls = laws_.size();
    for (std::size_t op = 0; op < laws_.size(); ++op) {
      if (!recorded_.calls[op].launches) continue;
      std::vector<Cost> ways = laws.Of(*recorded_.calls[op].launches);
      if (ways.empty() || ways.back().time > kMostRecordedTime - whole) continue;
      whole += ways.back().time;
      laws_[op] = std::move(ways);
      ++times_.by_laws;
    }
  }

  void FindRatios() {
    LogRatios products, others;
    for (std::size_t op = 0; op < laws_.size(); ++op) {
      LogRatios& of = IsProductCall(op) ? products : others;
      const auto recorded = static_cast<double>(FastestOfFile(op).time);
      const Nanos by_law = laws_[op].empty() ? 0 : laws_[op].front().time;
      if (laws_[op].empty() || by_law > 0) of.all += recorded;
      if (recorded > 0 && by_law > 0) of.Add(recorded, static_cast<double>(by_law));
    }
    const auto take = [](const LogRatios& of, double least, double& factor, double& error, const char*& by) {
      if (!of.Suffice()) return;
      factor = of.Mean();
      error = std::max(of.Spread(), least);
      by = "ratio of the others";
    };
    take(products, kProductsError, times_.by_flops, times_.flops_error, times_.flops_by);
    take(others, kOthersError, times_.by_bytes, times_.bytes_error, times_.bytes_by);
  }

  std::vector<CarriedWay> WaysOfFile(std::size_t op) const {
    const bool by_flops = recorded_.calls[op].flops > 0;
    const double factor = by_flops ? times_.by_flops : times_.by_bytes;
    const double more = by_flops ? times_.flops_error : times_.bytes_error;
    std::vector<CarriedWay> ways;
    for (const RecordedWay& of : recorded_.ways[op]) {
      const auto carried = [&](Nanos time) { return std::llround(static_cast<double>(time) * factor * slowdown_); };
      CarriedWay way{.again = carried(of.recompute_time)};
      way.cost.time = carried(of.time);
      way.cost.source = times_.same ? recorded_.source.kind : Source::Kind::kAssumed;
      way.cost.error = std::hypot(recorded_.error, more);
      way.cost.shared_error = std::hypot(recorded_.shared_error, more);
      way.cost.group = recorded_.digest;
      way.cost.how = times_.other_device ? "recorded, scaled" : "recorded";
      way.cost.algorithm = static_cast<std::int32_t>(ways.size()) + 1;
      way.cost.workspace = of.workspace;
      ways.push_back(way);
    }
    return ways;
  }

  // A further run takes as much less as the file says. Held bytes are workspace, whatever runs.
  std::vector<CarriedWay> WaysOfLaws(std::size_t op) const {
    const RecordedWay& of = FastestOfFile(op);
    const double again = of.time > 0 ? static_cast<double>(of.recompute_time) / static_cast<double>(of.time) : 1;
    std::vector<CarriedWay> ways;
    for (const Cost& cost : laws_[op]) {
      CarriedWay way{.cost = cost};
      const double time = static_cast<double>(cost.time) * slowdown_;
      way.cost.time = std::llround(time);
      way.cost.copy_slowdown = 1 + (cost.copy_slowdown - 1) / slowdown_;
      way.cost.algorithm = static_cast<std::int32_t>(ways.size()) + 1;
      way.cost.workspace = std::min(kMostWorkspace, cost.workspace + recorded_.calls[op].held);
      way.again = std::llround(time * std::min(again, kMostRatio));
      ways.push_back(way);
    }
    return ways;
  }

  void Say(const std::vector<std::vector<CarriedWay>>& ways) {
    double all = 0, by_laws = 0;
    for (std::size_t op = 0; op < ways.size(); ++op) {
      const auto time = static_cast<double>(ways[op].front().cost.time);
      all += time;
      if (!laws_[op].empty()) by_laws += time;
    }
    if (by_laws == 0) return;  // only calls without a kernel: as by data sheets alone
    times_.law_share = by_laws / all;
    times_.note =
        fmt::format("{}: recorded on {} ({}), not on {}: {} of {} calls, {:.1f} % of the time there, by laws of {}",
                    recorded_.step.network, RecordedDeviceName(recorded_), recorded_.about.precision, machine_.name,
                    times_.by_laws, times_.calls, 100 * times_.law_share, machine_.name);
    if (times_.by_laws == times_.calls) return;
    times_.note += fmt::format(
        "; the rest is assumed: scaled by {:.3g} where an op's flops are known ({}), by {:.3g} elsewhere ({})",
        times_.by_flops, times_.flops_by, times_.by_bytes, times_.bytes_by);
  }

  const Machine& machine_;
  const RecordedStep& recorded_;
  const double slowdown_;
  CarriedTimes times_;
  std::vector<std::vector<Cost>> laws_;  // by op; empty: none
};

}  // namespace

CarriedWays CarryWays(const Machine& machine, const CostOptions& options, const RecordedStep& recorded) {
  return Carrier(machine, options, recorded).Carry();
}

}  // namespace spillway

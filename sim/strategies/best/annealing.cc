#include "sim/strategies/best/annealing.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "hw/text/lists.h"
#include "model/util/random.h"

namespace spillway {

namespace {

constexpr double kColdest = 1.0 / 100;  // of the hottest temperature
constexpr int kCoolings = 100;          // temperatures in all
// Prices of a byte beyond the capacity, in shares of what a byte of the largest excess costs that makes a step half as long
// again: in the beginning, and in the end.
constexpr double kFirstPrice = 1, kLastPrice = 24;
constexpr int kRaises = 20;
constexpr std::size_t kMostChanges = 6;
constexpr double kEndlessPrice = 1e30;  // a price

// Minus the logarithm of a random number, for acceptance: 1024 quantiles of the exponential distribution, by sums and
// products alone, which are the same on every machine (the logarithms of C libraries are not).
const std::array<double, 1024>& Exponentials() {
  static const std::array<double, 1024> kTable = [] {
    std::array<double, 1024> table{};
    for (std::size_t k = 0; k < table.size(); ++k) {
      // -ln((2k + 1) / 2048) = 2 artanh((1 - u) / (1 + u)), halved until the series is short: u in [1/2, 1].
      double u = (2.0 * static_cast<double>(k) + 1) / 2048, sum = 0;
      for (; u < 0.5; u *= 2) sum += 0.69314718055994530942;
      const double x = (1 - u) / (1 + u);
      double power = x;
      for (int n = 1; n < 60; n += 2, power *= x * x) sum += 2 * power / n;
      table[k] = sum;
    }
    return table;
  }();
  return kTable;
}

// The n-th root of a number in (0, 1), by bisection: exact enough, and the same everywhere.
double Root(double number, int n) {
  double low = 0, high = 1;
  for (int k = 0; k < 60; ++k) {
    const double middle = (low + high) / 2;
    double power = 1;
    for (int i = 0; i < n; ++i) power *= middle;
    (power < number ? low : high) = middle;
  }
  return low;
}

class Annealer {
 public:
  Annealer(GapModel& model, const OpenChoices& open, const GapChoices& start, const AnnealingOptions& options)
      : model_(model), options_(options), open_(open), random_(options.seed), now_(start) {
    Bytes all = 1;
    for (const GapTables::Gap& gap : model.tables().gaps) all += gap.bytes;
    unit_price_ = 0.5 * static_cast<double>(model.tables().kernels) / static_cast<double>(all);
  }

  Annealed Run() {
    if (open_.gaps.empty() && open_.ops.empty()) {
      Note(model_.Judge(now_));
      return std::move(best_);
    }
    Cool(kFirstPrice, kLastPrice);
    if (best_.found || !options_.insist) return std::move(best_);
    RaisePrice();  // moving costs more than that here
    if (best_.found) now_ = best_.choices;
    Cool(price_ / unit_price_, price_ / unit_price_ * kLastPrice);
    best_.insisted = true;
    return std::move(best_);
  }

 private:
  void Note(const GapJudgement& judged) {
    if (!judged.Fits() || judged.time >= best_.time) return;
    best_ = {.found = true, .choices = now_, .time = judged.time};
  }
  // From one price to the other.
  void Cool(double first, double last) {
    const double cooler = Root(kColdest, kCoolings), dearer = 1 / Root(first / last, kCoolings);
    temperature_ = options_.hottest * static_cast<double>(model_.tables().kernels);
    price_ = first * unit_price_;
    for (int k = 0; k < kCoolings; ++k, temperature_ *= cooler, price_ *= dearer)
      TryFor(options_.judgements / kCoolings);
  }
  void RaisePrice() {
    for (int k = 0; k < kRaises && !best_.found; ++k, price_ *= 2) TryFor(options_.judgements / kCoolings);
  }
  void TryFor(std::int64_t judgements) {
    if (options_.stop.stop_requested()) return;
    const std::int64_t stop = model_.judgements() + judgements;
    cost_ = Judge(std::numeric_limits<double>::infinity());
    while (model_.judgements() < stop) Try();
  }
  // Beyond `most` it may be less than it is.
  double Judge(double most) {
    const GapJudgement judged = model_.Judge(now_, {.cost = most, .price = price_, .time = best_.time});
    const double cost = static_cast<double>(judged.time) + price_ * static_cast<double>(judged.excess);
    Note(judged);
    return cost;
  }
  std::size_t Any(std::size_t count) { return random_.Below(static_cast<std::uint32_t>(count)); }

  void Set(const Change& change) {
    if (changes_ < kMostChanges) undo_[changes_++] = Apply(change, now_);
  }
  void SetGap(const OpenChoices::Gap& gap, GapWay way) {
    if (way != now_.gaps[gap.row]) Set({false, gap.row, static_cast<std::uint8_t>(way)});
  }
  const OpenChoices::Gap& AnyGap() { return open_.gaps[Any(open_.gaps.size())]; }
  GapWay AnyWay(const OpenChoices::Gap& gap) { return gap.ways[Any(gap.ways.size())]; }
  void SetAny(const OpenChoices::Gap& gap) { SetGap(gap, AnyWay(gap)); }

  void ChangeOp() {
    const OpenChoices::Op& op = open_.ops[Any(open_.ops.size())];
    const auto way = static_cast<std::uint8_t>(Any(op.ways));
    if (way != now_.ops[op.row]) Set({true, op.row, way});
  }
  void ChangeFew() {
    const int count = 1 + (random_.Below(2) == 0 ? 1 : 0) + (random_.Below(5) == 0 ? 1 : 0);
    for (int k = 0; k < count; ++k) SetAny(AnyGap());
  }
  // Two change places, neighbours mostly.
  void Exchange() {
    const std::size_t first = Any(open_.gaps.size());
    const std::size_t second = random_.Below(2) == 0 ? Any(open_.gaps.size()) : first + 1 + Any(3);
    if (second >= open_.gaps.size()) return;
    const OpenChoices::Gap &a = open_.gaps[first], &b = open_.gaps[second];
    const GapWay of_a = now_.gaps[a.row], of_b = now_.gaps[b.row];
    if (of_a == of_b) return SetAny(a);
    if (!a.Has(of_b) || !b.Has(of_a)) return;
    SetGap(a, of_b);
    SetGap(b, of_a);
  }
  void ChangeStretch() {
    const std::size_t begin = Any(open_.gaps.size()), end = std::min(begin + 2 + Any(3), open_.gaps.size());
    const GapWay way = AnyWay(open_.gaps[begin]);
    for (std::size_t k = begin; k < end; ++k) {
      if (open_.gaps[k].Has(way)) SetGap(open_.gaps[k], way);
    }
  }

  void ChangeSomething() {
    const std::uint32_t kind = random_.Below(10);
    const bool op = !open_.ops.empty() && (open_.gaps.empty() || kind < 2);
    if (op) return ChangeOp();
    if (kind < 5) return ChangeFew();
    if (kind < 9) return Exchange();
    ChangeStretch();
  }

  void Try() {
    changes_ = 0;
    while (changes_ == 0) ChangeSomething();
    const double most = cost_ + temperature_ * Exponentials()[Any(1024)], cost = Judge(most);
    if (cost <= most) {
      cost_ = cost;
      return;
    }
    while (changes_ > 0) Apply(undo_[--changes_], now_);
  }

  GapModel& model_;
  const AnnealingOptions& options_;
  const OpenChoices& open_;
  Random random_;
  GapChoices now_;
  Annealed best_;
  double unit_price_ = 0, price_ = 0, temperature_ = 0, cost_ = 0;
  std::array<Change, kMostChanges> undo_{};
  std::size_t changes_ = 0;
};

}  // namespace

Change Apply(const Change& change, GapChoices& choices) {
  Change back = change;
  if (change.of_op) {
    back.way = std::exchange(choices.ops[change.row], change.way);
  } else {
    back.way = static_cast<std::uint8_t>(std::exchange(choices.gaps[change.row], static_cast<GapWay>(change.way)));
  }
  return back;
}

bool OpenChoices::Gap::Has(GapWay way) const { return Contains(ways, way); }

OpenChoices::OpenChoices(const GapTables& tables, const Allowed& allowed) {
  for (std::size_t g = 0; g < tables.gaps.size(); ++g) {
    Gap gap{.row = g, .ways = {GapWay::kKeep}};
    if (allowed.swap && tables.gaps[g].may_swap) gap.ways.push_back(GapWay::kSwap);
    if (allowed.recompute && tables.gaps[g].may_recompute) {
      gap.ways.push_back(GapWay::kRecompute);
      if (tables.gaps[g].serves < 0) gap.ways.push_back(GapWay::kRecomputeAnew);
    }
    if (gap.ways.size() > 1) gaps.push_back(std::move(gap));
  }
  for (std::size_t op = 0; allowed.algorithms && op < tables.ops.size(); ++op) {
    const auto ways = static_cast<std::uint8_t>(tables.ops[op].ways.end - tables.ops[op].ways.begin);
    if (ways > 1) ops.push_back({op, ways});
  }
}

Annealed Anneal(GapModel& model, const OpenChoices& open, const GapChoices& start, const AnnealingOptions& options) {
  return Annealer(model, open, start, options).Run();
}

void Settle(GapModel& model, const OpenChoices& open, std::int64_t judgements, Annealed& best) {
  if (!best.found) return;
  best.choices = model.Settled(best.choices);
  best.time = model.Judge(best.choices).time;
  const std::int64_t stop = model.judgements() + judgements;
  for (bool gained = true; gained && model.judgements() < stop;) {
    gained = false;
    GapChoices now = best.choices;
    open.ForEach(now, [&](const Change& change) {
      const Change back = Apply(change, now);
      // What is not faster need not be timed to its end, what does not fit not at all.
      const WorthTiming worth{.cost = static_cast<double>(best.time), .price = kEndlessPrice, .time = best.time};
      const GapJudgement judged = model.Judge(now, worth);
      if (judged.Fits() && judged.time < best.time) {
        best.choices = now;
        best.time = judged.time;
        gained = true;
      } else {
        Apply(back, now);
      }
    });
  }
}

}  // namespace spillway

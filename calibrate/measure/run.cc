#include "calibrate/measure/run.h"

#include <algorithm>
#include <optional>
#include <set>
#include <type_traits>

#include "calibrate/measure/guard.h"
#include "calibrate/measure/journal.h"
#include "calibrate/measure/refused.h"
#include "hw/text/document.h"
#include "hw/text/lists.h"
#include "model/kernels/kernel_form.h"

namespace spillway {
namespace {

// Rounds after the first look again at variants that are at most this much slower than the best.
constexpr double kWorthAnotherLook = 1.15;

// What was noisy in the first round, its algorithm 0.
std::vector<Launch> NoisyLaunches(std::span<const Sample> samples) {
  std::vector<Launch> noisy;
  for (const Sample& sample : samples) {
    if (sample.what != SampleKind::kKernel || sample.contention != "none" || RoundOf(sample) != 1) continue;
    if (!HasFlag(sample, kNoisyNote) && !HasFlag(sample, kThrottledNote)) continue;
    noisy.push_back(sample.launch);
    noisy.back().algorithm = 0;
  }
  return noisy;
}

std::size_t EndOfGroup(const std::vector<BenchItem>& items, std::size_t begin) {
  std::size_t end = begin;
  while (end < items.size() && items[end].group == items[begin].group) ++end;
  return end;
}

class Runner {
 public:
  Runner(std::span<const BenchItem> plan, BenchTarget& target, const Clock& clock, const BenchRunOptions& options,
         BenchJournal& journal, BenchWatcher& watcher)
      : items_(plan.begin(), plan.end()),
        target_(target),
        clock_(clock),
        options_(options),
        journal_(journal),
        watcher_(watcher),
        inflight_(target.MayHang() ? InflightPath(journal.path()) : ""),
        refused_(RefusedPath(journal.path())),
        largest_share_(LargestShare(plan)),
        begin_(clock.Now()) {}
  BenchReport Run();

 private:
  void RunGroup(std::size_t begin, std::size_t end);
  void Carry(const BenchItem& item);
  void CarryVariants(const BenchItem& item, const std::vector<BenchVariant>& variants);
  std::vector<BenchVariant> VariantsOf(const BenchItem& item) {
    return Judged(item, Alone(item, {}), [&] { return target_.Variants(item); });
  }
  // What `call` returns; nothing: the device refuses it, which is noted.
  template <typename Call>
  std::invoke_result_t<Call> Judged(const BenchItem& item, const Sample& row, const Call& call);
  // Notes once that an earlier run ended with it.
  void Skip(const BenchItem& item, const Sample& sample);
  // Now or by an earlier run, which is noted once.
  bool WasRefused(const BenchItem& item, const BenchVariant& variant);
  // False: it is known. What the device refuses is noted and nothing is thrown.
  bool Take(const BenchItem& item, const BenchVariant& variant, double best);
  void Keep(const BenchItem& item, const BenchVariant& variant, const LoopResult& result, Sample sample);
  bool Stopped();
  bool InJournal(const BenchItem& item) const;
  bool Known(const BenchItem& item);
  bool LateFor(BenchGroup group) const;
  Sample Bare(const BenchItem& item, const BenchVariant& variant) const { return BareRow(target_, item, variant); }
  Sample Alone(BenchItem item, const BenchVariant& variant) const;  // a kernel's row without copies beside it
  double FirstTime(const BenchItem& item, const BenchVariant& variant) const;  // nanoseconds; 0: not known
  std::vector<BenchVariant> WorthWhile(const BenchItem& item, std::vector<BenchVariant> variants) const;
  void RearrangeAgain(std::size_t begin, std::size_t end);

  std::vector<BenchItem> items_;
  std::vector<BenchItem> late_;  // their groups had no time left
  BenchTarget& target_;
  const Clock& clock_;
  const BenchRunOptions& options_;
  BenchJournal& journal_;
  BenchWatcher& watcher_;
  BenchInflight inflight_;
  BenchRefused refused_;
  std::set<std::string> skipped_;
  double largest_share_;
  Nanos begin_;
  BenchReport report_;
};

void Runner::Keep(const BenchItem& item, const BenchVariant& variant, const LoopResult& result, Sample sample) {
  FillRow(item, variant, result, target_.Load(), &sample);
  sample.date = options_.date;
  journal_.Append(sample);
  ++report_.measured;
  if (result.noisy && !result.cut_short) ++report_.noisy;
}

void Runner::Skip(const BenchItem& item, const Sample& sample) {
  if (!skipped_.insert(BenchKey(sample)).second) return;
  const std::string algorithm = sample.algorithm.empty() ? "" : " by " + sample.algorithm;
  report_.refused.push_back(
      fmt::format("{}{}{}: left out, an earlier run ended while it was measured; remove {} to try again", NameOf(item),
                  algorithm, item.from == nullptr ? "" : " of " + item.from->name, inflight_.path()));
}

bool Runner::WasRefused(const BenchItem& item, const BenchVariant& variant) {
  return refused_.Tell(Alone(item, variant), &report_.refused) || refused_.Tell(Bare(item, variant), &report_.refused);
}

template <typename Call>
std::invoke_result_t<Call> Runner::Judged(const BenchItem& item, const Sample& row, const Call& call) {
  return GuardBench(item, [&]() -> std::invoke_result_t<Call> {
    try {
      return call();
    } catch (const UserError& error) {
      report_.refused.emplace_back(error.what());
      if (dynamic_cast<const NotRemembered*>(&error) == nullptr) refused_.Add(row, error.what());
    }
    return {};
  });
}

bool Runner::Take(const BenchItem& item, const BenchVariant& variant, double best) {
  Sample sample = Bare(item, variant);
  if (journal_.Has(sample, item.round) || WasRefused(item, variant)) return false;
  if (inflight_.Skips(sample)) {
    Skip(item, sample);
    return true;
  }
  LoopOptions loop = options_.loop;
  if (best > 0) loop.hopeless = best * options_.hopeless;
  inflight_.Begin(sample);
  const auto result = Judged(item, sample, [&] { return std::optional(target_.Measure(item, variant, loop)); });
  inflight_.End();
  if (result) Keep(item, variant, *result, std::move(sample));
  return true;
}

Sample Runner::Alone(BenchItem item, const BenchVariant& variant) const {
  if (item.kind == BenchItem::Kind::kKernel) item.contention = "none";
  return Bare(item, variant);
}

double Runner::FirstTime(const BenchItem& item, const BenchVariant& variant) const {
  const Sample* const sample = journal_.Find(Alone(item, variant), 1);
  return sample == nullptr ? 0 : 1000 * sample->microseconds;
}

// The first round looks at all; later ones at the best and its rivals, copies beside them at the best alone.
std::vector<BenchVariant> Runner::WorthWhile(const BenchItem& item, std::vector<BenchVariant> variants) const {
  if (item.round == 1 && item.contention == "none") return variants;
  double best = 0;
  for (const BenchVariant& variant : variants) {
    const double time = FirstTime(item, variant);
    if (time > 0 && (best == 0 || time < best)) best = time;
  }
  const double most = best * (item.group == BenchGroup::kBeside ? 1 : kWorthAnotherLook);
  std::erase_if(variants, [&](const BenchVariant& variant) {
    const double time = FirstTime(item, variant);
    return time == 0 || time > most;
  });
  return variants;
}

void Runner::CarryVariants(const BenchItem& item, const std::vector<BenchVariant>& variants) {
  double best = 0;
  bool any_new = false;
  for (const BenchVariant& variant : variants) {
    if (Stopped()) {
      ++report_.left_out;  // what is missing of it
      return;
    }
    any_new = Take(item, variant, best) || any_new;
    const Sample* const sample = journal_.Find(Bare(item, variant), item.round);
    const double time = sample == nullptr ? 0 : 1000 * sample->microseconds;
    if (time > 0 && (best == 0 || time < best)) best = time;
  }
  if (!any_new) ++report_.known;
}

void Runner::Carry(const BenchItem& item) {
  if (item.kind != BenchItem::Kind::kKernel || WasRefused(item, {})) {
    if (!Take(item, {}, 0)) ++report_.known;
    return;
  }
  const std::vector<BenchVariant> variants = VariantsOf(item);
  if (!variants.empty()) CarryVariants(item, WorthWhile(item, variants));
}

bool Runner::Stopped() {
  report_.stopped = report_.stopped || watcher_.Stop();
  return report_.stopped;
}

bool Runner::LateFor(BenchGroup group) const {
  const double spent = static_cast<double>(clock_.Now() - begin_);
  const double share = std::min(1.0, BudgetShare(group) / largest_share_);
  return spent > share * static_cast<double>(options_.budget);
}

// The last group begins with launches that there was no time for before, those of the networks; then comes what was
// noisy the first time, launches of the grid among it, which are not looked at again otherwise. What else was late comes
// at the end.
void Runner::RearrangeAgain(std::size_t begin, std::size_t end) {
  // Looked for once: a long grid has thousands of launches, and its journal tens of thousands of rows.
  const std::vector<Launch> noisy = NoisyLaunches(journal_.samples());
  const auto is_noisy = [&noisy](const BenchItem& item) { return Contains(noisy, item.launch); };
  const int round = items_[begin].round;
  std::vector<BenchItem> first, last;
  for (const BenchItem& item : late_) (item.group == BenchGroup::kNetworks ? first : last).push_back(item);
  for (std::size_t i = 0; i < begin; ++i) {
    if (items_[i].group != BenchGroup::kGrid || !is_noisy(items_[i])) continue;
    first.push_back(items_[i]);
    first.back().round = round;
  }
  report_.left_out -= static_cast<int>(late_.size());
  for (std::vector<BenchItem>* items : {&first, &last}) {
    for (BenchItem& item : *items) item.group = BenchGroup::kAgain;
  }
  const auto at = [this](std::size_t k) { return items_.begin() + static_cast<std::ptrdiff_t>(k); };
  std::stable_partition(at(begin), at(end),
                        [&](const BenchItem& item) { return item.round == round && is_noisy(item); });
  items_.insert(at(end), last.begin(), last.end());
  items_.insert(at(begin), first.begin(), first.end());
}

// Whether there is a row of it, or it was refused, by any algorithm.
bool Runner::InJournal(const BenchItem& item) const {
  const bool kernel = item.kind == BenchItem::Kind::kKernel;
  const std::size_t algorithms = kernel ? AlgorithmNames(item.launch.kind, item.launch.pass).size() : 0;
  for (std::size_t algorithm = 0; algorithm <= algorithms; ++algorithm) {
    const BenchVariant variant{.algorithm = static_cast<std::int32_t>(algorithm)};
    if (journal_.Has(Bare(item, variant), item.round)) return true;
    if (refused_.Has(Alone(item, variant)) || refused_.Has(Bare(item, variant))) return true;
  }
  return false;
}

// Whether nothing of it is left to measure. A run that was killed may have left rows of some algorithms only; which ones
// there are costs the library a while, and is asked for only then.
bool Runner::Known(const BenchItem& item) {
  if (!InJournal(item)) return false;
  if (WasRefused(item, {}) || item.kind != BenchItem::Kind::kKernel) return true;
  const std::vector<BenchVariant> variants = VariantsOf(item);
  const auto refused = [&](const BenchVariant& v) { return WasRefused(item, v); };
  if (std::all_of(variants.begin(), variants.end(), refused)) return true;
  const std::vector<BenchVariant> worth = WorthWhile(item, variants);  // none: the first look is missing
  return !worth.empty() && std::all_of(worth.begin(), worth.end(), [&](const BenchVariant& v) {
    return journal_.Has(Bare(item, v), item.round) || refused(v);
  });
}

void Runner::RunGroup(std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    const BenchItem& item = items_[i];
    if (Stopped()) {
      ++(InJournal(item) ? report_.known : report_.left_out);
      continue;
    }
    watcher_.Progress(item, i, items_.size());
    if (!LateFor(item.group)) {
      Carry(item);
    } else if (Known(item)) {
      ++report_.known;
    } else {
      ++report_.left_out;
      late_.push_back(item);
    }
  }
  if (report_.stopped) return;
  watcher_.GroupDone(items_[begin].group);
}

BenchReport Runner::Run() {
  for (std::size_t begin = 0, end = 0; begin < items_.size(); begin = end) {
    const bool again = items_[begin].group == BenchGroup::kAgain;
    if (again && !report_.stopped) RearrangeAgain(begin, EndOfGroup(items_, begin));
    end = EndOfGroup(items_, begin);
    RunGroup(begin, end);
  }
  return std::move(report_);
}

}  // namespace

BenchReport RunBench(std::span<const BenchItem> plan, BenchTarget& target, const Clock& clock,
                     const BenchRunOptions& options, BenchJournal& journal, BenchWatcher& watcher) {
  return Runner(plan, target, clock, options, journal, watcher).Run();
}

}  // namespace spillway

#include "calibrate/validate/carried.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "calibrate/validate/falsify.h"
#include "model/stats/quantile.h"
#include "model/stats/statistics.h"

namespace spillway {

namespace {

constexpr std::size_t kWithoutWarmUp = 3;  // whole contexts from which the first does not count

bool SamePlan(const CarriedReport& a, const CarriedReport& b) {
  const auto plan = [](const CarriedReport& r) { return std::tie(r.strategy, r.predicted_peak, r.predicted_step); };
  return plan(a) == plan(b);
}

bool SameCase(const CarriedReport& a, const CarriedReport& b) {
  const auto place = [](const CarriedReport& r) {
    return std::tie(r.network, r.batch, r.machine, r.device, r.capacity);
  };
  return place(a) == place(b);
}

std::vector<CarriedContext> WholeContexts(const CarriedReport& report) {
  std::int64_t longest = 1;
  for (const CarriedContext& context : report.contexts) {
    if (context.lost_at.empty()) longest = std::max(longest, context.clock);
  }
  std::vector<CarriedContext> whole;
  for (const CarriedContext& context : report.contexts) {
    if (context.lost_at.empty() && context.clock == longest) whole.push_back(context);
  }
  return whole;
}

bool Counts(const std::vector<CarriedContext>& contexts) {
  return std::any_of(contexts.begin(), contexts.end(), [](const CarriedContext& c) { return c.counted > 0; });
}

// Counting takes time: where another report of the plan did without, times are that one's.
void TakeTimes(std::vector<CarriedContext> whole, std::uint64_t seed, ValidationRow& row) {
  if (whole.size() >= kWithoutWarmUp) whole.erase(whole.begin());
  std::vector<double> times, predicted;
  for (const CarriedContext& context : whole) {
    times.push_back(context.seconds * 1e9);
    if (context.predicted > 0) predicted.push_back(static_cast<double>(context.predicted));
  }
  if (!predicted.empty()) row.predicted = static_cast<Nanos>(Median(predicted));
  row.measured = Median(times);
  row.measured_spread = (Quantile(times, 0.75) - Quantile(times, 0.25)) / row.measured;
  row.step_times = {std::move(times)};
  const Spread interval = BootstrapMedian(row.step_times, {.seed = seed});
  row.measured_low = interval.low;
  row.measured_high = interval.high;
}

void TakePeaks(const CarriedReport& report, const std::vector<CarriedContext>& whole, ValidationRow& row) {
  for (const CarriedContext& context : whole) {
    row.measured_peak = std::max(row.measured_peak, context.counted);
    row.measured_device = std::max(row.measured_device, context.Device());
    row.allocated = std::max(row.allocated, context.allocated);
  }
  row.measured_peak = std::max(row.measured_peak, report.all.counted);
  row.measured_host = std::max(row.measured_host, report.host);
}

std::string WhyNone(const CarriedReport& report) {
  for (const CarriedContext& context : report.contexts) {
    if (!context.lost_at.empty())
      return fmt::format("every context lost the track, one of them at '{}'", context.lost_at);
  }
  return "no call of the recording was met";
}

class Carriage {
 public:
  explicit Carriage(std::uint64_t seed) : seed_(seed) {}

  CarriedResults Run(const std::vector<CarriedReport>& reports) {
    for (const CarriedReport& report : reports) Add(report);
    ValidationSet& set = results_.set;
    std::stable_sort(set.rows.begin(), set.rows.end(),
                     [](const ValidationRow& a, const ValidationRow& b) { return a.case_index < b.case_index; });
    for (std::size_t c = 0; c < set.cases.size(); ++c) Judge(c);
    SummariseSet(set);
    return std::move(results_);
  }

 private:
  void Add(const CarriedReport& report) {
    const std::size_t place = PlaceOf(report);
    Note(report);
    const std::vector<CarriedContext> whole = WholeContexts(report);
    Found& found = RowOf(report, place);
    ValidationRow& row = results_.set.rows[found.row];
    if (whole.empty()) {
      if (!row.Measured()) std::tie(row.failed, row.reason) = std::pair(true, WhyNone(report));
      return;
    }
    std::tie(row.failed, row.reason) = std::pair(false, "");
    TakePeaks(report, whole, row);
    const bool counted = Counts(whole);
    if (!row.Measured() || (found.counted && !counted)) {
      TakeTimes(whole, seed_, row);
      found.counted = counted;
    }
  }

  std::size_t PlaceOf(const CarriedReport& report) {
    for (std::size_t k = 0; k < found_.size(); ++k) {
      if (SameCase(*found_[k].report, report))
        return static_cast<std::size_t>(results_.set.rows[found_[k].row].case_index);
    }
    ValidationCase place;
    place.carried = true;
    place.scenario = "carried out";
    place.network = place.network_base = report.network;
    place.machine = report.machine.empty() ? "an unnamed machine" : report.machine;
    place.device = report.device;
    place.batch = report.batch;
    place.memory_limit = report.capacity;
    results_.set.cases.push_back(std::move(place));
    return results_.set.cases.size() - 1;
  }

  struct Found {
    const CarriedReport* report = nullptr;  // the first of its plan
    std::size_t row = 0;
    bool counted = false;  // its times were taken while bytes were counted
  };

  Found& RowOf(const CarriedReport& report, std::size_t place) {
    for (Found& found : found_) {
      if (SameCase(*found.report, report) && SamePlan(*found.report, report)) return found;
    }
    ValidationRow row;
    row.case_index = static_cast<int>(place);
    row.strategy = report.strategy;
    row.feasible = true;
    row.predicted = report.predicted_step;
    row.predicted_peak = report.predicted_peak;
    row.predicted_host = report.predicted_host;
    results_.set.rows.push_back(std::move(row));
    found_.push_back({&report, results_.set.rows.size() - 1, false});
    return found_.back();
  }

  // What the steps did that the recording does not have.
  void Note(const CarriedReport& report) {
    const CarriedSums& all = report.all;
    if (all.lost + all.extra + all.missing == 0) return;
    std::string note =
        fmt::format("{}: {} contexts, {} extra calls, {} missing", report.file, all.contexts, all.extra, all.missing);
    if (all.lost > 0) note += fmt::format(", {} lost the track", all.lost);
    const auto most = std::max_element(report.extra_calls.begin(), report.extra_calls.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != report.extra_calls.end()) note += fmt::format("; most often extra: {} ({})", most->first, most->second);
    results_.set.notes.push_back(std::move(note));
  }

  void Judge(std::size_t c) {
    ValidationSet& set = results_.set;
    ValidationCase& place = set.cases[c];
    std::vector<ValidationRow> rows;
    for (const ValidationRow& row : set.rows) {
      if (row.case_index == static_cast<int>(c)) rows.push_back(row);
    }
    for (const ValidationRow& row : rows) {
      const std::string name = fmt::format("{} by {}", place.network, row.strategy);
      if (row.failed) results_.failures.push_back(name + ": " + row.reason);
      if (row.measured_peak == 0 && !row.failed) {
        set.notes.push_back(name + ": bytes were not counted, so that the peak is not checked");
      }
      if (row.measured_peak <= place.memory_limit) continue;
      results_.failures.push_back(fmt::format("{}: counted peak {} above the {} planned for", name,
                                              FormatBytes(row.measured_peak), FormatBytes(place.memory_limit)));
    }
    if (rows.size() > 1) JudgeCase(rows, seed_, place);
  }

  const std::uint64_t seed_;
  CarriedResults results_;
  std::vector<Found> found_;
};

}  // namespace

CarriedResults ValidateCarried(const std::vector<CarriedReport>& reports, std::uint64_t seed) {
  return Carriage(seed).Run(reports);
}

}  // namespace spillway

#include "calibrate/fit/transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>

#include "hw/machine/hardware_text.h"
#include "model/stats/quantile.h"

namespace spillway {
namespace {

// What is assumed where nothing was measured.
constexpr double kUsualDuplex = 0.85, kLeastDuplex = 0.7, kMostDuplex = 1.0;  // 0.7 to 0.95 is usual on PCIe hosts
constexpr double kUsualRow = 10, kLeastRow = 0, kMostRow = 50;                // one descriptor of a 2-D copy
constexpr double kUsualLatency = 10e3;                                        // of a copy of which one size is known

// Copies from here on are bound by the link, not by latency: they tell what two directions leave each other.
constexpr Bytes kLarge = kMiB;
// Least errors of a curve, by how many sizes it comes from.
constexpr double kErrorOfFew = 0.1, kErrorOfTwo = 0.2, kErrorOfOne = 0.3, kLeastError = 0.02;
constexpr double kErrorOfLarge = 0.15;  // of a single size that tells the rate
constexpr Bytes kTellsRate = 16 * kMiB;
constexpr int kFewSizes = 4;

// (p90 - p10) / standard deviation of a normal distribution.
constexpr double kSpreadOfNormal = 2.563;

using LinkKey = std::tuple<std::string, std::string, std::string>;
using Samples = std::vector<const Sample*>;

bool IsDirection(const std::string& name) { return name == "h2d" || name == "d2h"; }

bool Serves(const Sample& sample) {
  return sample.what == SampleKind::kCopy && IsDirection(sample.direction) && sample.bytes > 0 &&
         sample.microseconds > 0;
}

double NanosOf(const Sample& sample) { return sample.microseconds * 1e3; }

Source SourceOf(const Samples& samples, const std::string& what) {
  std::set<std::string> sources;
  for (const Sample* sample : samples) {
    if (!sample->source.empty()) sources.insert(sample->source.substr(0, sample->source.find(';')));
  }
  Source source{sources.empty() ? Source::Kind::kMeasured : Source::Kind::kPublished, what};
  for (const std::string& name : sources) source.text += "; " + name;
  return source;
}

std::string NameOf(const Sample& sample) {
  return fmt::format("{} {} {} on link '{}'{}", sample.kind, sample.direction, sample.device, sample.link,
                     sample.host.empty() ? "" : " of " + sample.host);
}

// Curves -------------------------------------------------------------------------------------------------------------

std::vector<TimedCopy> CopiesOf(const Samples& samples) {
  std::vector<TimedCopy> copies;
  for (const Sample* sample : samples) {
    copies.push_back({sample->bytes, NanosOf(*sample), sample->spread / kSpreadOfNormal});
  }
  std::sort(copies.begin(), copies.end(), [](const TimedCopy& a, const TimedCopy& b) {
    return std::tie(a.bytes, a.nanos, a.deviation) < std::tie(b.bytes, b.nanos, b.deviation);
  });
  return copies;
}

int DifferentSizes(const Samples& samples) {
  std::set<Bytes> sizes;
  for (const Sample* sample : samples) sizes.insert(sample->bytes);
  return static_cast<int>(sizes.size());
}

// A line through the one size that is known and the usual latency, or half its time if that is less.
std::vector<TransferCurve::Point> LineThrough(const TimedCopy& copy) {
  const double latency = std::min(kUsualLatency, copy.nanos / 2);
  const Bytes first = std::min<Bytes>(4 * kKiB, copy.bytes / 2);
  const double rate = (copy.nanos - latency) / static_cast<double>(copy.bytes);
  return {{first, std::llround(latency + rate * static_cast<double>(first))}, {copy.bytes, std::llround(copy.nanos)}};
}

double LeastErrorOf(int sizes, Bytes largest) {
  if (sizes == 1) return largest < kTellsRate ? kErrorOfOne : kErrorOfLarge;
  if (sizes == 2) return kErrorOfTwo;
  return sizes <= kFewSizes ? kErrorOfFew : kLeastError;
}

void WarnOfFew(const Samples& samples, int sizes, const CurveFitOptions& options, std::vector<std::string>* warnings) {
  const std::string name = NameOf(*samples.front());
  const Sample* largest = *std::max_element(samples.begin(), samples.end(),
                                            [](const Sample* a, const Sample* b) { return a->bytes < b->bytes; });
  if (sizes == 1) {
    warnings->push_back(fmt::format("{}: one size, a latency of {} us is assumed", name, kUsualLatency / 1e3));
  } else if (sizes == 2) {
    warnings->push_back(fmt::format("{}: two sizes, a latency and a rate is all they tell", name));
  } else if (sizes <= kFewSizes) {
    warnings->push_back(fmt::format("{}: {} sizes, little is known between them", name, sizes));
  }
  const Sample* smallest = *std::min_element(samples.begin(), samples.end(),
                                             [](const Sample* a, const Sample* b) { return a->bytes < b->bytes; });
  if (sizes > 1 && smallest->bytes > options.judged_from) {
    warnings->push_back(
        fmt::format("{}: no size below {}, the latency is extrapolated", name, FormatBytesExact(smallest->bytes)));
  }
  if (largest->bytes < std::max(kLarge, options.judged_from)) {
    warnings->push_back(fmt::format("{}: no size above {}, the rate of large copies is extrapolated", name,
                                    FormatBytesExact(largest->bytes)));
  }
}

FittedCurve CurveOf(const Samples& samples, const CurveFitOptions& options, std::vector<std::string>* warnings) {
  std::vector<TimedCopy> copies = CopiesOf(samples);
  FittedCurve fitted;
  fitted.samples = static_cast<int>(samples.size());
  fitted.sizes = DifferentSizes(samples);
  fitted.curve.points = fitted.sizes == 1 ? LineThrough(copies.front()) : FitCurve(copies, options);
  fitted.curve.error = LeastErrorOf(fitted.sizes, copies.back().bytes);
  WarnOfFew(samples, fitted.sizes, options, warnings);
  std::string text = fmt::format("{}; {} sample{} of {} size{}", NameOf(*samples.front()), fitted.samples,
                                 fitted.samples == 1 ? "" : "s", fitted.sizes, fitted.sizes == 1 ? "" : "s");
  fitted.left_out = PredictLeftOut(copies, options);
  if (!fitted.left_out.empty()) {
    std::vector<double> errors;
    for (const LeftOutCopy& copy : fitted.left_out) errors.push_back(copy.Error());
    fitted.curve.error = std::max(fitted.curve.error, NearestRank(errors, 0.68));
    text += fmt::format(", left out in turn off by {:.1f} % (median) and {:.1f} % (90 %)",
                        100 * NearestRank(errors, 0.5), 100 * NearestRank(errors, 0.9));
  }
  fitted.curve.source = SourceOf(samples, text);
  fitted.copies = std::move(copies);
  return fitted;
}

const FittedCurve* CurveFor(const FittedLink& link, const std::string& kind, Direction direction) {
  const auto found = link.kinds.find(kind);
  if (found == link.kinds.end()) return nullptr;
  const std::optional<FittedCurve>& curve = found->second[static_cast<std::size_t>(direction)];
  return curve ? &*curve : nullptr;
}

void FitCurves(const Samples& samples, const CurveFitOptions& options, FittedLink* link) {
  std::map<std::pair<std::string, Direction>, Samples> groups;
  for (const Sample* sample : samples) {
    if (sample->contention == "none" && sample->kind != "pitched" && sample->row_bytes == 0) {
      groups[{sample->kind, DirectionOf(sample->direction)}].push_back(sample);
    }
  }
  for (const auto& [key, group] : groups) {
    link->kinds[key.first][static_cast<std::size_t>(key.second)] = CurveOf(group, options, &link->warnings);
  }
}

// Both directions at once --------------------------------------------------------------------------------------------

// The share of its rate alone that each copy of `direction` kept while one in the other direction ran. Latency is no
// matter of the link, so copies of a MiB and more count where there are any. Nothing: there was no such copy.
std::optional<RangedValue> DuplexOf(const Samples& samples, Direction direction, FittedLink* link) {
  Samples used;
  std::vector<double> all, large;
  for (const Sample* sample : samples) {
    const FittedCurve* alone = CurveFor(*link, sample->kind, direction);
    const bool beside = IsDirection(sample->contention) && sample->contention != sample->direction;
    if (!beside || alone == nullptr || DirectionOf(sample->direction) != direction || sample->row_bytes > 0) continue;
    used.push_back(sample);
    all.push_back(static_cast<double>(alone->curve.Time(sample->bytes)) / NanosOf(*sample));
    if (sample->bytes >= kLarge) large.push_back(all.back());
  }
  if (used.empty()) return std::nullopt;
  const std::vector<double>& shares = large.empty() ? all : large;
  const double median = NearestRank(shares, 0.5);
  if (median < kLeastDuplexFactor) {
    link->warnings.push_back(
        fmt::format("{} copies kept {:.3g} of their rate while others ran; a profile says {} at least",
                    direction == Direction::kHostToDevice ? "h2d" : "d2h", median, kLeastDuplexFactor));
  }
  const auto bounded = [&](double share) { return std::clamp(NearestRank(shares, share), kLeastDuplexFactor, 1.0); };
  return RangedValue{bounded(0.5), bounded(0), bounded(1), static_cast<int>(shares.size()),
                     SourceOf(used, "copies beside one in the other direction against copies alone")};
}

void FitDuplex(const Samples& samples, FittedLink* link) {
  std::optional<RangedValue> in = DuplexOf(samples, Direction::kHostToDevice, link);
  std::optional<RangedValue> out = DuplexOf(samples, Direction::kDeviceToHost, link);
  if (in.has_value() != out.has_value()) {
    (in ? out : in) = in ? in : out;
    for (RangedValue* const factor : {&*in, &*out}) {
      factor->source.text += "; one direction measured, the other taken as the same";
    }
  }
  const RangedValue usual{
      kUsualDuplex,
      kLeastDuplex,
      kMostDuplex,
      0,
      {Source::Kind::kAssumed,
       fmt::format("both directions at once not measured; {} to {} is usual", kLeastDuplex, kMostDuplex)}};
  link->duplex = {in.value_or(usual), out.value_or(usual)};
}

// Rows ---------------------------------------------------------------------------------------------------------------

void FitPitchedRow(const Samples& samples, FittedLink* link) {
  Samples used;
  std::vector<double> costs;
  for (const Sample* sample : samples) {
    const FittedCurve* whole = CurveFor(*link, "pinned", DirectionOf(sample->direction));
    const Bytes rows = sample->row_bytes > 0 ? sample->bytes / sample->row_bytes : 0;
    if (sample->kind != "pitched" || sample->contention != "none" || whole == nullptr || rows < 2) continue;
    used.push_back(sample);
    const double beyond = NanosOf(*sample) - static_cast<double>(whole->curve.Time(sample->bytes));
    costs.push_back(std::max(0.0, beyond / static_cast<double>(rows - 1)));
  }
  if (used.empty()) {
    link->pitched_row = {kUsualRow,
                         kLeastRow,
                         kMostRow,
                         0,
                         {Source::Kind::kAssumed, "pitched copies not measured; one descriptor per row"}};
    return;
  }
  link->pitched_row = {NearestRank(costs, 0.5), NearestRank(costs, 0), NearestRank(costs, 1),
                       static_cast<int>(costs.size()),
                       SourceOf(used, "pitched copies against contiguous pinned ones of the same bytes")};
}

FittedLink FitLink(const LinkKey& key, const Samples& samples, const CurveFitOptions& options) {
  FittedLink link;
  std::tie(link.device, link.host, link.link) = key;
  FitCurves(samples, options, &link);
  FitDuplex(samples, &link);
  FitPitchedRow(samples, &link);
  DeriveOversubscribed(&link);
  return link;
}

}  // namespace

TransferFit FitTransfers(std::span<const Sample> samples, const CurveFitOptions& options) {
  std::map<LinkKey, Samples> groups;
  for (const Sample& sample : samples) {
    if (Serves(sample)) groups[{sample.device, sample.host, sample.link}].push_back(&sample);
  }
  TransferFit fit;
  for (const auto& [key, group] : groups) fit.links.push_back(FitLink(key, group, options));
  fit.slowdowns = FitSlowdowns(samples);
  return fit;
}

// A page that comes in by a fault makes another one go out first: the times of both add up. At best those that go are
// clean and cost nothing; at worst each page goes once more before it was used.
void DeriveOversubscribed(FittedLink* link) {
  const FittedCurve* in = CurveFor(*link, "managed_touch", Direction::kHostToDevice);
  if (in == nullptr) return;
  const FittedCurve* out = nullptr;
  for (const char* kind : {"managed_prefetch", "pinned"}) {
    if (out == nullptr) out = CurveFor(*link, kind, Direction::kDeviceToHost);
  }
  const double arrival = in->curve.Rate(), departure = out == nullptr ? arrival : out->curve.Rate();
  const double both = 1 / (1 / arrival + 1 / departure);
  link->oversubscribed_rate = RangedValue{both,
                                          both / 2,
                                          arrival,
                                          0,
                                          {Source::Kind::kAssumed,
                                           "no eviction in the samples; every page that faults in takes the time of "
                                           "one that goes, half of that at worst, that of the fault alone at best"}};
}

}  // namespace spillway

#include "calibrate/accuracy/kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>
#include <tuple>
#include <utility>

#include "model/samples/sample.h"
#include "model/stats/quantile.h"

namespace spillway {
namespace {

constexpr double kInterval = 0.8;
constexpr std::int64_t kImageChannels = 4, kSmallWindow = 9, kNarrow = 32;
// As for a model's own error (calibrate/fit/errors.cc): layers that "no difference" counts for, and those that a source's
// voice does not grow beyond.
constexpr double kPriorLayers = 4, kMostVoice = 30;

using KindCell = std::pair<std::string, std::string>;  // operation, kind

struct KindOutcome {
  KindCell cell;
  std::string left_out;  // network, or who measured where that is not known
  std::string source, layer;
  double error = 0;  // |log(predicted / measured)|
  double own = 0, all = 0;
  bool outside = false;
};

std::string OperationOf(const Launch& launch) {
  return fmt::format("{} {} {}", OpKindName(launch.kind), PassName(launch.pass), MathModeName(launch.math));
}

std::vector<KindOutcome> OutcomesOf(std::span<const Sample> samples, std::span<const HeldOut> predictions,
                                    bool outside) {
  std::vector<KindOutcome> outcomes;
  for (const HeldOut& h : predictions) {
    const Sample& s = samples[static_cast<std::size_t>(h.sample)];
    const std::string kind = LayerKindOf(s.launch);
    if (kind.empty()) continue;
    outcomes.push_back({{OperationOf(s.launch), kind},
                        s.network.empty() ? s.harness : s.network,
                        s.harness,
                        LayerKey(s),
                        std::abs(std::log(h.predicted_us / s.microseconds)),
                        h.own_error,
                        std::hypot(h.own_error, h.shared_error),
                        outside});
  }
  return outcomes;
}

// Every sample once, by a fit that has seen nothing of its network or source where there is one.
std::vector<KindOutcome> LeastSeen(std::span<const Sample> samples, const FitResult& fit) {
  std::map<int, HeldOut> layers;
  for (const HeldOut& h : fit.held_out) layers[h.sample] = h;
  for (const HeldOut& h : fit.outside) layers.erase(h.sample);
  std::vector<HeldOut> rest;
  for (auto& [sample, h] : layers) rest.push_back(std::move(h));
  std::vector<KindOutcome> outcomes = OutcomesOf(samples, fit.outside, true);
  for (KindOutcome& o : OutcomesOf(samples, rest, false)) outcomes.push_back(std::move(o));
  return outcomes;
}

double WeightOf(const std::map<std::string, double>& voices, const KindOutcome& o, double copies) {
  const double voice = voices.at(o.source);
  return std::min(voice, kMostVoice) / voice / copies;
}

// What stretches the errors of a cell so that 80 % of the others' times lie within: layers count once, sources alike.
double FactorOf(const std::vector<const KindOutcome*>& cell, const std::string& left_out) {
  std::map<std::pair<std::string, std::string>, double> copies;  // by source and layer
  for (const KindOutcome* o : cell) {
    if (o->left_out != left_out) ++copies[{o->source, o->layer}];
  }
  std::map<std::string, double> voices;
  for (const auto& [layer, count] : copies) ++voices[layer.first];
  std::vector<std::pair<double, double>> sizes;
  double layers = 0;
  for (const KindOutcome* o : cell) {
    if (o->left_out == left_out) continue;
    sizes.emplace_back(o->error / o->all, WeightOf(voices, *o, copies.at({o->source, o->layer})));
    layers += sizes.back().second;
  }
  if (sizes.empty()) return 1;
  const double told = WeightedQuantile(std::move(sizes), kInterval) / kNormal80;
  return std::sqrt((layers * told * told + kPriorLayers) / (layers + kPriorLayers));
}

void Add(double error, double half, KindIntervals* sums) {
  ++sums->samples;
  sums->held += error <= half ? 1 : 0;
  sums->score += 2 * half + 2 / (1 - kInterval) * std::max(0.0, error - half);
}

void Finish(KindIntervals* sums) {
  if (sums->samples == 0) return;
  sums->held /= sums->samples;
  sums->score /= sums->samples;
}

void AddOutside(const std::vector<const KindOutcome*>& cell, KindRow* row) {
  std::map<std::string, double> factors;  // by what is left out
  std::set<std::pair<std::string, std::string>> layers;
  for (const KindOutcome* o : cell) {
    if (!o->outside) continue;
    const auto [factor, is_new] = factors.emplace(o->left_out, 1);
    if (is_new) factor->second = FactorOf(cell, o->left_out);
    Add(o->error, kNormal80 * o->all, &row->outside);
    Add(o->error, kNormal80 * o->all * factor->second, &row->split);
    layers.emplace(o->source, o->layer);
  }
  row->outside.layers = row->split.layers = static_cast<int>(layers.size());
}

// How far from 80 % the share of so many is by chance, in the mean: of a binomial distribution, as if normal.
double ByChance(int layers) { return std::sqrt(2 * kInterval * (1 - kInterval) / (std::numbers::pi * layers)); }

bool IsNarrow(const OpShape& s, Pass pass) {
  const std::int64_t in = s.in.c * s.in.Spatial(), rows = s.out.n * s.out.Spatial();
  return (pass != Pass::kBackwardFilter && rows < kNarrow) || (pass != Pass::kForward && in < kNarrow) ||
         (pass != Pass::kBackwardData && s.out.c < kNarrow);
}

std::string CountText(const KindIntervals& i) { return i.samples == 0 ? "" : std::to_string(i.samples); }
std::string HeldText(const KindIntervals& i) { return i.samples == 0 ? "" : fmt::format("{:.0f}", 100 * i.held); }

// Means over the kinds that networks or sources left out have samples of: of the distance from 80 %, of the score's
// logarithm.
std::string Summary(std::span<const KindRow> rows) {
  double kinds = 0, off = 0, split_off = 0, chance = 0, score = 0, split_score = 0;
  for (const KindRow& row : rows) {
    if (row.outside.samples == 0) continue;
    ++kinds;
    off += std::abs(row.outside.held - kInterval), split_off += std::abs(row.split.held - kInterval);
    chance += ByChance(row.outside.layers);
    score += std::log(row.outside.score), split_score += std::log(row.split.score);
  }
  if (kinds == 0) return "";
  return fmt::format(
      "Of networks and sources left out, means over {} kinds: {:.1f} points from 80 % as stated, {:.1f} with a factor "
      "by "
      "kind, {:.1f} by chance if the errors of layers were exact and independent; interval score {:.3f} as stated, "
      "{:.3f} "
      "with a factor (geometric means, less is better).\n\n",
      kinds, 100 * off / kinds, 100 * split_off / kinds, 100 * chance / kinds, std::exp(score / kinds),
      std::exp(split_score / kinds));
}

}  // namespace

std::string LayerKindOf(const Launch& launch) {
  const OpShape& s = launch.shape;
  if (launch.kind == OpKind::kLinear) return IsNarrow(s, launch.pass) ? "narrow" : "wide";
  if (launch.kind != OpKind::kConvolution) return "";
  const std::int64_t elements = s.window[0] * s.window[1] * s.window[2];
  const bool strides = s.stride[0] * s.stride[1] * s.stride[2] > 1;
  if (s.groups > 1) return "grouped";
  if (s.in.c <= kImageChannels) return "image";
  if (elements == 1) return strides ? "1x1 strided" : "1x1";
  if (strides) return "strided";
  return elements <= kSmallWindow ? "3x3" : "large";
}

std::vector<KindRow> KindRows(std::span<const Sample> samples, const FitResult& fit) {
  std::map<KindCell, KindRow> rows;
  for (const KindOutcome& o : OutcomesOf(samples, fit.held_out, false))
    Add(o.error, kNormal80 * o.own, &rows[o.cell].seen);
  const std::vector<KindOutcome> least_seen = LeastSeen(samples, fit);
  std::map<KindCell, std::vector<const KindOutcome*>> cells;
  for (const KindOutcome& o : least_seen) cells[o.cell].push_back(&o);
  for (const auto& [cell, outcomes] : cells) AddOutside(outcomes, &rows[cell]);
  std::vector<KindRow> result;
  for (auto& [cell, row] : rows) {
    std::tie(row.operation, row.kind) = cell;
    for (KindIntervals* i : {&row.seen, &row.outside, &row.split}) Finish(i);
    result.push_back(std::move(row));
  }
  return result;
}

std::string KindsMarkdown(std::span<const Sample> samples, const FitResult& fit) {
  const std::vector<KindRow> rows = KindRows(samples, fit);
  if (rows.empty()) return "";
  std::string text =
      "## Kinds of layers\n\nShare of times within the 80 % interval by pass and kind, on all devices: of layers not "
      "seen "
      "with a launch's own error, of networks and sources left out with own and model errors. `by kind`: the same with "
      "errors stretched by a factor for that pass and kind, told by the other networks and sources.\n\n| operation | "
      "kind "
      "| layers not seen | own, % | left out | own and model, % | by kind, % |\n|---|---|--:|--:|--:|--:|--:|\n";
  for (const KindRow& row : rows) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", row.operation, row.kind, CountText(row.seen),
                        HeldText(row.seen), CountText(row.outside), HeldText(row.outside), HeldText(row.split));
  }
  return text + "\n" + Summary(rows);
}

}  // namespace spillway

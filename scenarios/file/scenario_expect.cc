// Reading `expect:`, a list of published or required figures:
//
//   - {machine: v100-x86-pcie3, strategy: pooch, batch: 640, samples_per_second: 195, source: "PoocH, fig. 17"}
//   - {strategy: pooch, batch: [256, 384], ratio: {strategy: superneurons, value: [1.40, 1.73]}, source: ...}
//   - {machine: ..., strategy: pooch, batch: 512, keep: 66, swap: 12, recompute: 27, source: ...}
//   - {strategy: in-core, batch: 256, feasible: false, required: true, source: ...}
//
// What is left out matches all rows. A figure is a number, [from, to], or a map of at_least and at_most; `within: 10 %`
// makes a gate of it, `required: true` one of feasible and of bounds. The keys: scenario_keys.cc.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "scenarios/file/list_reader.h"
#include "scenarios/file/scenario_reader.h"

namespace spillway {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// "38 %" or "0.38" -> 0.38
std::optional<double> ParseFraction(std::string_view text) {
  if (!text.ends_with('%')) return ParseNumber(text);
  text.remove_suffix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  const auto percent = ParseNumber(text);
  return percent ? std::optional(*percent / 100) : std::nullopt;
}

std::optional<double> ParseSeconds(std::string_view text) {
  const auto time = ParseDuration(text);
  return time ? std::optional(static_cast<double>(*time) / static_cast<double>(kSecond)) : std::nullopt;
}

std::optional<double> ParseSize(std::string_view text) {
  const auto bytes = ParseBytes(text);
  return bytes ? std::optional(static_cast<double>(*bytes)) : std::nullopt;
}

std::optional<double> ParseBytesPerSecond(std::string_view text) {
  const auto rate = ParseBandwidth(text);
  return rate ? std::optional(*rate * static_cast<double>(kSecond)) : std::nullopt;
}

// Half of the last digit of a figure, in its unit's measure: of "28 GB" 0.5 GB.
double HalfOfLastDigit(std::string_view text, double value) {
  const std::string_view number = text.substr(0, text.find_first_not_of("0123456789."));
  const std::optional<double> mantissa = ParseNumber(number);
  if (!mantissa || *mantissa == 0) return 0;
  const std::size_t point = number.find('.');
  const std::size_t decimals = point == std::string_view::npos ? 0 : number.size() - point - 1;
  return value / *mantissa * std::pow(10.0, -static_cast<double>(decimals)) / 2;
}

struct Figure {
  const char* key;
  Measure measure;
  std::optional<double> (*parse)(std::string_view);
  const char* form;  // what is expected, for messages
};
constexpr std::array<Figure, 13> kFigures = {{
    {"samples_per_second", Measure::kSamplesPerSecond, ParseNumber, "a number"},
    {"step_time", Measure::kStepTime, ParseSeconds, "a duration such as 2.05 s"},
    {"below_in_core", Measure::kBelowInCore, ParseFraction, "a share such as 38 %"},
    {"keep", Measure::kKeep, ParseNumber, "a number"},
    {"swap", Measure::kSwap, ParseNumber, "a number"},
    {"recompute", Measure::kRecompute, ParseNumber, "a number"},
    {"mean_saving", Measure::kMeanSaving, ParseFraction, "a share such as 89 %"},
    {"mean_saving_beside_parameters", Measure::kMeanSavingBesideParameters, ParseFraction, "a share such as 89 %"},
    {"peak", Measure::kPeak, ParseSize, "a size such as 7 GB"},
    {"network_wide", Measure::kNetworkWide, ParseSize, "a size such as 28 GB"},
    {"host_peak", Measure::kHostPeak, ParseSize, "a size such as 64 GB"},
    {"map_share", Measure::kMapShare, ParseFraction, "a share such as 80 %"},
    {"copy_rate", Measure::kCopyRate, ParseBytesPerSecond, "a bandwidth such as 12.8 GB/s"},
}};
constexpr Figure kRatioFigure = {"ratio", Measure::kRatio, ParseNumber, "a number"};
constexpr Figure kShare = {"within", Measure::kRatio, ParseFraction, "a share such as 10 %"};

class ExpectReader {
 public:
  ExpectReader(const Node& node, const std::string& scenario, Diagnostics& diagnostics)
      : node_(node), diagnostics_(diagnostics), reader_(node, diagnostics, "expectation", ExpectationKeys()) {
    common_.mark = node.mark;
    common_.where.scenario = scenario;
  }

  void Read(std::vector<Expectation>& all) {
    const std::vector<std::int64_t> batches = ReadCommon();
    std::vector<Expectation> figures;
    for (const Figure& figure : kFigures) {
      if (const Node* value = reader_.Optional(figure.key)) Add(figure, ReadRange(figure, *value), figures);
    }
    if (const Node* value = reader_.Optional("ratio")) ReadRatio(*value, figures);
    if (reader_.Optional("feasible") != nullptr) {
      const double fits = reader_.BoolOr("feasible", true) ? 1 : 0;
      Add({"feasible", Measure::kFeasible, nullptr, ""}, {fits, fits}, figures);
    }
    reader_.Finish();
    Check(figures);
    for (const std::int64_t batch : batches) {
      for (Expectation e : figures) {
        e.where.batch = batch;
        all.push_back(std::move(e));
      }
    }
  }

 private:
  std::vector<std::int64_t> ReadCommon() {
    common_.where.network = reader_.StringOr("network", "");
    common_.where.machine = reader_.StringOr("machine", "");
    common_.where.strategy = reader_.StringOr("strategy", "");
    common_.where.memory_limit = reader_.BytesOr("memory", 0);
    common_.source = reader_.RequiredString("source");
    common_.why = reader_.StringOr("why", "");
    common_.required = reader_.BoolOr("required", false);
    common_.claim = reader_.StringOr("claim", "");
    common_.counted = reader_.BoolOr("counted", true);
    if (const Node* within = reader_.Optional("within")) common_.within = ReadValue(kShare, *within);
    auto batches = ReadAxis(reader_, "batch", false, diagnostics_,
                            [](MapReader& r, std::string_view key) { return r.RequiredInteger(key, 1, kMostBatch); });
    if (batches.empty()) batches.push_back(0);
    return batches;
  }

  void Check(const std::vector<Expectation>& figures) {
    if (figures.empty() && node_.IsMap()) {
      diagnostics_.Error(
          node_.mark,
          "expectation: no figure; expected one of samples_per_second, step_time, below_in_core, keep, "
          "swap, recompute, mean_saving, mean_saving_beside_parameters, peak, network_wide, ratio, feasible");
    }
    for (const Expectation& e : figures) {
      if (common_.required && e.measure != Measure::kFeasible && e.value.low == e.value.high) {
        diagnostics_.Error(node_.mark,
                           "required: only for feasible and for bounds; a single figure becomes a gate by "
                           "'within: 10 %'");
      }
    }
  }

  void Add(const Figure& figure, ValueRange range, std::vector<Expectation>& figures) {
    Expectation e = common_;
    e.measure = figure.measure;
    e.value = range;
    figures.push_back(std::move(e));
  }

  void ReadRatio(const Node& node, std::vector<Expectation>& figures) {
    MapReader ratio(node, diagnostics_, "ratio", RatioKeys());
    Expectation e = common_;
    e.measure = Measure::kRatio;
    e.other.network = ratio.StringOr("network", "");
    e.other.machine = ratio.StringOr("machine", "");
    e.other.strategy = ratio.StringOr("strategy", "");
    e.other.batch = ratio.IntegerOr("batch", 0, 1, kMostBatch);
    e.other.memory_limit = ratio.BytesOr("memory", 0);
    e.value = ReadBounds(ratio, node, kRatioFigure);
    ratio.Finish();
    if (node.IsMap() && e.other.network.empty() && e.other.machine.empty() && e.other.strategy.empty() &&
        e.other.batch == 0 && e.other.memory_limit == 0) {
      diagnostics_.Error(node.mark, "ratio: name what to compare with: a strategy, machine, network, batch or memory");
    }
    figures.push_back(std::move(e));
  }

  // Either value, or at_least and at_most.
  ValueRange ReadBounds(MapReader& reader, const Node& node, const Figure& figure) {
    const Node* value = reader.Optional("value");
    const Node* least = reader.Optional("at_least");
    const Node* most = reader.Optional("at_most");
    if ((value != nullptr) == (least != nullptr || most != nullptr)) {
      diagnostics_.Error(node.mark, fmt::format("{}: expected value, or at_least and at_most", figure.key));
      return {};
    }
    if (value != nullptr) return ReadRange(figure, *value);
    return {least != nullptr ? ReadValue(figure, *least) : -kInfinity,
            most != nullptr ? ReadValue(figure, *most) : kInfinity};
  }

  // A value, [from, to], or a map of at_least and at_most.
  ValueRange ReadRange(const Figure& figure, const Node& node) {
    if (node.IsMap()) {
      MapReader bounds(node, diagnostics_, figure.key, BoundKeys());
      const ValueRange range = ReadBounds(bounds, node, figure);
      bounds.Finish();
      return range;
    }
    if (!node.IsSequence()) {
      const double value = ReadValue(figure, node);
      return {value, value, HalfOfLastDigit(node.scalar, value)};
    }
    if (node.items.size() != 2) {
      diagnostics_.Error(node.mark, fmt::format("{}: a range is [from, to]", figure.key));
      return {};
    }
    const ValueRange range{ReadValue(figure, node.items[0]), ReadValue(figure, node.items[1])};
    if (range.low > range.high) diagnostics_.Error(node.mark, fmt::format("{}: the range is empty", figure.key));
    return range;
  }

  double ReadValue(const Figure& figure, const Node& node) {
    const auto value = node.IsScalar() ? figure.parse(node.scalar) : std::nullopt;
    if (!value) {
      diagnostics_.Error(node.mark, fmt::format("{}: expected {}, found '{}'", figure.key, figure.form,
                                                node.IsScalar() ? node.scalar : "a list or map"));
    }
    return value.value_or(0);
  }

  const Node& node_;
  Diagnostics& diagnostics_;
  MapReader reader_;
  Expectation common_;
};

}  // namespace

void ReadExpectations(MapReader& reader, const std::string& scenario, Diagnostics& diagnostics,
                      std::vector<Expectation>& expectations) {
  const Node* list = reader.Optional("expect");
  if (list == nullptr) return;
  if (!list->IsSequence()) return diagnostics.Error(list->mark, "expect: expected a list");
  for (const Node& item : list->items) ExpectReader(item, scenario, diagnostics).Read(expectations);
}

}  // namespace spillway

#include <algorithm>
#include <iterator>

#include "model/network/network.h"
#include "model/network/network_keys.h"
#include "model/step/rearrangement.h"

namespace spillway {
namespace {

constexpr std::int64_t kMaxLrnSize = 1024;
constexpr double kLeastSlope = 1e-6;  // in place, the sign of the result is that of the input
constexpr double kMaxLossWeight = 1000;
constexpr std::int64_t kMaxHeads = 1 << 16;

void ReadOut(MapReader& r, const std::string& key, bool required, LayerAttributes& a) {
  a.out_channels = required ? r.RequiredInteger(key, 1, kMaxChannels) : r.IntegerOr(key, 1, 1, kMaxChannels);
}
void ReadGroups(MapReader& r, const std::string& key, bool, LayerAttributes& a) {
  a.groups = r.IntegerOr(key, a.groups, 1, kMaxChannels);
}
void ReadBias(MapReader& r, const std::string& key, bool, LayerAttributes& a) { a.bias = r.BoolOr(key, a.bias); }
void ReadCeil(MapReader& r, const std::string& key, bool, LayerAttributes& a) {
  a.ceil_mode = r.BoolOr(key, a.ceil_mode);
}
void ReadGlobal(MapReader& r, const std::string& key, bool, LayerAttributes& a) { a.global = r.BoolOr(key, a.global); }
void ReadRate(MapReader& r, const std::string& key, bool, LayerAttributes& a) {
  a.rate = r.NumberOr(key, a.rate, 0, 1);
}
void ReadSize(MapReader& r, const std::string& key, bool, LayerAttributes& a) {
  a.size = r.IntegerOr(key, a.size, 1, kMaxLrnSize);
}

void ReadMethod(MapReader& r, const std::string& key, bool, LayerAttributes& a) {
  a.linear = r.ChoiceOr(key, {"nearest", "linear"}, a.linear ? 1 : 0) == 1;
}
void ReadWeight(MapReader& r, const std::string& key, bool, LayerAttributes& a) {
  a.weight = r.NumberOr(key, a.weight, 0, kMaxLossWeight);
}
void ReadSmoothing(MapReader& r, const std::string& key, bool, LayerAttributes& a) {
  a.smoothing = r.NumberOr(key, a.smoothing, 0, 1);
}
void ReadProbabilities(MapReader& r, const std::string& key, bool, LayerAttributes& a) {
  a.independent = r.ChoiceOr(key, {"softmax", "sigmoid"}, a.independent ? 1 : 0) == 1;
}
void ReadSlope(MapReader& r, const std::string& key, bool, LayerAttributes& a) {
  a.slope = r.NumberOr(key, a.slope, kLeastSlope, 1);
}
void ReadNormGroups(MapReader& r, const std::string& key, bool, LayerAttributes& a) {
  a.norm_groups = r.IntegerOr(key, a.norm_groups, 1, kMaxChannels);
}
void ReadAffine(MapReader& r, const std::string& key, bool, LayerAttributes& a) { a.affine = r.BoolOr(key, a.affine); }

void ReadPointwise(MapReader& r, const std::string& key, bool, LayerAttributes& a) {
  a.pointwise = r.BoolOr(key, a.pointwise);
}
void ReadFirst(MapReader& r, const std::string& key, bool, LayerAttributes& a) { a.first = r.BoolOr(key, a.first); }
void ReadVocabulary(MapReader& r, const std::string& key, bool, LayerAttributes& a) {
  a.vocabulary = r.RequiredInteger(key, 1, kMaxChannels);
}
void ReadRow(MapReader& r, const std::string& key, bool, LayerAttributes& a) {
  a.row = r.IntegerOr(key, a.row, 0, kMaxTokenRows - 1);
}
void ReadPositions(MapReader& r, const std::string& key, bool, LayerAttributes& a) {
  a.positions = r.IntegerOr(key, a.positions, 1, kMaxExtent);
}
void ReadHeads(MapReader& r, const std::string& key, bool, LayerAttributes& a) {
  a.heads = r.RequiredInteger(key, 1, kMaxHeads);
}
void ReadKvHeads(MapReader& r, const std::string& key, bool, LayerAttributes& a) {
  a.kv_heads = r.IntegerOr(key, a.kv_heads, 1, kMaxHeads);
}
void ReadCausal(MapReader& r, const std::string& key, bool, LayerAttributes& a) { a.causal = r.BoolOr(key, a.causal); }
void ReadFused(MapReader& r, const std::string& key, bool, LayerAttributes& a) { a.fused = r.BoolOr(key, a.fused); }
void ReadDropout(MapReader& r, const std::string& key, bool, LayerAttributes& a) {
  a.dropout = r.NumberOr(key, a.dropout, 0, 1);
}
void ReadOver(MapReader& r, const std::string& key, bool, LayerAttributes& a) {
  a.last_axis = r.ChoiceOr(key, {"channels", "width"}, a.last_axis ? 1 : 0) == 1;
}
std::vector<std::string> AxisNames() { return {std::begin(kSampleAxisNames), std::end(kSampleAxisNames)}; }
void ReadAxis(MapReader& r, const std::string& key, bool, LayerAttributes& a) {
  a.cut_axis = static_cast<std::size_t>(r.ChoiceOr(key, AxisNames(), 0));
}
void ReadBegin(MapReader& r, const std::string& key, bool, LayerAttributes& a) {
  a.begin = r.IntegerOr(key, a.begin, 0, kMaxChannels);
}
void ReadEnd(MapReader& r, const std::string& key, bool, LayerAttributes& a) {
  a.end = r.IntegerOr(key, a.end, 1, kMaxChannels);
}
void ReadStep(MapReader& r, const std::string& key, bool, LayerAttributes& a) {
  a.step = r.IntegerOr(key, a.step, 1, kMaxChannels);
}
void ReadAt(MapReader& r, const std::string& key, bool, LayerAttributes& a) {
  a.at_start = r.ChoiceOr(key, {"centre", "start"}, a.at_start ? 1 : 0) == 1;
}
void ReadFrozen(MapReader& r, const std::string& key, bool, LayerAttributes& a) { a.frozen = r.BoolOr(key, a.frozen); }
// Of each axis once; a depth that is not named stays where it is.
void ReadOrder(MapReader& r, const std::string& key, bool, LayerAttributes& a) {
  if (r.Required(key) == nullptr) return;
  std::vector<std::string> names = r.StringsOrNone(key);
  const std::vector<std::string> axes = AxisNames();
  for (const std::string& name : names) {
    const bool known = std::find(axes.begin(), axes.end(), name) != axes.end();
    r.Check(known, key, "no axis is named '" + name + "'" + DidYouMean(name, axes));
  }
  const bool flat = std::find(names.begin(), names.end(), kSampleAxisNames[1]) == names.end();
  if (flat && !names.empty()) names.insert(names.begin() + 1, kSampleAxisNames[1]);
  std::vector<std::size_t> order;
  for (std::size_t axis = 0; axis < kSampleAxes; ++axis) {
    const auto at = std::find(names.begin(), names.end(), kSampleAxisNames[axis]);
    if (at != names.end()) order.push_back(axis);
  }
  const bool whole = names.size() == kSampleAxes && order.size() == kSampleAxes;
  r.Check(whole, key, "expected channels, height and width, and depth where there is one, each once");
  for (std::size_t k = 0; whole && k < kSampleAxes; ++k) {
    const auto names_axis = [&](const char* name) { return names[k] == name; };
    const auto* const axis = std::find_if(std::begin(kSampleAxisNames), std::end(kSampleAxisNames), names_axis);
    a.order[k] = static_cast<std::size_t>(axis - std::begin(kSampleAxisNames));
  }
}
// The name is read where the layers are known (network_file.cc).
void ReadTied(MapReader& r, const std::string& key, bool, LayerAttributes&) { r.Optional(key); }

}  // namespace

const std::vector<AttributeReader>& Scalars() {
  const std::string channels = WholeNumberFrom(1, kMaxChannels);
  static const std::vector<AttributeReader> kTable = {
      {{"out", channels, "required", "number of channels, or features, of the result"}, kOutKey, ReadOut},
      {{"groups", channels, "1", "parts of the channels, each by itself"}, kGroupsKey, ReadGroups},
      {{"bias", kTrueOrFalse, "false", "adds a vector per channel"}, kBiasKey, ReadBias},
      {{"ceil", kTrueOrFalse, "false", "rounds the size of the result up"}, kCeilKey, ReadCeil},
      {{"global", kTrueOrFalse, "false", "over the whole image; then without window, stride, padding and `ceil`"},
       kGlobalKey,
       ReadGlobal},
      {{"rate", NumberFrom(0, 1), "0.5", "share of the elements that is dropped"}, kRateKey, ReadRate},
      {{"size", WholeNumberFrom(1, kMaxLrnSize), "5", "number of channels in each sum"}, kSizeKey, ReadSize},
      {{"method", OneOf({"nearest", "linear"}), "nearest", "the nearest place, or between neighbours by distance"},
       kMethodKey,
       ReadMethod},
      {{"weight", NumberFrom(0, kMaxLossWeight), "1", "factor of this loss in the sum over all losses"},
       kWeightKey,
       ReadWeight},
      {{"smoothing", NumberFrom(0, 1), "0", "share of each label that all classes get alike"},
       kSmoothingKey,
       ReadSmoothing},
      {{"probabilities", OneOf({"softmax", "sigmoid"}), "softmax", "of all classes together, or of each by itself"},
       kProbabilitiesKey,
       ReadProbabilities},
      {{"slope", NumberFrom(kLeastSlope, 1), "0.01", "of the function below zero"}, kSlopeKey, ReadSlope},
      {{"groups", channels, "32", "groups of channels, each with a mean and a deviation of its own"},
       kNormGroupsKey,
       ReadNormGroups},
      {{"affine", kTrueOrFalse, "true", "has a trained scale and shift per channel"}, kAffineKey, ReadAffine},
      {{"pointwise", kTrueOrFalse, "false", "the channels of each position, not all that a sample has"},
       kPointwiseKey,
       ReadPointwise},
      {{"first", kTrueOrFalse, "false", "the channels of the first position alone"}, kFirstKey, ReadFirst},
      {{"tied", "a name", "none", "an earlier layer, whose weight stands in for this layer's"}, kTiedKey, ReadTied},
      {{"vocabulary", channels, "required", "how many numbers tokens have"}, kVocabularyKey, ReadVocabulary},
      {{"row", WholeNumberFrom(0, kMaxTokenRows - 1), "0", "which row of the network's tokens"}, kRowKey, ReadRow},
      {{"positions", WholeNumberFrom(1, kMaxExtent), "those of its input", "how many vectors there are"},
       kPositionsKey,
       ReadPositions},
      {{"heads", WholeNumberFrom(1, kMaxHeads), "required", "parts that channels are divided into"},
       kHeadsKey,
       ReadHeads},
      {{"kv_heads", WholeNumberFrom(1, kMaxHeads), "`heads`", "heads of keys and values, each for several queries'"},
       kKvHeadsKey,
       ReadKvHeads},
      {{"causal", kTrueOrFalse, "false", "no position reads those behind it"}, kCausalKey, ReadCausal},
      {{"fused", kTrueOrFalse, "true", "one op that keeps no scores; else, and with `window`, products and softmax"},
       kFusedKey,
       ReadFused},
      {{"dropout", NumberFrom(0, 1), "0", "share of the scores that is dropped"}, kDropoutKey, ReadDropout},
      {{"over", OneOf({"channels", "width"}), "channels", "what adds up to 1"}, kLastAxisKey, ReadOver},
      {{"axis", OneOf(AxisNames()), "channels", "which axis is cut"}, kAxisKey, ReadAxis},
      {{"begin", WholeNumberFrom(0, kMaxChannels), "0", "the first that is taken"}, kBeginKey, ReadBegin},
      {{"end", WholeNumberFrom(1, kMaxChannels), "the axis's end", "behind the last that may be taken"},
       kEndKey,
       ReadEnd},
      {{"step", WholeNumberFrom(1, kMaxChannels), "1", "from one that is taken to the next"}, kStepKey, ReadStep},
      {{"at", OneOf({"centre", "start"}), "centre", "what of the image stays"}, kAtKey, ReadAt},
      {{"order", "a list of axes", "required", "the input's axes in the result's order: channels, height, width"},
       kOrderKey,
       ReadOrder},
      {{"frozen", kTrueOrFalse, "false", "its parameters have no gradient and are not updated"},
       kFrozenKey,
       ReadFrozen}};
  return kTable;
}

std::vector<KeyRow> AttributeKeys(const LayerKind& kind) {
  std::vector<KeyRow> keys;
  for (const ExtentReader& row : kExtents) {
    if ((kind.keys & row.bit) == 0) continue;
    const bool pads = row.bit == kPadKey || row.bit == kPadAfterKey;
    const bool unless_global = (kind.keys & kGlobalKey) != 0 && !pads;
    const bool required = (kind.required & row.bit) != 0;
    keys.push_back({row.key, WholeNumberFrom(row.min, kMaxExtent) + ", [height, width] or [depth, height, width]",
                    unless_global ? "required, unless `global: true`"
                    : required    ? "required"
                    : row.usual   ? row.usual
                                  : std::to_string((LayerAttributes{}.*row.field)[2]),
                    row.meaning});
  }
  for (const AttributeReader& row : Scalars()) {
    if ((kind.keys & row.bit) != 0) keys.push_back(row.key);
  }
  return keys;
}

}  // namespace spillway

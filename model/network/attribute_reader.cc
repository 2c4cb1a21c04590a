#include "model/network/network.h"
#include "model/network/network_keys.h"

namespace spillway {
namespace {

constexpr std::int64_t kMaxLrnSize = 1024;

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

}  // namespace

const std::vector<AttributeReader>& Scalars() {
  const std::string channels = WholeNumberFrom(1, kMaxChannels);
  static const std::vector<AttributeReader> kTable = {
      {{"out", channels, "required", "number of channels, or features, of the result"}, kOutKey, ReadOut},
      {{"groups", channels, "1", "convolutions side by side, each on its share of the channels"},
       kGroupsKey,
       ReadGroups},
      {{"bias", kTrueOrFalse, "false", "adds a vector per channel"}, kBiasKey, ReadBias},
      {{"ceil", kTrueOrFalse, "false", "rounds the size of the result up"}, kCeilKey, ReadCeil},
      {{"global", kTrueOrFalse, "false", "over the whole image; then without window and stride"},
       kGlobalKey,
       ReadGlobal},
      {{"rate", NumberFrom(0, 1), "0.5", "share of the elements that is dropped"}, kRateKey, ReadRate},
      {{"size", WholeNumberFrom(1, kMaxLrnSize), "5", "number of channels in each sum"}, kSizeKey, ReadSize}};
  return kTable;
}

std::vector<KeyRow> AttributeKeys(const LayerKind& kind) {
  std::vector<KeyRow> keys;
  for (const ExtentReader& row : kExtents) {
    if ((kind.keys & row.bit) == 0) continue;
    const bool unless_global = (kind.keys & kGlobalKey) != 0 && row.bit != kPadKey;
    const bool required = (kind.required & row.bit) != 0;
    keys.push_back({row.key, WholeNumberFrom(row.min, kMaxExtent) + ", [height, width] or [depth, height, width]",
                    unless_global ? "required, unless `global: true`"
                    : required    ? "required"
                                  : std::to_string((LayerAttributes{}.*row.field)[2]),
                    row.meaning});
  }
  for (const AttributeReader& row : Scalars()) {
    if ((kind.keys & row.bit) != 0) keys.push_back(row.key);
  }
  return keys;
}

}  // namespace spillway

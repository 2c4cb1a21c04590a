// The keys of network files, as tables (hw/text/keys.h), and how each attribute gets from its key into LayerAttributes.
// `spillway help network` and `spillway list layers` print the tables.
#ifndef SPILLWAY_MODEL_NETWORK_NETWORK_KEYS_H_
#define SPILLWAY_MODEL_NETWORK_NETWORK_KEYS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "hw/text/document.h"
#include "hw/text/keys.h"
#include "model/network/layer_kind.h"

namespace spillway {

const KeyTable& NetworkKeys();
const KeyTable& InputKeys();
const KeyTable& LayerKeys();                           // what every layer has
const KeyTable& LayerKindKeys(const LayerKind& kind);  // those and what layers of this kind have besides

// The attributes alone: all that a kind's layers have besides the keys of all layers.
std::vector<KeyRow> AttributeKeys(const LayerKind& kind);

// "one layer", "2 to 64 layers".
std::string InputCountText(const LayerKind& kind);

// ---- Attributes of layers.

constexpr std::int64_t kMaxChannels = 1 << 24;
constexpr std::int64_t kMaxTokenRows = 16;    // of a network's tokens
constexpr std::int64_t kMaxExtent = 1 << 20;  // of an image, window, stride or padding

// Larger tensors are refused, so that sums of byte counts cannot overflow.
constexpr double kMaxElements = 1e12;
// Elements of a shape that a user gave: they may be more than an integer holds.
inline double ElementsAsGiven(const Shape& s) {
  return static_cast<double>(s.n) * static_cast<double>(s.c) * static_cast<double>(s.d) * static_cast<double>(s.h) *
         static_cast<double>(s.w);
}

// An attribute that is a single value: its row in the table of keys, its bit in LayerKind::keys, and how it gets into
// the struct.
struct AttributeReader {
  KeyRow key;
  AttributeKey bit;
  void (*read)(MapReader& reader, const std::string& key, bool required, LayerAttributes& attributes);
};
const std::vector<AttributeReader>& Scalars();

// An attribute with one number per spatial axis.
struct ExtentReader {
  const char* key;
  AttributeKey bit;
  std::array<std::int64_t, 3> LayerAttributes::*field;
  std::int64_t min;
  const char* meaning;
  const char* usual = nullptr;  // where nothing is given; nullptr: the field's own value
};
constexpr std::array<ExtentReader, 15> kExtents = {
    {{"window", kWindowKey, &LayerAttributes::window, 1, "what one element of the result is made from", nullptr},
     {"stride", kStrideKey, &LayerAttributes::stride, 1, "from one window to the next", nullptr},
     {"dilation", kDilationKey, &LayerAttributes::dilation, 1, "from one element of the window to the next", nullptr},
     {"pad", kPadKey, &LayerAttributes::pad, 0, "zeros around the image", nullptr},
     {"pad_after", kPadAfterKey, &LayerAttributes::pad_after, 0,
      "zeros behind the image, where `pad` is in front alone", "as `pad`"},
     {"output_pad", kOutputPadKey, &LayerAttributes::output_pad, 0, "rows and columns more at the result's end",
      nullptr},
     {"scale", kScaleKey, &LayerAttributes::scale, 1, "how many times as large the larger image is", "none"},
     {"image", kImageKey, &LayerAttributes::image, 1, "size of the result",
      "by `scale` (resize), or that of the second layer in `from`"},
     {"shift", kShiftKey, &LayerAttributes::shift, -kMaxExtent, "places that the image is moved", nullptr},
     {"shift", kWindowShiftKey, &LayerAttributes::shift, 0, "places that the image was moved back", nullptr},
     {"window", kBlockKey, &LayerAttributes::window, 1, "size of the windows, which must divide the image", nullptr},
     {"image", kBlockedImageKey, &LayerAttributes::image, 1, "that the windows divide; goes with `shift`", "none"},
     {"image", kReshapedKey, &LayerAttributes::image, 1, "size of the result", nullptr},
     {"image", kInputImageKey, &LayerAttributes::image, 1, "size of the input", "one place"},
     {"relative", kRelativeKey, &LayerAttributes::relative, 1,
      "adds a trained number for each distance within such a window", "none"}}};

// Reads what layers of this kind have besides the keys of all layers. Mistakes go into `diagnostics`. `has_depth`: a
// single number stands for the depth, too.
void ReadAttributes(MapReader& reader, Diagnostics& diagnostics, const LayerKind& kind, bool has_depth,
                    LayerAttributes& attributes);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_NETWORK_NETWORK_KEYS_H_

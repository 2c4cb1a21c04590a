// The attributes of layers in files: which keys they have, and how each gets into LayerAttributes.
#ifndef SPILLWAY_MODEL_NETWORK_ATTRIBUTE_READER_H_
#define SPILLWAY_MODEL_NETWORK_ATTRIBUTE_READER_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "hw/text/document.h"
#include "hw/text/keys.h"
#include "model/network/layer_kind.h"

namespace spillway {

constexpr std::int64_t kMaxChannels = 1 << 24;
constexpr std::int64_t kMaxExtent = 1 << 20;  // of an image, window, stride or padding

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
};
constexpr std::array<ExtentReader, 3> kExtents = {
    {{"window", kWindowKey, &LayerAttributes::window, 1, "what one element of the result is made from"},
     {"stride", kStrideKey, &LayerAttributes::stride, 1, "from one window to the next"},
     {"pad", kPadKey, &LayerAttributes::pad, 0, "zeros around the image"}}};

}  // namespace spillway

#endif  // SPILLWAY_MODEL_NETWORK_ATTRIBUTE_READER_H_

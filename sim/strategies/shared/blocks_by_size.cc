#include "sim/strategies/shared/blocks_by_size.h"

#include <algorithm>
#include <map>
#include <optional>

#include "hw/text/lists.h"

namespace spillway {
namespace {

// Ops [begin, end) of forward, and the size of what they make.
struct LayerMap {
  OpId begin = 0, end = 0;
  std::optional<Shape> image{};  // none: the layer has no say
};

bool SameImage(const Shape& a, const Shape& b) { return a.d == b.d && a.h == b.h && a.w == b.w; }

// A convolution without padding makes maps a little smaller.
bool Near(std::int64_t a, std::int64_t b) { return 2 * std::max(a, b) < 3 * std::min(a, b); }
bool NearSize(const Shape& a, const Shape& b) { return Near(a.d, b.d) && Near(a.h, b.h) && Near(a.w, b.w); }

// Follows the network's input through the layers.
class ImageSizes {
 public:
  explicit ImageSizes(const TrainingStep& step) : step_(step) {
    const auto is_input = [](const Tensor& tensor) { return tensor.use == TensorClass::kInput; };
    const auto input = std::find_if(step.tensors.begin(), step.tensors.end(), is_input);  // further ones come later
    if (input != step.tensors.end()) images_[static_cast<TensorId>(input - step.tensors.begin())] = input->shape;
  }

  std::vector<LayerMap> OfLayers() {
    std::vector<LayerMap> layers;
    for (OpId begin = 0, end = 0; begin < step_.first_backward; begin = end) {
      while (end < step_.first_backward && At(end).layer == At(begin).layer) ++end;
      const std::optional<Shape> image = ImageOf(begin, end);
      layers.push_back({.begin = begin, .end = end});
      if (HasSay(At(end - 1).kind)) layers.back().image = image;
    }
    LeaveOutNumbers(layers);
    return layers;
  }

 private:
  static bool HasSay(OpKind kind) { return kind != OpKind::kCast && !TraitsOf(kind).loss; }
  const Op& At(OpId op) const { return step_.ops[Index(op)]; }
  const Shape& ShapeOf(TensorId tensor) const { return step_.tensors[Index(tensor)].shape; }

  // What the layer reads of others that the network's input leads to.
  std::vector<TensorId> ReadBy(OpId begin, OpId end) const {
    std::vector<TensorId> reads;
    for (OpId op = begin; op < end; ++op) {
      for (const TensorId t : At(op).reads) {
        if (images_.contains(t)) reads.push_back(t);
      }
    }
    return reads;
  }

  std::optional<Shape> ImageOf(OpId begin, OpId end) {
    const std::vector<TensorId> reads = ReadBy(begin, end);
    if (reads.empty()) return std::nullopt;
    const TensorId result = At(end - 1).writes.front();
    const Op& last = At(end - 1);
    const bool windows =
        last.kind == OpKind::kRearrange && last.details.rearrangement.form == RearrangementForm::kWindows;
    const auto alike = std::find_if(reads.begin(), reads.end(), [&](TensorId read) {
      return windows || SameImage(ShapeOf(read), ShapeOf(result));
    });
    return images_[result] = alike != reads.end() ? images_.at(*alike) : ShapeOf(result);
  }

  static void LeaveOutNumbers(std::vector<LayerMap>& layers) {
    bool maps_follow = false;
    for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
      if (!layer->image) continue;
      maps_follow = maps_follow || layer->image->Spatial() > 1;
      if (maps_follow && layer->image->Spatial() == 1) layer->image.reset();
    }
  }

  const TrainingStep& step_;
  std::map<TensorId, Shape> images_;  // of results that the network's input leads to: the size of the image
};

}  // namespace

Blocks BlocksBySize(const TrainingStep& step) {
  Blocks blocks{.rule = "a block is all layers with maps of about one size"};
  std::int32_t block = 0;
  std::optional<Shape> before;
  for (const LayerMap& layer : ImageSizes(step).OfLayers()) {
    if (layer.image && before && !NearSize(*layer.image, *before)) ++block;
    if (layer.image) before = layer.image;
    blocks.of.insert(blocks.of.end(), Index(layer.end - layer.begin), block);
  }
  return blocks;
}

}  // namespace spillway

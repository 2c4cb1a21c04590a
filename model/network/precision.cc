#include "model/network/precision.h"

#include <algorithm>
#include <set>
#include <utility>

#include "hw/text/lists.h"
#include "model/network/layer_kind.h"

namespace spillway {
namespace {

class Autocast {
 public:
  Autocast(Network& network, const Precision& precision) : network_(network), precision_(precision) {
    for (const Layer& layer : network.layers) names_.insert(layer.name);
  }

  void Run() {
    for (Layer& layer : network_.layers) {
      const DataType type = ComputedIn(layer);
      for (std::size_t k = 0; k < layer.inputs.size(); ++k) {
        LayerId& input = layer.inputs[k];
        input = Here(input);
        const bool reads = k < DataInputs(layer) && !layer.kind->converts;
        if (reads && TypeOfValue(input) != type) input = Cast(input, layer, type);
      }
      if (layer.tied != kNotTied) layer.tied = ids_[static_cast<std::size_t>(layer.tied)];
      layer.type = type;
      ids_.push_back(static_cast<LayerId>(layers_.size()));
      layers_.push_back(std::move(layer));
    }
    network_.layers = std::move(layers_);
  }

 private:
  // A layer by its id before, or the network's input.
  LayerId Here(LayerId id) const { return id == kNetworkInput ? id : ids_[static_cast<std::size_t>(id)]; }
  // Of the others the shape alone is taken.
  static std::size_t DataInputs(const Layer& layer) { return std::min(layer.inputs.size(), layer.kind->data_inputs); }
  DataType TypeOfValue(LayerId id) const {
    return id == kNetworkInput ? network_.type : layers_[static_cast<std::size_t>(id)].type.value_or(network_.type);
  }
  const Shape& ShapeOfValue(LayerId id) const {
    return id == kNetworkInput ? network_.input : layers_[static_cast<std::size_t>(id)].shape;
  }

  // Of inputs that differ the wider type.
  DataType ComputedIn(const Layer& layer) const {
    if (layer.kind->autocast == AutocastTo::kNarrow) return precision_.narrow;
    if (layer.kind->autocast == AutocastTo::kWide) return precision_.stored;
    const auto end = layer.inputs.begin() + static_cast<std::ptrdiff_t>(DataInputs(layer));
    const auto wide = [this](LayerId id) { return TypeOfValue(Here(id)) == precision_.stored; };
    return std::any_of(layer.inputs.begin(), end, wide) ? precision_.stored : precision_.narrow;
  }

  LayerId Cast(LayerId from, const Layer& reader, DataType type) {
    std::string name = reader.name + ".cast";
    for (int k = 2; !names_.insert(name).second; ++k) name = reader.name + ".cast" + std::to_string(k);
    layers_.push_back({.name = std::move(name),
                       .kind = &CastLayer(),
                       .attributes = {},
                       .inputs = {from},
                       .tied = kNotTied,
                       .shape = ShapeOfValue(from),
                       .type = type,
                       .mark = reader.mark});
    return static_cast<LayerId>(layers_.size() - 1);
  }

  Network& network_;
  const Precision& precision_;
  std::set<std::string> names_;
  std::vector<LayerId> ids_;   // by LayerId before: the same layer's now
  std::vector<Layer> layers_;  // with the casts
};

}  // namespace

const std::vector<Precision>& PrecisionTable() {
  static const std::vector<Precision> kTable = {
      {.name = "fp32", .description = "single precision throughout"},
      {.name = "tf32",
       .description = "single precision, multiplied as TF32 where the device can",
       .math = MathMode::kTf32},
      {.name = "amp-fp16",
       .description = "autocast to fp16, with a scaled loss",
       .narrow = DataType::kFp16,
       .math = MathMode::kFp16,
       .scales_loss = true},
      {.name = "amp-bf16", .description = "autocast to bf16", .narrow = DataType::kBf16, .math = MathMode::kBf16},
      {.name = "bf16",
       .description = "parameters, gradients and results in bf16",
       .stored = DataType::kBf16,
       .narrow = DataType::kBf16,
       .math = MathMode::kBf16},
  };
  return kTable;
}

const Precision& PrecisionByName(const std::string& name) {
  return ByName(PrecisionTable(), name, "unknown precision");
}

void ApplyPrecision(Network& network, const Precision& precision) {
  network.precision = &precision;
  network.type = precision.stored;
  network.math = precision.math;
  if (precision.Autocasts()) Autocast(network, precision).Run();
}

}  // namespace spillway

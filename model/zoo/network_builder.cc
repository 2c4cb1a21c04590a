#include "model/zoo/network_builder.h"

#include <utility>

#include "model/network/layer_kind.h"
#include "model/zoo/zoo.h"

namespace spillway {

LayerAttributes Square(std::int64_t out_channels, std::int64_t window, std::int64_t stride, std::int64_t pad) {
  return {
      .out_channels = out_channels, .window = {1, window, window}, .stride = {1, stride, stride}, .pad = {0, pad, pad}};
}

LayerAttributes WithBias(LayerAttributes attributes) {
  attributes.bias = true;
  return attributes;
}

LayerAttributes WithCeil(LayerAttributes attributes) {
  attributes.ceil_mode = true;
  return attributes;
}

Shape ImageInput(const ZooOptions& options, std::int64_t usual_size) {
  const std::int64_t height = options.image != 0 ? options.image : usual_size;
  return {.n = options.batch, .c = 3, .h = height, .w = options.width != 0 ? options.width : height};
}

std::int64_t ClassesOr(const ZooOptions& options, std::int64_t usual) {
  return options.classes != 0 ? options.classes : usual;
}

NetworkBuilder::NetworkBuilder(std::string name, const Shape& input) {
  network_.name = std::move(name);
  network_.input = input;
}

LayerId NetworkBuilder::Add(std::string name, const char* kind, std::vector<LayerId> inputs,
                            const LayerAttributes& attributes) {
  network_.layers.push_back({.name = std::move(name),
                             .kind = &LayerKindByName(kind),
                             .attributes = attributes,
                             .inputs = std::move(inputs),
                             .shape = {},
                             .mark = {}});
  return static_cast<LayerId>(network_.layers.size() - 1);
}

LayerId NetworkBuilder::GlobalAveragePool(std::string name, LayerId from) {
  LayerAttributes attributes;
  attributes.global = true;
  return Add(std::move(name), "average_pool", {from}, attributes);
}

LayerId NetworkBuilder::Dropout(std::string name, LayerId from, double rate) {
  LayerAttributes attributes;
  attributes.rate = rate;
  return Add(std::move(name), "dropout", {from}, attributes);
}

LayerId NetworkBuilder::Linear(std::string name, LayerId from, std::int64_t features) {
  LayerAttributes attributes;
  attributes.out_channels = features;
  return Add(std::move(name), "linear", {from}, WithBias(attributes));
}

LayerId NetworkBuilder::ConvolutionRelu(const std::string& name, LayerId from, const LayerAttributes& attributes) {
  return Relu("relu_" + name, Convolution(name, from, WithBias(attributes)));
}

LayerId NetworkBuilder::ConvolutionNormRelu(const std::string& name, LayerId from, const LayerAttributes& attributes,
                                            bool relu) {
  const LayerId norm = BatchNorm("bn_" + name, Convolution(name, from, attributes));
  return relu ? Relu("relu_" + name, norm) : norm;
}

Network NetworkBuilder::Loss(LayerId from) {
  Add("loss", "softmax_loss", {from});
  InferShapes(network_);
  return std::move(network_);
}

}  // namespace spillway

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

Shape TextInput(const ZooOptions& options, std::int64_t usual, std::int64_t rows) {
  return {.n = options.batch, .c = rows, .w = options.image != 0 ? options.image : usual};
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

LayerId NetworkBuilder::UpConvolution(std::string name, LayerId from, LayerAttributes attributes) {
  attributes.stride = attributes.window;
  return Add(std::move(name), "transposed_convolution", {from}, WithBias(attributes));
}

LayerId NetworkBuilder::AddLoss(std::string name, LayerId from, double weight) {
  LayerAttributes attributes;
  attributes.weight = weight;
  return Add(std::move(name), "softmax_loss", {from}, attributes);
}

LayerId NetworkBuilder::Embedding(std::string name, std::int64_t vocabulary, std::int64_t features, std::int64_t row) {
  network_.tokens = true;
  LayerAttributes attributes;
  attributes.vocabulary = vocabulary, attributes.out_channels = features, attributes.row = row;
  return Add(std::move(name), "embedding", {kNetworkInput}, attributes);
}

LayerId NetworkBuilder::Positions(std::string name, LayerId from, std::int64_t vectors) {
  LayerAttributes attributes;
  attributes.positions = vectors;
  return Add(std::move(name), "position", {from}, attributes);
}

LayerId NetworkBuilder::Pointwise(std::string name, LayerId from, std::int64_t features, bool bias) {
  LayerAttributes attributes;
  attributes.out_channels = features, attributes.bias = bias, attributes.pointwise = true;
  return Add(std::move(name), "linear", {from}, attributes);
}

LayerId NetworkBuilder::Tied(std::string name, LayerId from, LayerId embedding, bool bias) {
  const std::int64_t vocabulary = network_.layers[static_cast<std::size_t>(embedding)].attributes.vocabulary;
  const LayerId layer = Pointwise(std::move(name), from, vocabulary, bias);
  network_.layers.back().tied = embedding;
  return layer;
}

LayerId NetworkBuilder::First(std::string name, LayerId from, std::int64_t features) {
  LayerAttributes attributes;
  attributes.out_channels = features, attributes.bias = true, attributes.first = true;
  return Add(std::move(name), "linear", {from}, attributes);
}

Network NetworkBuilder::Loss(LayerId from) {
  AddLoss("loss", from, 1);
  return Finish();
}

Network NetworkBuilder::Finish() {
  InferShapes(network_);
  return std::move(network_);
}

}  // namespace spillway

// Writes networks layer by layer, as the zoo does.
//
//   NetworkBuilder b("tiny", {.n = 8, .c = 3, .h = 32, .w = 32});
//   LayerId x = b.Relu("relu1", b.BatchNorm("bn1", b.Convolution("conv1", kNetworkInput, Square(64, 3, 1, 1))));
//   Network network = b.Loss(b.Linear("fc", b.GlobalAveragePool("pool", x), 10));
#ifndef SPILLWAY_MODEL_ZOO_NETWORK_BUILDER_H_
#define SPILLWAY_MODEL_ZOO_NETWORK_BUILDER_H_

#include <string>
#include <vector>

#include "model/network/network.h"
#include "model/zoo/zoo.h"

namespace spillway {

// 2-D attributes: out_channels (0 for pooling), window, stride and padding equal in height and width.
LayerAttributes Square(std::int64_t out_channels, std::int64_t window, std::int64_t stride = 1, std::int64_t pad = 0);
LayerAttributes WithBias(LayerAttributes attributes);
LayerAttributes WithCeil(LayerAttributes attributes);

// The input of a 2-D network of the zoo: `options` with the network's usual size, in pixels, filled in.
Shape ImageInput(const ZooOptions& options, std::int64_t usual_size);
std::int64_t ClassesOr(const ZooOptions& options, std::int64_t usual);

// The input of a text network of the zoo: tokens, `options.image` of them or the usual number.
Shape TextInput(const ZooOptions& options, std::int64_t usual, std::int64_t rows = 1);

// Every method appends a layer that reads those named, and returns its id. What is wrong with a layer is found by Loss(),
// all at once; until then nothing is checked. `name` is unique in the network.
class NetworkBuilder {
 public:
  NetworkBuilder(std::string name, const Shape& input);

  LayerId Add(std::string name, const char* kind, std::vector<LayerId> inputs, const LayerAttributes& attributes = {});
  LayerId Convolution(std::string name, LayerId from, const LayerAttributes& attributes) {
    return Add(std::move(name), "convolution", {from}, attributes);
  }
  LayerId MaxPool(std::string name, LayerId from, const LayerAttributes& attributes) {
    return Add(std::move(name), "max_pool", {from}, attributes);
  }
  LayerId AveragePool(std::string name, LayerId from, const LayerAttributes& attributes) {
    return Add(std::move(name), "average_pool", {from}, attributes);
  }
  LayerId BatchNorm(std::string name, LayerId from) { return Add(std::move(name), "batch_norm", {from}); }
  LayerId Relu(std::string name, LayerId from) { return Add(std::move(name), "relu", {from}); }
  LayerId Lrn(std::string name, LayerId from) { return Add(std::move(name), "lrn", {from}); }
  LayerId AddUp(std::string name, std::vector<LayerId> from) { return Add(std::move(name), "add", std::move(from)); }
  LayerId Concat(std::string name, std::vector<LayerId> from) {
    return Add(std::move(name), "concat", std::move(from));
  }
  // Window as large as its stride, with bias: each place becomes as many as the window has.
  LayerId UpConvolution(std::string name, LayerId from, LayerAttributes attributes);
  LayerId GlobalAveragePool(std::string name, LayerId from);
  LayerId Dropout(std::string name, LayerId from, double rate);
  LayerId Linear(std::string name, LayerId from, std::int64_t features);  // with bias
  // `name`, then "relu_" + name: convolution with bias and ReLU; returns the ReLU.
  LayerId ConvolutionRelu(const std::string& name, LayerId from, const LayerAttributes& attributes);
  // `name`, "bn_" + name and, unless left out, "relu_" + name: without bias; returns the last.
  LayerId ConvolutionNormRelu(const std::string& name, LayerId from, const LayerAttributes& attributes,
                              bool relu = true);

  // Of transformers. `Embedding` makes the network's input whole numbers; a `Tied` layer has that embedding's weight.
  LayerId Embedding(std::string name, std::int64_t vocabulary, std::int64_t features, std::int64_t row = 0);
  LayerId Positions(std::string name, LayerId from, std::int64_t vectors = 0);
  LayerId Pointwise(std::string name, LayerId from, std::int64_t features, bool bias = true);
  LayerId Tied(std::string name, LayerId from, LayerId embedding, bool bias);
  LayerId First(std::string name, LayerId from, std::int64_t features);  // linear, of the first position, with bias

  // Ends the network with a softmax loss on `from` and infers the shapes. Throws what InferShapes throws.
  Network Loss(LayerId from);
  // One of several losses; Finish() ends a network that has them.
  LayerId AddLoss(std::string name, LayerId from, double weight);
  Network Finish();

 private:
  Network network_;
};

}  // namespace spillway

#endif  // SPILLWAY_MODEL_ZOO_NETWORK_BUILDER_H_

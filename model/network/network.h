// A network as its author wrote it: layers, each reading the results of earlier ones.
#ifndef SPILLWAY_MODEL_NETWORK_NETWORK_H_
#define SPILLWAY_MODEL_NETWORK_NETWORK_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hw/text/document.h"
#include "model/step/training_step.h"

namespace spillway {

constexpr LayerId kNetworkInput = -1;  // as an input of a layer: the batch
constexpr LayerId kNotTied = -2;

// The parameters of all layer kinds in one plain struct; a kind uses those it needs and leaves the rest alone.
// Triples are (depth, height, width); 2-D layers leave the depth at its default.
struct LayerAttributes {
  std::int64_t out_channels = 0;  // convolution, linear (features)
  std::array<std::int64_t, 3> window{1, 1, 1};
  std::array<std::int64_t, 3> stride{1, 1, 1};
  std::array<std::int64_t, 3> pad{0, 0, 0};
  std::array<std::int64_t, 3> pad_after{-1, -1, -1};  // convolution, pooling: behind the image; -1: as `pad`
  std::array<std::int64_t, 3> dilation{1, 1, 1};      // convolution
  std::array<std::int64_t, 3> output_pad{0, 0, 0};    // transposed convolution: places more in the result
  std::array<std::int64_t, 3> scale{1, 1, 1};         // resize
  std::array<std::int64_t, 3> image{0, 0, 0};         // resize, crop: size of the result; 0: not given
  bool linear = false;                                // resize: between neighbours; false: the nearest place
  double weight = 1;                                  // losses: share of the step's loss
  double smoothing = 0;                               // softmax loss: share that labels give to all classes alike
  bool independent = false;                           // Dice loss: each class's probability by itself
  std::int64_t groups = 1;
  bool bias = false;                           // convolution, linear
  bool ceil_mode = false;                      // pooling: round the output size up
  bool global = false;                         // average pooling over the whole image
  double rate = 0.5;                           // dropout
  std::int64_t size = 5;                       // LRN: channels summed over
  double slope = 0.01;                         // leaky ReLU: below zero
  std::int64_t norm_groups = 32;               // group norm
  bool affine = true;                          // group, instance, layer and RMS norm: has scale and shift
  bool pointwise = false;                      // linear: the channels of each position, not all of a sample
  bool first = false;                          // linear: those of the first position alone
  std::int64_t vocabulary = 1;                 // embedding: rows of its table
  std::int64_t row = 0;                        // embedding: which row of the network's tokens it reads
  std::int64_t positions = 0;                  // position: vectors that it has; 0: as many as its input has positions
  std::int64_t heads = 1;                      // attention, rope
  std::int64_t kv_heads = 0;                   // attention: heads of keys and values; 0: `heads`
  bool causal = false;                         // attention: no position reads those behind it
  bool fused = true;                           // attention: one op; false: written out
  double dropout = 0;                          // attention: rate at which scores are dropped
  bool last_axis = false;                      // softmax: along the width; false: over channels
  std::array<std::int64_t, 3> shift{0, 0, 0};  // roll: places moved on; attention: those that the image was moved back
  std::array<std::int64_t, 3> relative{1, 1, 1};  // attention: the window that its table of distances is for
  std::size_t cut_axis = 0;                       // slice: of SamplePlace (model/step/rearrangement.h)
  std::int64_t begin = 0, end = 0, step = 1;      // slice; end 0: the axis's
  std::array<std::size_t, 4> order{0, 1, 2, 3};   // permute: the input's axes, of SamplePlace
  bool at_start = false;                          // crop: the image's first places; false: the centre
  bool frozen = false;                            // those with parameters: a step leaves them as they are
  std::int64_t PadAfter(std::size_t axis) const { return pad_after[axis] < 0 ? pad[axis] : pad_after[axis]; }
};

struct LayerKind;  // model/network/layer_kind.h
struct Optimizer;  // model/network/optimizer.h
struct Precision;  // model/network/precision.h

struct Layer {
  std::string name;  // unique in the network
  const LayerKind* kind = nullptr;
  LayerAttributes attributes;
  std::vector<LayerId> inputs;
  LayerId tied = kNotTied;         // whose first parameter stands in for this layer's; listed in front of it
  Shape shape;                     // of its result, filled by InferShapes
  std::optional<DataType> type{};  // in which it computes, its result's; none: the network's
  Mark mark;                       // where it stood in the user's file, if it did
};

struct Network {
  std::string name;
  Shape input;          // n = batch
  bool tokens = false;  // the input is whole numbers (int64), n x rows x 1 x positions; else an image
  DataType type = DataType::kFp32;
  Layout layout = Layout::kNchw;
  MathMode math = MathMode::kFp32;
  const Precision* precision = nullptr;  // a row of PrecisionTable() that was applied; nullptr: none was
  const Optimizer* optimizer = nullptr;  // a row of OptimizerTable(); nullptr: that of the step options
  bool clips_gradients = false;          // by the norm of all
  std::vector<Layer> layers;             // any order; a layer that no other reads is a loss

  const Shape& InputShape(const Layer& layer, std::size_t k) const {
    return layer.inputs[k] == kNetworkInput ? input : layers[static_cast<std::size_t>(layer.inputs[k])].shape;
  }
};

// Puts the layers into an order in which each one follows its inputs (stable: ties keep the given order) and fills
// in their shapes. Throws UserError naming layers and shapes: a cycle (printed), inputs that do not fit together, a
// window larger than its padded input, wrong number of inputs, a layer no other layer reads that is no loss, a loss that
// a layer reads, an unusable or repeated name, a tensor of more than 10^12 elements; all mistakes at once.
// REQUIRES: kinds set, inputs valid ids, windows, strides and groups positive.
void InferShapes(Network& network);

// Trainable parameters (elements, not bytes), batch-norm scale and shift included.
std::int64_t CountParameters(const Network& network);

// A user's own network: `layers:` listed in YAML. See model/README section "Networks in YAML" for the keys.
// Reads a map node {name, input: {channels, image | height+width, depth}, layers: [...]}; batch comes from outside.
Network ReadNetwork(const Node& node, Diagnostics& diagnostics, std::int64_t batch);
Network LoadNetwork(const std::string& path, std::int64_t batch);

// What can be wrong with a network, found all at once: shared by InferShapes and the reader of network files.
struct NetworkProblem {
  std::string message;  // names the layer
  Mark mark;            // of the layer
};

// Orders the layers and fills in their shapes; returns what is wrong, nothing if all is well. With problems the
// network is left in an unspecified state. REQUIRES: kinds set, inputs valid layer ids, layer names distinct.
std::vector<NetworkProblem> OrderAndInferShapes(Network& network);

// A usable layer name: not empty, not "input", no ':' (which separates layer and tensor), no white space. Returns what
// is wrong or "".
std::string LayerNameProblem(const std::string& name);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_NETWORK_NETWORK_H_

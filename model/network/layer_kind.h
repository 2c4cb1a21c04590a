// What a kind of layer is: how it infers its shape, which parameters it has, and which ops it becomes.
//
// One file per kind under model/layers/, listed in its table.inc: a new kind is these two. A new attribute is one field
// of LayerAttributes, one key here and one line of the table in network_file.cc.
#ifndef SPILLWAY_MODEL_NETWORK_LAYER_KIND_H_
#define SPILLWAY_MODEL_NETWORK_LAYER_KIND_H_

#include <cstdint>
#include <string>
#include <vector>

#include "model/network/network.h"

namespace spillway {

class StepWriter;  // model/unroll/step_writer.h

// The attributes a kind uses, as bits: these are the keys its layers may have in YAML.
enum AttributeKey : std::uint64_t {
  kOutKey = 1u << 0,
  kWindowKey = 1u << 1,
  kStrideKey = 1u << 2,
  kPadKey = 1u << 3,
  kGroupsKey = 1u << 4,
  kBiasKey = 1u << 5,
  kCeilKey = 1u << 6,
  kGlobalKey = 1u << 7,
  kRateKey = 1u << 8,
  kSizeKey = 1u << 9,
  kDilationKey = 1u << 10,
  kPadAfterKey = 1u << 11,
  kOutputPadKey = 1u << 12,
  kScaleKey = 1u << 13,
  kImageKey = 1u << 14,
  kMethodKey = 1u << 15,
  kWeightKey = 1u << 16,
  kSmoothingKey = 1u << 17,
  kProbabilitiesKey = 1u << 18,
  kSlopeKey = 1u << 27,
  kNormGroupsKey = 1u << 28,
  kAffineKey = 1u << 29,
  kPointwiseKey = std::uint64_t{1} << 32,
  kFirstKey = std::uint64_t{1} << 33,
  kTiedKey = std::uint64_t{1} << 34,
  kVocabularyKey = std::uint64_t{1} << 35,
  kRowKey = std::uint64_t{1} << 36,
  kPositionsKey = std::uint64_t{1} << 37,
  kHeadsKey = std::uint64_t{1} << 38,
  kKvHeadsKey = std::uint64_t{1} << 39,
  kCausalKey = std::uint64_t{1} << 40,
  kFusedKey = std::uint64_t{1} << 41,
  kDropoutKey = std::uint64_t{1} << 42,
  kLastAxisKey = std::uint64_t{1} << 43,
  kShiftKey = std::uint64_t{1} << 48,
  kRelativeKey = std::uint64_t{1} << 49,
  kAxisKey = std::uint64_t{1} << 50,
  kBeginKey = std::uint64_t{1} << 51,
  kEndKey = std::uint64_t{1} << 52,
  kStepKey = std::uint64_t{1} << 53,
  kOrderKey = std::uint64_t{1} << 54,
  kAtKey = std::uint64_t{1} << 55,
  kBlockKey = std::uint64_t{1} << 56,
  kBlockedImageKey = std::uint64_t{1} << 57,
  kReshapedKey = std::uint64_t{1} << 58,
  kInputImageKey = std::uint64_t{1} << 59,
  kFrozenKey = std::uint64_t{1} << 60,
  kWindowShiftKey = std::uint64_t{1} << 61,
};

// Trainable, fp32. A vector of one value per channel is {1, channels}, a convolution's weight {out, in / groups, window}.
struct ParameterShape {
  const char* name;  // "weight", "bias", "scale", "shift"
  Shape shape;
};

// What autocast does with a layer (model/network/precision.h): computes in what comes in, the widest of several; narrows
// it and its parameters (but LayerKind::wide_parameters); widens it.
enum class AutocastTo : std::uint8_t { kInput, kNarrow, kWide };

struct LayerKind {
  const char* name;         // also its name in YAML
  const char* description;  // one line
  std::size_t min_inputs = 1, max_inputs = 1;
  std::size_t data_inputs = 1024;  // the first so many; of those behind them only the shape is taken
  std::uint64_t keys = 0;          // attributes it takes (AttributeKey)
  std::uint64_t required = 0;      // those of them without a default
  // Backward reads the layer's own result, so that nobody may overwrite it.
  bool backward_reads_result = false;
  bool loss = false;  // no layer reads it; has no output gradient
  AutocastTo autocast = AutocastTo::kInput;
  bool shares_weight = false;  // its op adds to the gradient that another layer gave its first parameter (Layer::tied)
  bool wide_parameters = false;  // autocast narrows its results, not its parameters, which are added and not multiplied
  bool converts = false;         // its kernels read narrower inputs as they are, and save them so

  bool reads_tokens = false;  // its input is the network's, of tokens; no other kind takes those

  // Shape of the result. On a misfit fills `problem` with what is wrong, shapes included; the result is then ignored.
  Shape (*infer)(const LayerAttributes& attributes, const std::vector<Shape>& inputs, std::string& problem);
  // Trainable parameters, in the order in which StepWriter::Parameter numbers them; null if there are none.
  std::vector<ParameterShape> (*parameters)(const LayerAttributes& attributes, const Shape& input) = nullptr;
  // Emit the ops of the writer's current layer. Backward is only asked for where some gradient is wanted.
  void (*forward)(StepWriter& writer);
  void (*backward)(StepWriter& writer);
};

// By constant, each defined by the kind's own file.
#define LAYER_KIND(KIND) extern const LayerKind KIND;
#include "model/layers/table.inc"
#undef LAYER_KIND

const std::vector<const LayerKind*>& LayerKinds();
const LayerKind* FindLayerKind(const std::string& name);    // nullptr when there is none
const LayerKind& LayerKindByName(const std::string& name);  // UserError with the nearest name

// The parameters of a layer whose shapes are inferred, but for one that is another layer's (Layer::tied).
std::vector<ParameterShape> LayerParameters(const Network& network, const Layer& layer);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_NETWORK_LAYER_KIND_H_

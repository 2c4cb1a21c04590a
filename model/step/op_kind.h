// The kinds of ops in one table: their names, their passes, what each moves and computes, and what of them the rest of the
// program goes by. Whoever asks for a kind by name asks for what it alone does; what several have in common is a column.
//
// A new kind of op is a value here and a row there, the layer that emits it (model/layers/), its kernels on each device
// (calibrate/run/cpu/, calibrate/run/cuda/plugin/) and, unless it is `elementwise`, a cost law (model/kernels/).
#ifndef SPILLWAY_MODEL_STEP_OP_KIND_H_
#define SPILLWAY_MODEL_STEP_OP_KIND_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace spillway {

enum class OpKind : std::uint8_t {
  kConvolution,
  kBias,
  kBatchNorm,
  kRelu,
  kMaxPool,
  kAveragePool,
  kLrn,
  kDropout,
  kConcat,
  kAdd,
  kLinear,
  kSoftmaxLoss,
  kCopy,
  kUpdate,
};
constexpr OpKind kLastOpKind = OpKind::kUpdate;

enum class Pass : std::uint8_t { kForward, kBackwardData, kBackwardFilter, kBackwardBias, kBackward, kUpdate };
const char* PassName(Pass pass);  // "forward", "backward_data", "backward_filter", "backward_bias", ...
std::optional<Pass> PassByName(std::string_view name);

// What a call that memory bounds moves and computes. The first group: how often it passes over its input and its output;
// gradients count as what they are the gradient of. Flops are per element of the output, of a backward pass per element
// of the input, and rough.
struct OpTraffic {
  double in = 0, out = 0;
  double in_per_operand = 0, out_per_operand = 0;  // and as often for each of OpShape::operands
  double vectors = 0;                              // over vectors of one element per channel of the output
  double mask = 0;                                 // bytes, not elements, per element of the output
  double flops = 0;
  double flops_per_operand = 0, flops_per_window = 0;  // for each operand; for each element of the window
};

// What an op does to the zeros that a ReLU leaves behind.
enum class ZeroEffect : std::uint8_t { kNone, kMakes, kKeeps };

constexpr unsigned PassBit(Pass pass) { return 1U << static_cast<unsigned>(pass); }

// A row is what the operation has to read, write and compute, counted, not measured; caches are left out. What backward reads
// is model/README.md's table.
struct OpTraits {
  OpKind kind;
  const char* name;          // "convolution", "batch_norm", "max_pool", ...: in profiles, samples and texts
  unsigned passes = 0;       // PassBit of those that it has
  bool product = false;      // multiplies matrices and has weights: its time is bound by arithmetic, not by memory
  bool algorithms = false;   // a library offers several, with workspaces of their own (AlgorithmNames)
  bool window = false;       // slides OpShape::window over its input
  bool elementwise = false;  // passes over whole tensors, whatever their shape: one cost law for all of these
  bool planes = false;       // on a processor, goes plane by plane of a sample and channel
  bool backward_needs_forward = false;  // its backward pass reads what its forward pass of the same data has left
  bool labels = false;                  // reads the batch's labels
  ZeroEffect zeros = ZeroEffect::kNone;
  int operands = 1;         // OpShape::operands where nothing else is said
  OpTraffic forward = {};   // unless it is a product
  OpTraffic backward = {};  // of every pass but forward
};

namespace op_passes {
inline constexpr unsigned kBoth = PassBit(Pass::kForward) | PassBit(Pass::kBackward);
inline constexpr unsigned kProduct =
    PassBit(Pass::kForward) | PassBit(Pass::kBackwardData) | PassBit(Pass::kBackwardFilter);
inline constexpr unsigned kBias = PassBit(Pass::kForward) | PassBit(Pass::kBackwardBias);
}  // namespace op_passes

// By OpKind.
inline constexpr std::array<OpTraits, static_cast<std::size_t>(kLastOpKind) + 1> kOpTraits{{
    {.kind = OpKind::kConvolution,
     .name = "convolution",
     .passes = op_passes::kProduct,
     .product = true,
     .algorithms = true,
     .window = true},
    // Forward in place.
    {.kind = OpKind::kBias,
     .name = "bias",
     .passes = op_passes::kBias,
     .elementwise = true,
     .planes = true,
     .forward = {.out = 2, .vectors = 1, .flops = 1},
     .backward = {.out = 1, .vectors = 1, .flops = 1}},
    // Forward: statistics, normalise, write; backward: x and dy for the sums, x and dy again, dx.
    {.kind = OpKind::kBatchNorm,
     .name = "batch_norm",
     .passes = op_passes::kBoth,
     .planes = true,
     .backward_needs_forward = true,
     .forward = {.in = 2, .out = 1, .vectors = 4, .flops = 5},
     .backward = {.in = 3, .out = 2, .vectors = 5, .flops = 8}},
    // Backward: y, dy, dx.
    {.kind = OpKind::kRelu,
     .name = "relu",
     .passes = op_passes::kBoth,
     .elementwise = true,
     .zeros = ZeroEffect::kMakes,
     .forward = {.in = 1, .out = 1, .flops = 1},
     .backward = {.in = 1, .out = 2, .flops = 1}},
    // Backward: x, y, dy, dx.
    {.kind = OpKind::kMaxPool,
     .name = "max_pool",
     .passes = op_passes::kBoth,
     .window = true,
     .planes = true,
     .backward_needs_forward = true,
     .zeros = ZeroEffect::kKeeps,
     .forward = {.in = 1, .out = 1, .flops_per_window = 1},
     .backward = {.in = 2, .out = 2, .flops = 1}},
    {.kind = OpKind::kAveragePool,
     .name = "average_pool",
     .passes = op_passes::kBoth,
     .window = true,
     .planes = true,
     .forward = {.in = 1, .out = 1, .flops_per_window = 1},
     .backward = {.in = 1, .out = 1, .flops = 1}},
    // Backward: x, y, dy, dx. Its window is of channels.
    {.kind = OpKind::kLrn,
     .name = "lrn",
     .passes = op_passes::kBoth,
     .planes = true,
     .backward_needs_forward = true,
     .zeros = ZeroEffect::kKeeps,
     .forward = {.in = 1, .out = 1, .flops = 3, .flops_per_window = 2},
     .backward = {.in = 2, .out = 2, .flops = 5, .flops_per_window = 2}},
    {.kind = OpKind::kDropout,
     .name = "dropout",
     .passes = op_passes::kBoth,
     .elementwise = true,
     .backward_needs_forward = true,
     .zeros = ZeroEffect::kMakes,
     .forward = {.in = 1, .out = 1, .mask = 1, .flops = 1},
     .backward = {.in = 1, .out = 1, .mask = 1, .flops = 1}},
    {.kind = OpKind::kConcat,
     .name = "concat",
     .passes = op_passes::kBoth,
     .elementwise = true,
     .planes = true,
     .operands = 2,
     .forward = {.out = 2},
     .backward = {.out = 2}},
    // Every operand and the sum.
    {.kind = OpKind::kAdd,
     .name = "add",
     .passes = op_passes::kBoth,
     .elementwise = true,
     .operands = 2,
     .forward = {.out = 1, .out_per_operand = 1, .flops = -1, .flops_per_operand = 1},
     .backward = {.out = 1, .out_per_operand = 1, .flops = -1, .flops_per_operand = 1}},
    {.kind = OpKind::kLinear, .name = "linear", .passes = op_passes::kProduct, .product = true},
    // Forward x, p; backward p, dx.
    {.kind = OpKind::kSoftmaxLoss,
     .name = "softmax_loss",
     .passes = op_passes::kBoth,
     .planes = true,
     .backward_needs_forward = true,
     .labels = true,
     .forward = {.in = 1, .out = 1, .flops = 4},
     .backward = {.in = 1, .out = 1, .flops = 2}},
    {.kind = OpKind::kCopy,
     .name = "copy",
     .passes = op_passes::kBoth,
     .elementwise = true,
     .forward = {.out = 2},
     .backward = {.out = 2}},
    // Of w, v and g all are read, all but g written.
    {.kind = OpKind::kUpdate,
     .name = "update",
     .passes = PassBit(Pass::kUpdate),
     .elementwise = true,
     .operands = 3,
     .backward = {.in = -1, .in_per_operand = 2, .flops = -2, .flops_per_operand = 2}},
}};

constexpr const OpTraits& TraitsOf(OpKind kind) { return kOpTraits[static_cast<std::size_t>(kind)]; }
constexpr const char* OpKindName(OpKind kind) { return TraitsOf(kind).name; }
std::optional<OpKind> OpKindByName(std::string_view name);

// The columns that many ask for.
constexpr bool HasPass(OpKind kind, Pass pass) { return (TraitsOf(kind).passes & PassBit(pass)) != 0; }
constexpr bool IsProduct(OpKind kind) { return TraitsOf(kind).product; }
constexpr bool HasAlgorithms(OpKind kind) { return TraitsOf(kind).algorithms; }
constexpr bool HasWindow(OpKind kind) { return TraitsOf(kind).window; }

}  // namespace spillway

#endif  // SPILLWAY_MODEL_STEP_OP_KIND_H_

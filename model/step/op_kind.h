// The kinds of ops in one table: names, passes, bytes moved, flops, and traits that the rest of the program uses. A
// trait that several kinds share is a column; code names a kind only for behaviour that no other kind has.
//
// The table is model/step/op_kinds.inc, which explains how to add a kind. The last kind is for ops of a recorded step
// (model/recorded/), of which only names and times are known.
#ifndef SPILLWAY_MODEL_STEP_OP_KIND_H_
#define SPILLWAY_MODEL_STEP_OP_KIND_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace spillway {

#define OP_KIND(KIND, ...) k##KIND,
enum class OpKind : std::uint8_t {
#include "model/step/op_kinds.inc"
  kRecorded,
};
#undef OP_KIND

enum class Pass : std::uint8_t { kForward, kBackwardData, kBackwardFilter, kBackwardBias, kBackward, kUpdate };
const char* PassName(Pass pass);  // "forward", "backward_data", "backward_filter", "backward_bias", ...
std::optional<Pass> PassByName(std::string_view name);

// The memory traffic and flops of a call whose speed memory limits. The first group counts passes over the input and
// over the output; a gradient counts as the tensor of which it is the gradient. Flops are rough: per element of the
// output, in backward per element of the input.
struct OpTraffic {
  double in = 0, out = 0;
  double in_per_operand = 0, out_per_operand = 0;  // and as often for each of OpShape::operands
  double vectors = 0;                              // over vectors of one element per channel of the output
  double mask = 0;                                 // bytes, not elements, per element of the output
  double flops = 0;
  double flops_per_operand = 0, flops_per_window = 0;  // for each operand; for each element of the window
};

// The effect of an op on the zeros that a ReLU makes.
enum class ZeroEffect : std::uint8_t { kNone, kMakes, kKeeps };

constexpr unsigned PassBit(Pass pass) { return 1U << static_cast<unsigned>(pass); }

// One row of the table: the reads, writes and flops of the operation, counted and not measured, without caches. The
// table in model/README.md lists the operands of backward.
struct OpTraits {
  OpKind kind;
  const char* name;     // "convolution", "batch_norm", "max_pool", ...: in profiles, samples and texts
  unsigned passes = 0;  // PassBit of those that it has
  bool samples_apart =
      false;  // computes each sample of the batch by itself; sums over them are of parameters' gradients
  // Its backward pass sums parameters' gradients over the samples beside what it computes of each: it runs whole.
  bool backward_sums = false;
  bool product = false;      // multiplies matrices: bound by arithmetic, not by memory, at the rate of its math mode
  bool weights = false;      // one factor is its layer's weights: has a filter pass, and features of its own
  bool algorithms = false;   // a library offers several, with workspaces of their own (AlgorithmNames)
  bool window = false;       // slides OpShape::window over its input
  bool elementwise = false;  // passes over whole tensors, whatever their shape: one cost law for all of these
  bool planes = false;       // on a processor, goes plane by plane of a sample and channel
  bool stated = false;  // a sample states the result's shape, groups, and window[0] and [2] (r, s) of its own accord
  bool backward_needs_forward = false;  // its backward pass reads what its forward pass of the same data has left
  bool labels = false;                  // reads the batch's labels
  bool loss = false;                    // is a part of the step's loss
  bool opaque = false;                  // its computation is unknown: no law, no kernel, no layer
  ZeroEffect zeros = ZeroEffect::kNone;
  int operands = 1;         // OpShape::operands where nothing else is said
  OpTraffic forward = {};   // unless it has weights
  OpTraffic backward = {};  // of every pass but forward
};

namespace op_passes {
inline constexpr unsigned kBoth = PassBit(Pass::kForward) | PassBit(Pass::kBackward);
inline constexpr unsigned kWeighted =
    PassBit(Pass::kForward) | PassBit(Pass::kBackwardData) | PassBit(Pass::kBackwardFilter);
inline constexpr unsigned kBias = PassBit(Pass::kForward) | PassBit(Pass::kBackwardBias);
inline constexpr unsigned kToken = kBias | PassBit(Pass::kBackwardData);
inline constexpr unsigned kVector = kBoth | PassBit(Pass::kBackwardBias);   // a parameter per channel
inline constexpr unsigned kFactors = kBoth | PassBit(Pass::kBackwardData);  // a gradient for each of two inputs
}  // namespace op_passes

// By OpKind.
#define OP_KIND(KIND, ...) OpTraits{.kind = OpKind::k##KIND, __VA_ARGS__},
inline constexpr std::array kOpTraits = {
#include "model/step/op_kinds.inc"
    OpTraits{.kind = OpKind::kRecorded,
             .name = "recorded",
             .passes = PassBit(Pass::kForward) | PassBit(Pass::kBackward) | PassBit(Pass::kUpdate),
             .algorithms = true,
             .opaque = true},
};
#undef OP_KIND
// The last kind that profiles, samples and devices know: that of the table's last line.
constexpr OpKind kLastOpKind = static_cast<OpKind>(static_cast<int>(OpKind::kRecorded) - 1);
static_assert(static_cast<std::size_t>(OpKind::kRecorded) + 1 == kOpTraits.size(), "a row each");

constexpr const OpTraits& TraitsOf(OpKind kind) { return kOpTraits[static_cast<std::size_t>(kind)]; }
constexpr const char* OpKindName(OpKind kind) { return TraitsOf(kind).name; }
std::optional<OpKind> OpKindByName(std::string_view name);

// The columns that many ask for.
constexpr bool HasPass(OpKind kind, Pass pass) { return (TraitsOf(kind).passes & PassBit(pass)) != 0; }
constexpr bool IsProduct(OpKind kind) { return TraitsOf(kind).product; }
constexpr bool HasWeights(OpKind kind) { return TraitsOf(kind).weights; }
constexpr bool HasAlgorithms(OpKind kind) { return TraitsOf(kind).algorithms; }
constexpr bool HasWindow(OpKind kind) { return TraitsOf(kind).window; }

}  // namespace spillway

#endif  // SPILLWAY_MODEL_STEP_OP_KIND_H_

// The kinds of ops in one table: their names, their passes, what each moves and computes, and what of them the rest of the
// program goes by. Whoever asks for a kind by name asks for what it alone does; what several have in common is a column.
//
// The table is model/step/op_kinds.inc, which says what a new kind takes. Behind its kinds comes one that nothing here can
// compute: ops of a recorded step (model/recorded/), known by their names and times alone.
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

// A row is what the operation has to read, write and compute, counted, not measured; caches are left out. What backward
// reads is model/README.md's table.
struct OpTraits {
  OpKind kind;
  const char* name;     // "convolution", "batch_norm", "max_pool", ...: in profiles, samples and texts
  unsigned passes = 0;  // PassBit of those that it has
  bool samples_apart =
      false;                 // computes each sample of the batch by itself; sums over them are of parameters' gradients
  bool product = false;      // multiplies matrices and has weights: its time is bound by arithmetic, not by memory
  bool algorithms = false;   // a library offers several, with workspaces of their own (AlgorithmNames)
  bool window = false;       // slides OpShape::window over its input
  bool elementwise = false;  // passes over whole tensors, whatever their shape: one cost law for all of these
  bool planes = false;       // on a processor, goes plane by plane of a sample and channel
  bool backward_needs_forward = false;  // its backward pass reads what its forward pass of the same data has left
  bool labels = false;                  // reads the batch's labels
  bool opaque = false;                  // nobody knows what it computes: no law, no kernel, no layer
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
// Of the kinds that profiles, samples and devices know.
constexpr OpKind kLastOpKind = OpKind::kUpdate;
static_assert(static_cast<std::size_t>(kLastOpKind) + 2 == kOpTraits.size(), "the last line of op_kinds.inc");

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

// One training iteration unrolled: one op per library call, the tensors between them, what backward needs.
//
// A TrainingStep says what is computed, never how it is made to fit: it is not split and not rewritten by any
// strategy. Ops are listed in the order a framework would issue them: forward, loss, backward, update. A step in batch
// parts (model/step/accumulate.h) is another step: forward, loss and backward of each part in turn, then the update.
//
// In-place results: a tensor may have several writers (convolution then bias; batch norm then an in-place ReLU).
// Recomputing it means running all its forward writers again, in order.
#ifndef SPILLWAY_MODEL_STEP_TRAINING_STEP_H_
#define SPILLWAY_MODEL_STEP_TRAINING_STEP_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/step/activation.h"
#include "model/step/box.h"
#include "model/step/heads.h"
#include "model/step/loss.h"
#include "model/step/op_kind.h"
#include "model/step/rearrangement.h"
#include "model/step/tensor.h"
#include "model/step/window_grid.h"

namespace spillway {

using OpId = std::int32_t;  // index into TrainingStep::ops
constexpr OpId kNoOp = -1;
using LayerId = std::int32_t;  // index into TrainingStep::layer_names and, of a network's step, into Network::layers

// Machine-free counts. A multiply-add is 2 flops. Bytes count every tensor once per pass over it that the operation
// needs (batch norm reads its input twice), caches ignored.
struct Work {
  double flops = 0;
  double bytes = 0;
};

// The padding of an axis: places before and after the input that a window may cover. Most layers pad both sides equally;
// parts of an op do not.
struct Padding {
  std::int64_t begin = 0, end = 0;
  constexpr Padding() = default;
  constexpr Padding(std::int64_t both) : begin(both), end(both) {}  // NOLINT: "pad 1" is both
  constexpr Padding(std::int64_t b, std::int64_t e) : begin(b), end(e) {}
  constexpr std::int64_t Sum() const { return begin + end; }
  bool operator==(const Padding&) const = default;
};

// Everything a library needs to know of a call's shape; with kind, pass, type and math mode this is the cost key.
struct OpShape {
  Shape in;   // forward input (the first one), whatever the pass
  Shape out;  // forward output
  std::array<std::int64_t, 3> window{1, 1, 1}, stride{1, 1, 1};
  std::array<std::int64_t, 3> dilation{1, 1, 1};  // places from one element of the window to the next
  std::array<Padding, 3> pad{};
  std::int64_t groups = 1;
  // Forward inputs of add and concat. Update: tensors it touches (parameter, gradient, optimizer states), in units of the
  // parameter's size. Batch norm: 0 where the statistics are given (inference). Attention: AttentionOperands (heads.h).
  // LRN: window[0] is the number of channels
  // summed over. Loss: 2 where backward makes the gradient of the log-probabilities besides.
  std::int64_t operands = 1;
  std::int64_t recorded = 0;  // of a recorded op, which has no shape: 1 + its row of the recording's times
  std::array<std::int64_t, 3> PadBegin() const { return {pad[0].begin, pad[1].begin, pad[2].begin}; }
  std::array<std::int64_t, 3> PadEnd() const { return {pad[0].end, pad[1].end, pad[2].end}; }
  // Places from the window's first element to its last, both counted.
  std::int64_t Extent(std::size_t k) const { return dilation[k] * (window[k] - 1) + 1; }
  bool Dilated() const { return dilation != std::array<std::int64_t, 3>{1, 1, 1}; }
  std::int64_t MostPad(std::size_t k) const { return pad[k].begin > pad[k].end ? pad[k].begin : pad[k].end; }
  bool operator==(const OpShape&) const = default;
};

// One operand of an add or of a concatenation.
struct OpSlice {
  std::size_t operand = 0;  // index into Op::reads; of a concatenation's backward pass into Op::writes
  Box box{};                // what of the result it is; of a sum all of it
  bool operator==(const OpSlice&) const = default;
};

// Passes over the gradients of all parameters, and those of an optimizer by lists (model/unroll/step_updates.cc).
enum class ListPass : std::uint8_t { kUnscale, kNorm, kClip, kBefore, kLast };

// Details that a device needs in addition to the shape. Costs do not depend on them.
struct OpDetails {
  // add, concat: every operand in order; one that is used twice is there twice. Slice: what of the whole its result is.
  std::vector<OpSlice> slices{};
  // Concat: the concatenation; a backward op may write some inputs' gradients only. Slice: what it is a box of.
  Shape whole{};
  double dropout_rate = 0.5;
  // Loss only: the number of samples of which it is the mean, if larger than the op's own; 0: the op's own.
  std::int64_t mean_over = 0;
  double loss_weight = 1;      // loss only: its share of the step's loss
  LossRule loss{};             // loss only: how it is computed
  bool linear = false;         // resize: means of neighbours; false: the nearest place
  bool input_gradient = true;  // norms' backward: false where only the gradients of scale and shift are wanted
  ActivationFunction function = ActivationFunction::kSigmoid;  // activation: which
  double slope = 0.01;                                         // leaky ReLU: below zero
  bool from_result = false;                                    // activation backward: reads the result, not the input
  bool affine = true;             // group and layer norm: has scale and shift (with `root_mean_square` scale alone)
  bool root_mean_square = false;  // layer norm: without mean and shift
  bool saved_indices = false;     // max pooling: forward writes the places of the maxima, backward reads them
  bool per_sample = false;        // dropout: of whole samples, a number of the mask each
  DataType mask_type = DataType::kBool;  // dropout: of the mask
  HeadSplit heads{};                     // attention, its products and its softmax
  bool along_width = false;              // softmax: along the last axis; false: over channels
  bool causal = false;                   // softmax: of the scores up to the position's own
  bool scaled = false;                   // softmax: of scores divided by the root of a head's size
  std::int64_t row = 0;                  // embedding: which row of the tokens
  Rearrangement rearrangement{};         // rearrange: what comes from where
  WindowGrid windows{};                  // score bias
  double weight_decay = 0;               // update: share of the learning rate by which weights shrink
  ListPass list_pass = ListPass::kNorm;  // foreach: which
  std::vector<std::int64_t> list{};      // foreach: elements of each parameter
  bool operator==(const OpDetails&) const = default;
};

struct Op {
  std::string name;  // "res2a_branch1:backward_filter"; unique
  OpKind kind = OpKind::kCopy;
  Pass pass = Pass::kForward;
  LayerId layer = 0;
  OpShape shape;
  DataType type = DataType::kFp32;
  Layout layout = Layout::kNchw;
  MathMode math = MathMode::kFp32;
  // A tensor in both lists is updated in place (accumulated gradient, in-place bias, parameter update).
  std::vector<TensorId> reads;
  std::vector<TensorId> writes;
  bool accumulate = false;   // adds its result to what writes[0] holds
  bool side_effect = false;  // updates running statistics or draws random numbers: a recomputation must not repeat it
  bool once = false;         // must not run again at all (recorded steps)
  // Its recomputation takes a time of its own and is another launch: batch norm without statistics (recorded steps).
  bool recompute_differs = false;
  OpDetails details{};
  std::int64_t first_sample = 0;  // of the batch: whose labels and random numbers the op begins with
  Work work;
};

struct TrainingStep {
  std::string network;
  std::int64_t batch = 0;  // samples, those of all parts
  std::int64_t parts = 1;  // of the batch, one after another (Accumulated)
  bool inference = false;
  std::vector<Tensor> tensors;
  std::vector<Op> ops;
  // Ops before it are forward (loss included); == ops.size() for inference. In a step of several parts it is the first
  // part's: whether an op is forward or backward is for the two functions below to say.
  OpId first_backward = 0;
  OpId first_update = 0;  // ops from here on are updates, when those come at the end
  // The tensors that strategies classify: the input and every feature map, by first writer; with micro-batches one
  // after another, each input first.
  std::vector<TensorId> maps;
  std::vector<std::string> layer_names;  // by LayerId
  // By tensor: the last op before which it may be computed again, kNoOp where never. Empty: all may be, at any time. Only
  // recorded steps have any (model/recorded/recorded_step.h).
  std::vector<OpId> again_until;
  // By op: the repeated module that the op is in, counted from 0; -1: it is in none. Empty: not known, as of networks.
  std::vector<std::int32_t> blocks;

  bool recorded() const { return !ops.empty() && ops.front().kind == OpKind::kRecorded; }
  bool MayRecompute(TensorId tensor, OpId before) const {
    return again_until.empty() || again_until[static_cast<std::size_t>(tensor)] >= before;
  }
  // It reads parameters alone: a cast of a weight, which autocast puts in front of a layer's own op.
  bool OnParameters(const Op& op) const;
  bool IsForward(OpId op) const { return ops[static_cast<std::size_t>(op)].pass == Pass::kForward; }
  // Updates that do not wait for the end are part of it.
  bool IsBackward(OpId op) const { return !IsForward(op) && op < first_update; }
  Bytes MapBytes() const;                // sum over `maps`
  Bytes BytesOf(TensorClass use) const;  // sum over all tensors of that class
};

// Text form for people and golden files: one line per op with its tensors, bytes and work.
std::string DumpStep(const TrainingStep& step);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_STEP_TRAINING_STEP_H_

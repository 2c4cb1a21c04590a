// Features of tokens: a row of a table for each token's number. The gradient of the table is dense, as is PyTorch's default.
// The op's input shape counts the vocabulary as channels: an embedding is a linear layer over tokens one-hot.
#include "model/network/layer_kind.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

Shape Infer(const LayerAttributes& a, const std::vector<Shape>& inputs, std::string& problem) {
  Shape shape = inputs[0];
  if (a.row >= shape.c) {
    problem = "row " + std::to_string(a.row) + " of " + std::to_string(shape.c) + " rows of tokens (rows count from 0)";
  }
  shape.c = a.out_channels;
  return shape;
}

std::vector<ParameterShape> Parameters(const LayerAttributes& a, const Shape&) {
  return {{"weight", {.n = a.vocabulary, .c = a.out_channels}}};
}

Op EmbeddingOp(const StepWriter& b, Pass pass, std::vector<TensorId> reads, std::vector<TensorId> writes) {
  const LayerAttributes& a = b.attributes();
  Op op = b.NewOp(OpKind::kEmbedding, pass, std::move(reads), std::move(writes));
  op.shape.in.c = a.vocabulary;
  op.details.whole = b.InputShape();
  op.details.row = a.row;
  return op;
}

void Forward(StepWriter& b) {
  const TensorId result = b.NewResult();
  b.Emit(EmbeddingOp(b, Pass::kForward, {b.Input(), b.Parameter(0)}, {result}));
}

void Backward(StepWriter& b) {
  b.EmitParameterGradient(0, EmbeddingOp(b, Pass::kBackwardBias, {b.Input(), b.OutputGradient()}, {}));
}

}  // namespace

const LayerKind kEmbeddingLayer{
    .name = "embedding",
    .description = "features of tokens, from a table with a row for each number of the vocabulary",
    .keys = kOutKey | kVocabularyKey | kRowKey | kFrozenKey,
    .required = kOutKey | kVocabularyKey,
    .shares_weight = true,
    .reads_tokens = true,
    .infer = Infer,
    .parameters = Parameters,
    .forward = Forward,
    .backward = Backward,
};

}  // namespace spillway

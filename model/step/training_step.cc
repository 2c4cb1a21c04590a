#include "model/step/training_step.h"

#include <algorithm>
#include <cstdio>

namespace spillway {
namespace {

std::string Exact(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.0f", value);
  return text;
}

std::string Names(const TrainingStep& step, const std::vector<TensorId>& ids) {
  std::string text;
  for (const TensorId id : ids) text += " " + step.tensors[static_cast<std::size_t>(id)].name;
  return text;
}

void DumpOp(const TrainingStep& step, std::size_t index, std::string& text) {
  const Op& op = step.ops[index];
  text += std::to_string(index) + " " + op.name + " [" + OpKindName(op.kind) + " " + PassName(op.pass);
  if (op.accumulate) text += " accumulate";
  if (op.side_effect) text += " side_effect";
  text += "] reads" + Names(step, op.reads) + " writes" + Names(step, op.writes);
  text += " flops " + Exact(op.work.flops) + " bytes " + Exact(op.work.bytes) + "\n";
}

}  // namespace

Bytes TrainingStep::MapBytes() const {
  Bytes sum = 0;
  for (const TensorId id : maps) sum += tensors[static_cast<std::size_t>(id)].bytes;
  return sum;
}

Bytes TrainingStep::BytesOf(TensorClass use) const {
  Bytes sum = 0;
  for (const Tensor& tensor : tensors) sum += tensor.use == use ? tensor.bytes : 0;
  return sum;
}

std::string DumpStep(const TrainingStep& step) {
  std::string text =
      "step " + step.network + " batch " + std::to_string(step.batch) + (step.inference ? " inference" : "") + "\n";
  text += "tensors " + std::to_string(step.tensors.size()) + "\n";
  for (std::size_t i = 0; i < step.tensors.size(); ++i) {
    const Tensor& t = step.tensors[i];
    text += std::to_string(i) + " " + t.name + " " + TensorClassName(t.use) + " " + ShapeText(t.shape) + " " +
            DataTypeName(t.type) + " " + LayoutName(t.layout) + " " + std::to_string(t.bytes) + "\n";
  }
  text += "ops " + std::to_string(step.ops.size()) + " first_backward " + std::to_string(step.first_backward) +
          " first_update " + std::to_string(step.first_update) + "\n";
  for (std::size_t i = 0; i < step.ops.size(); ++i) DumpOp(step, i, text);
  return text + "maps " + std::to_string(step.maps.size()) + " bytes " + std::to_string(step.MapBytes()) + ":" +
         Names(step, step.maps) + "\n";
}

bool TrainingStep::OnParameters(const Op& op) const {
  return std::all_of(op.reads.begin(), op.reads.end(),
                     [this](TensorId t) { return tensors[static_cast<std::size_t>(t)].Traits().of_parameters; });
}

}  // namespace spillway

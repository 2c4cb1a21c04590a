// Arithmetic of a recorded call, by its name and shapes, and widths of types. PyTorch's names of operators
// (native_functions.yaml) and types; the counts are those of model/layers: a multiply-add is 2 flops.
#include <algorithm>
#include <array>
#include <string_view>

#include "model/recorded/call_rows.h"
#include "model/recorded/recorded_graph.h"

namespace spillway {

namespace {

constexpr double kFlopsAMultiplyAdd = 2;
using Operands = std::vector<RecordedOperand>;

// Of (..., m, k) by (..., k, n), the last two of the inputs that have two axes and more.
double ProductFlops(const Operands& inputs) {
  std::array<const RecordedOperand*, 2> factors{};
  for (const RecordedOperand& input : inputs) {
    if (input.shape.size() < 2) continue;
    factors[0] = factors[1];
    factors[1] = &input;
  }
  if (factors[0] == nullptr) return 0;
  return kFlopsAMultiplyAdd * factors[0]->Elements() * static_cast<double>(factors[1]->shape.back());
}

// Each weight of a filter meets each place of the result; transposed, each place of the input.
double ConvolutionFlops(const RecordedOperand& input, const RecordedOperand& weight, const RecordedOperand& result) {
  if (weight.shape.size() < 3 || input.shape.size() != weight.shape.size() || weight.shape[0] == 0) return 0;
  if (result.shape.size() != weight.shape.size()) return 0;
  const bool forward =
      result.shape[1] == weight.shape[0] && result.shape.back() <= input.shape.back() + weight.shape.back();
  const double places = forward ? result.Elements() : input.Elements();
  return kFlopsAMultiplyAdd * places * weight.Elements() / static_cast<double>(weight.shape[0]);
}

// Of (batch, heads, queries, width) and keys: scores and their mix.
double AttentionFlops(const Operands& inputs) {
  if (inputs.size() < 2 || inputs[0].shape.size() != 4 || inputs[1].shape.size() != 4) return 0;
  return 2 * kFlopsAMultiplyAdd * inputs[0].Elements() * static_cast<double>(inputs[1].shape[2]);
}

}  // namespace

Bytes ElementBytes(const std::string& type) {
  struct Width {
    std::string_view part;  // of the name: the number of its bits, but for bool
    Bytes bytes;
  };
  constexpr std::array<Width, 6> kWidths = {{{"128", 16}, {"64", 8}, {"32", 4}, {"16", 2}, {"bool", 1}, {"8", 1}}};
  for (const Width& width : kWidths) {
    if (type.find(width.part) != type.npos) return width.bytes;
  }
  return 0;
}

double FlopsOf(const std::string& op, const std::vector<RecordedOperand>& inputs,
               const std::vector<RecordedOperand>& outputs) {
  const std::string_view name = CallNameOf(op).name;
  constexpr std::array<std::string_view, 7> kProducts = {
      "mm", "bmm", "addmm", "baddbmm", "matmul", "linear", "_addmm_activation"};
  if (std::find(kProducts.begin(), kProducts.end(), name) != kProducts.end()) return ProductFlops(inputs);
  const bool backward = name.ends_with("_backward");
  if (name.find("scaled_dot_product") != name.npos) {
    // Backward computes the scores again and multiplies four times more.
    const Operands of(inputs.begin() + (backward && !inputs.empty() ? 1 : 0), inputs.end());
    return (backward ? 2.5 : 1) * AttentionFlops(of);
  }
  if (name.find("convolution") == name.npos) return 0;
  if (backward) return inputs.size() < 3 ? 0 : 2 * ConvolutionFlops(inputs[1], inputs[2], inputs[0]);
  return inputs.size() < 2 || outputs.empty() ? 0 : ConvolutionFlops(inputs[0], inputs[1], outputs[0]);
}

}  // namespace spillway

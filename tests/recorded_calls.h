// Calls as PyTorch records them, of a layer of a network, with the launches that our own step has for it.
#ifndef SPILLWAY_TESTS_RECORDED_CALLS_H_
#define SPILLWAY_TESTS_RECORDED_CALLS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/network/network.h"
#include "model/recorded/call_launches.h"

namespace spillway {

using OperandSizes = std::vector<std::int64_t>;

inline OperandSizes Contiguous(const OperandSizes& shape) {
  OperandSizes strides(shape.size(), 1);
  for (std::size_t k = shape.size(); k-- > 1;) strides[k - 1] = strides[k] * shape[k];
  return strides;
}
inline RecordedOperand Operand(const OperandSizes& shape, const std::string& type = "float32") {
  return {.shape = shape, .strides = Contiguous(shape), .type = type};
}
inline RecordedOperand Transposed(const OperandSizes& shape) {  // a matrix
  return {.shape = {shape[1], shape[0]}, .strides = {1, shape[1]}, .type = "float32"};
}

inline RecordedOperand MapOperand(const Shape& s, bool volume) {
  return Operand(volume ? OperandSizes{s.n, s.c, s.d, s.h, s.w} : OperandSizes{s.n, s.c, s.h, s.w});
}
inline RecordedOperand ImageOperand(const Shape& s) { return MapOperand(s, false); }

inline std::vector<std::string> Texts(const std::vector<std::int64_t>& numbers) {
  std::vector<std::string> texts;
  for (const std::int64_t number : numbers) texts.push_back(std::to_string(number));
  return texts;
}

inline void Append(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// The last two or all three of an attribute.
inline std::vector<std::string> Axes(const std::array<std::int64_t, 3>& of, bool volume) {
  return Texts(volume ? OperandSizes{of[0], of[1], of[2]} : OperandSizes{of[1], of[2]});
}

// stride, padding, dilation, transposed, output_padding, groups
inline std::vector<std::string> ConvolutionScalars(const LayerAttributes& a, bool volume) {
  std::vector<std::string> scalars = Axes(a.stride, volume);
  Append(scalars, Axes(a.pad, volume));
  Append(scalars, Axes({1, 1, 1}, volume));
  scalars.emplace_back("false");
  Append(scalars, Axes({0, 0, 0}, volume));
  scalars.push_back(std::to_string(a.groups));
  return scalars;
}

inline RecordedOperand WeightOperand(const LayerAttributes& a, const Shape& in, bool volume) {
  const std::int64_t channels = in.c / a.groups;
  return Operand(volume ? OperandSizes{a.out_channels, channels, a.window[0], a.window[1], a.window[2]}
                        : OperandSizes{a.out_channels, channels, a.window[1], a.window[2]});
}

inline RecordedArguments ConvolutionForward(const LayerAttributes& a, const Shape& in, const Shape& out, bool volume) {
  RecordedArguments call{.op = "aten.convolution.default"};
  call.inputs = {MapOperand(in, volume), WeightOperand(a, in, volume)};
  if (a.bias) call.inputs.push_back(Operand({a.out_channels}));
  if (!a.bias) call.scalars.emplace_back("null");
  Append(call.scalars, ConvolutionScalars(a, volume));
  call.outputs = {MapOperand(out, volume)};
  return call;
}

inline RecordedArguments ConvolutionBackward(const LayerAttributes& a, const Shape& in, const Shape& out, bool volume,
                                             bool data) {
  RecordedArguments call{.op = "aten.convolution_backward.default", .pass = Pass::kBackward};
  call.inputs = {MapOperand(out, volume), MapOperand(in, volume), WeightOperand(a, in, volume)};
  call.scalars = {std::to_string(a.bias ? a.out_channels : 0)};
  Append(call.scalars, ConvolutionScalars(a, volume));
  for (const bool made : {data, true, a.bias}) call.scalars.emplace_back(made ? "true" : "false");
  return call;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_RECORDED_CALLS_H_

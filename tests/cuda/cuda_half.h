// Convolutions on halves in either layout on a CUDA device, real or not, and what they come to.
#ifndef SPILLWAY_TESTS_CUDA_CUDA_HALF_H_
#define SPILLWAY_TESTS_CUDA_CUDA_HALF_H_

#include <algorithm>
#include <array>
#include <vector>

#include "tests/cuda/cuda_fused.h"
#include "tests/cuda/half_values.h"

namespace spillway {

inline constexpr std::array kConvolutionPasses = {Pass::kForward, Pass::kBackwardData, Pass::kBackwardFilter};

inline OpCall HalfCall(Pass pass, const OpShape& shape, Layout layout, bool accumulate = false) {
  OpCall call = Call(OpKind::kConvolution, pass, shape, accumulate);
  call.launch.type = DataType::kFp16;
  call.launch.math = MathMode::kFp16;
  call.launch.layout = layout;
  return call;
}

// What the pass reads, reads and writes; a weight's window as its space.
inline std::array<Shape, 3> ConvolutionOperands(const OpShape& s, Pass pass) {
  const Shape weight{.n = s.out.c, .c = s.in.c / s.groups, .d = s.window[0], .h = s.window[1], .w = s.window[2]};
  if (pass == Pass::kForward) return {s.in, weight, s.out};
  if (pass == Pass::kBackwardData) return {weight, s.out, s.in};
  return {s.in, s.out, weight};
}

// Where element i of {n, c, ...} is when channels are innermost.
inline std::size_t ChannelsLastAt(const Shape& shape, std::size_t i) {
  const auto positions = static_cast<std::size_t>(shape.Spatial()), channels = static_cast<std::size_t>(shape.c);
  const std::size_t n = i / (positions * channels), c = i / positions % channels;
  return (n * positions + i % positions) * channels + c;
}

inline Halves Placed(const Values& values, const Shape& shape, Layout layout) {
  Halves halves(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    halves[layout == Layout::kNhwc ? ChannelsLastAt(shape, i) : i] = HalfOf(values[i]);
  }
  return halves;
}

inline Values Unplaced(const Halves& halves, const Shape& shape, Layout layout) {
  Values values(halves.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = OfHalf(halves[layout == Layout::kNhwc ? ChannelsLastAt(shape, i) : i]);
  }
  return values;
}

// Random numbers that a half holds exactly.
inline Values RandomHalves(const Shape& shape, unsigned seed) { return OfHalves(ToHalves(RandomValues(shape, seed))); }

// Runs the call on halves; the result holds `before` at first, NaN where that is empty. Throws DeviceError.
inline Values HalfResult(CudaCalls& calls, const OpCall& call, const Values& a, const Values& b, const Values& before,
                         CudaStream* stream) {
  const auto [first, second, result] = ConvolutionOperands(call.launch.shape, call.launch.pass);
  const Layout layout = call.launch.layout;
  const std::unique_ptr<CudaKernel> kernel = calls.Prepare(call);
  DeviceBuffer one(calls, 2 * first.Elements()), two(calls, 2 * second.Elements()), to(calls, 2 * result.Elements());
  const DeviceBuffer workspace(calls, std::max<Bytes>(kernel->workspace(), 1));
  one.Put(Placed(a, first, layout).data(), stream);
  two.Put(Placed(b, second, layout).data(), stream);
  calls.Fill(to.data(), 0xff, to.bytes(), stream);
  if (!before.empty()) to.Put(Placed(before, result, layout).data(), stream);
  void* const reads[] = {one.data(), two.data()};
  void* const write = to.data();
  kernel->Run(stream, {.reads = reads, .writes = {&write, 1}, .workspace = workspace.data()});
  return Unplaced(to.Get<std::uint16_t>(stream), result, layout);
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_CUDA_CUDA_HALF_H_

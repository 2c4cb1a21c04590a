// Max and average pooling.
//
//   time = latency + sqrt(memory^2 + visits^2)
//   visits = elements x windows^growth / (visit_fraction x peak) + planes x plane_cost / multiprocessors
//
// Overlapping windows come from the cache, so what they cost is instructions: a thread per output visits every element
// of its window (forward: elements of the output, `windows` = size of the window), a thread per input element looks
// through the windows that cover it (backward: elements of the input, `windows` = window size / stride). No more elements
// are visited than the image has, and no more windows than there are. Published backward kernels cost the fourth root of
// the covering windows, since finding them dominates; forward ones cost from the square root of the window's size
// (PyTorch) to all of it (Caffe). Kernels that give each plane blocks of its own leave them half empty where planes are
// small (7x7).
#include <algorithm>
#include <array>

#include "model/kernels/kernel_form.h"
#include "model/kernels/streaming.h"
#include "model/step/launch.h"

namespace spillway {
namespace {

constexpr ParameterTable kParameters{
    kStreamRows,
    Row{"visit_fraction", "visits per flop of the chip's fp32 peak", 0.005, 0.0001, 1.0, 1.0},
    Row{"plane_cost", "nanoseconds of one multiprocessor per plane of a sample and channel", 30, 0.1, 1000, 1.0},
    Row{"growth", "power of the number of elements or windows that one thread visits", 0.6, 0.02, 1.2, 0.6},
};
using Values = ParameterValues<kParameters>;

std::span<const char* const> Algorithms(OpKind kind, Pass pass) {
  return Nameless((kind == OpKind::kMaxPool || kind == OpKind::kAveragePool) && HasPass(kind, pass));
}

double VisitsPerElement(const OpShape& shape, bool forward, double growth) {
  const std::array<std::int64_t, 3> in{shape.in.d, shape.in.h, shape.in.w}, out{shape.out.d, shape.out.h, shape.out.w};
  double windows = 1;
  for (std::size_t i = 0; i < shape.window.size(); ++i) {
    const double window = static_cast<double>(shape.window[i]);
    const double covering = std::max(1.0, window / static_cast<double>(shape.stride[i]));
    windows *= forward ? std::min(window, static_cast<double>(in[i])) : std::min(covering, static_cast<double>(out[i]));
  }
  return std::pow(windows, growth);
}

double Time(const Launch& launch, const Chip& chip, Values p) {
  const bool forward = launch.pass == Pass::kForward;
  const double bytes = CountWork(launch).bytes;
  const double elements = static_cast<double>((forward ? launch.shape.out : launch.shape.in).Elements());
  const double visits =
      elements * VisitsPerElement(launch.shape, forward, p["growth"]) / (p["visit_fraction"] * chip.peak_flops);
  const double planes =
      static_cast<double>(launch.shape.in.n * launch.shape.in.c) * p["plane_cost"] / chip.multiprocessors;
  return p["latency"] + Overlapped(StreamTime(bytes, chip, p), visits + planes);
}

}  // namespace

KernelForm PoolingForm() {
  return FormOf<Time>({.name = "pooling",
                       .description = "memory traffic beside the visits to overlapping windows",
                       .algorithms = Algorithms});
}

}  // namespace spillway

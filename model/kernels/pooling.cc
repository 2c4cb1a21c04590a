// Max and average pooling.
//
//   time = latency + sqrt(memory^2 + visits^2)
//   visits = elements x windows^growth / (visit_fraction x peak) + planes x plane_cost / multiprocessors
//
// Overlapping windows come from the cache, so what they cost is instructions: a thread per output visits every element
// of its window (forward: elements of the output, `windows` = size of the window), a thread per input element looks
// through the windows that cover it (backward: elements of the input, `windows` = window size / stride). Published
// backward kernels cost the fourth root of the covering windows, since finding them dominates; forward ones cost from
// the square root of the window's size (PyTorch) to all of it (Caffe). Kernels that give each plane blocks of its own
// leave them half empty where planes are small (7x7).
#include "model/cost/kernel_form.h"
#include "model/kernels/streaming.h"
#include "model/step/launch.h"

namespace spillway {
namespace {

constexpr FormParameter kParameters[] = {
    kLatencyParameter,
    kBandwidthParameter,
    kCacheParameter,
    {"visit_fraction", "visits per flop of the chip's fp32 peak", 0.005, 0.0001, 1.0, true, 1.0},
    {"plane_cost", "nanoseconds of one multiprocessor per plane of a sample and channel", 30, 0.1, 1000, true, 1.0},
    {"growth", "power of the number of elements or windows that one thread visits", 0.6, 0.02, 1.2, true, 0.6},
};
enum : std::size_t { kLatency, kBandwidth, kCache, kVisit, kPlane, kGrowth };

std::span<const char* const> Algorithms(OpKind kind, Pass pass) {
  return Nameless((kind == OpKind::kMaxPool || kind == OpKind::kAveragePool) && ForwardOrBackward(pass));
}

bool Applies(const Launch& launch) { return !Algorithms(launch.kind, launch.pass).empty(); }

double VisitsPerElement(const OpShape& shape, bool forward, double growth) {
  double windows = 1;
  for (std::size_t i = 0; i < shape.window.size(); ++i) {
    const double window = static_cast<double>(shape.window[i]);
    windows *= forward ? window : std::max(1.0, window / static_cast<double>(shape.stride[i]));
  }
  return std::pow(windows, growth);
}

double Time(const Launch& launch, const Chip& chip, std::span<const double> p) {
  const bool forward = launch.pass == Pass::kForward;
  const double bytes = CountWork(launch).bytes;
  const double elements = static_cast<double>((forward ? launch.shape.out : launch.shape.in).Elements());
  const double visits = elements * VisitsPerElement(launch.shape, forward, p[kGrowth]) / (p[kVisit] * chip.peak_flops);
  const double planes = static_cast<double>(launch.shape.in.n * launch.shape.in.c) * p[kPlane] / chip.multiprocessors;
  return p[kLatency] + Overlapped(StreamTime(bytes, bytes, chip, p[kBandwidth], p[kCache]), visits + planes);
}

}  // namespace

KernelForm PoolingForm() {
  return {.name = "pooling",
          .description = "memory traffic beside the visits to overlapping windows",
          .parameters = kParameters,
          .algorithms = Algorithms,
          .applies = Applies,
          .time = Time,
          .workspace = NoWorkspace};
}

}  // namespace spillway

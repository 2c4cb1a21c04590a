// Batch normalisation: a reduction over every channel, then a pass that writes.
//
//   forward   statistics read x;          normalise reads x, writes y
//   backward  both sums read x and dy;    the gradient reads x and dy, writes dx
//
// The reductions give each channel one thread block, which reads at `block_rate` whatever the chip's bandwidth: 64
// channels leave most of an 80-multiprocessor chip idle (published V100 kernels: 240 GB/s at 64 channels, 600 at 256;
// xwang233/code-snippet, syncbn-channels-last).
// The writing pass handles planes of one sample and channel; small planes (7x7) cost their handling, not their bytes.
// Backward in three dimensions the writing pass is the channels' blocks', too (bn_bw_1C11_kernel of the library: one
// block per channel): its time is the same for 2 channels and for 16, and the same on a V100 and an A100 (batchnorm3d
// of xwang233/code-snippet, cuDNN 8.2), as if neither the chip's other multiprocessors nor its memory mattered.
// Where the statistics are given there is only a writing pass, by another kernel with a plane cost of its own.
#include "model/kernels/kernel_form.h"
#include "model/kernels/streaming.h"
#include "model/step/launch.h"

namespace spillway {
namespace {

constexpr double kResidentBlocks = 4;  // of 512 threads, on one multiprocessor of 2048

constexpr ParameterTable kParameters{
    kStreamRows,
    Row{"reduction_fraction", "fraction of the memory bandwidth that the reduction reaches with many channels", 0.75,
        0.2, 1.0, 0.2},
    Row{"block_rate", "bytes per nanosecond that the one block of a channel reads", 5, 0.5, 50, 0.5},
    Row{"block_latency", "nanoseconds of starting and ending a channel's block, per channel and multiprocessor", 700,
        20, 20000, 0.7},
    Row{"plane_cost", "nanoseconds of one multiprocessor per plane of the writing pass", 40, 1, 1000, 0.7},
    Row{"given_plane_cost", "the same with given statistics", 60, 1, 1000, 0.7},
};
using Values = ParameterValues<kParameters>;

std::span<const char* const> Algorithms(OpKind kind, Pass pass) {
  return Nameless(kind == OpKind::kBatchNorm && HasPass(kind, pass));
}

// Rounds of as many blocks as the chip holds, then one of what is left.
double ReductionTime(double bytes, double channels, const Chip& chip, Values p) {
  const double speedup = 1.0 + p["cache_gain"] * CachedShare(bytes, chip);
  const double block = bytes / channels / (p["block_rate"] * speedup);
  const double together = bytes / channels / (p["reduction_fraction"] * chip.memory_bandwidth * speedup);  // per block
  const double slots = kResidentBlocks * chip.multiprocessors;
  const double full = std::floor(channels / slots);
  const double rest = channels - full * slots;
  const double rounds =
      full * Overlapped(slots * together, block) + (rest > 0 ? Overlapped(rest * together, block) : 0);
  return rounds + std::ceil(channels / chip.multiprocessors) * p["block_latency"];
}

double Time(const Launch& launch, const Chip& chip, Values p) {
  const Shape& in = launch.shape.in;
  const bool given = launch.pass == Pass::kForward && launch.shape.operands == 0;
  const double tensor = static_cast<double>(in.Elements() * SizeOf(launch.type));
  const double reduced = given ? 0 : launch.pass == Pass::kForward ? tensor : 2 * tensor;
  const double written = CountWork(launch).bytes - reduced;
  if (launch.pass == Pass::kBackward && in.d > 1) {
    return p["latency"] + ReductionTime(reduced + written, static_cast<double>(in.c), chip, p);
  }
  const double planes =
      static_cast<double>(in.n * in.c) * (given ? p["given_plane_cost"] : p["plane_cost"]) / chip.multiprocessors;
  double time = p["latency"] + Overlapped(StreamTime(written, chip, p), planes);
  if (!given) time += ReductionTime(reduced, static_cast<double>(in.c), chip, p);
  return time;
}

}  // namespace

KernelForm BatchNormForm() {
  return FormOf<Time>({.name = "batch_norm",
                       .description = "a reduction with one block per channel, then a pass over the planes",
                       .algorithms = Algorithms});
}

}  // namespace spillway

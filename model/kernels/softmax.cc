// Softmax over the channels of every sample and position (rows of `c` elements), with its cross-entropy loss.
//
//   time = latency + bytes x passes / (bandwidth_fraction x bandwidth)
//
// Rows of up to 1024 elements stay in the registers of a warp: read once, written once. Longer rows are swept again for
// the maximum, the sum and the result: `reread` more passes. Where such a row starts at no multiple of four elements
// and is a little longer than a power of two, the vectorised sweep leaves a rest that takes a sweep of its own: `rest`.
// (Both as in the kernels of PyTorch, aten/src/ATen/native/cuda/PersistentSoftmax.cuh and SoftMax.cu.)
#include "model/kernels/kernel_form.h"
#include "model/kernels/streaming.h"
#include "model/step/launch.h"

namespace spillway {
namespace {

constexpr std::int64_t kWarpRow = 1024;  // longest row that a warp holds in registers
constexpr std::int64_t kVector = 4;      // elements of a vectorised load

constexpr ParameterTable kParameters{
    StreamRows(0.75, 0.15),
    Row{"reread", "further time of rows of more than 1024 elements: 0.3 = 1.3 times", 0.3, 0.01, 3.0, 0.7},
    Row{"rest", "the same of unaligned rows just beyond a power of two, on top", 0.2, 0.01, 2.0, 0.7},
};
using Values = ParameterValues<kParameters>;

std::span<const char* const> Algorithms(OpKind kind, Pass pass) {
  return Nameless(kind == OpKind::kSoftmaxLoss && HasPass(kind, pass));
}

// Longer than a power of two (1024, 2048, ...) by at most a quarter, and not aligned.
bool LeavesRest(std::int64_t columns) {
  if (columns % kVector == 0) return false;
  std::int64_t power = kWarpRow;
  while (2 * power < columns) power *= 2;
  return columns <= power + power / 4;
}

double Time(const Launch& launch, const Chip& chip, Values p) {
  const double bytes = CountWork(launch).bytes;
  const std::int64_t columns = launch.shape.in.c;
  double passes = 1;
  if (columns > kWarpRow) passes += p["reread"] + (LeavesRest(columns) ? p["rest"] : 0);
  return p["latency"] + passes * StreamTime(bytes, chip, p);
}

}  // namespace

KernelForm SoftmaxForm() {
  return FormOf<Time>({.name = "softmax",
                       .description = "rows held in registers up to 1024 elements, swept again beyond",
                       .algorithms = Algorithms});
}

}  // namespace spillway

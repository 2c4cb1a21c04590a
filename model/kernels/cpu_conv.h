// The shared part of the laws of convolutions on a processor: operands reordered into blocked layouts.
#ifndef SPILLWAY_MODEL_KERNELS_CPU_CONV_H_
#define SPILLWAY_MODEL_KERNELS_CPU_CONV_H_

#include "model/kernels/conv_launch.h"
#include "model/kernels/cpu_cost.h"

namespace spillway {

// An operand in the layout that the generated code wants.
struct CpuOperand {
  double plain = 0, blocked = 0;  // bytes as it lies in memory, and as the code wants it
  bool slow = false;              // not in whole blocks of 16 x 16, which reorders move as such
  double Moved() const { return plain == 0 || blocked == 0 ? 0 : plain + blocked; }
};

// Blocked layouts keep 16 channels together. Direct convolution forward keeps all of them together; images of up to
// three channels stay as they are for the filter's gradient.
struct CpuOperands {
  CpuOperand in, out;
  double filter = 0;  // bytes as the code wants it
};
CpuOperands CpuOperandsOf(const Launch& launch, bool all_together);

inline constexpr ParameterTable kCpuReorderRows{
    Row{"reorder_bandwidth", "fraction of the memory bandwidth of reorders, what they read and write", 0.27, 0.01, 4,
        0.35},
    Row{"slow_reorder", "how many times longer reorders without whole blocks take, less one", 0.5, 0.02, 10, 0.9},
    kCpuCacheRows,
};

// Nanoseconds of the reorders of both, and of adding to the result at the same rate where the pass does so.
double CpuReorderTime(const CpuOperands& operands, const Launch& launch, const Chip& chip,
                      ParameterValues<kCpuReorderRows> p);

// What the forms' workspaces hold, of one compute thread: reordered operands one after another, then scratch, as
// oneDNN 2.6 with AVX-512 asks for it. Where that depends on what no launch tells (sizes of caches, blocks chosen), the
// most of it: a kernel that is granted less than it wants refuses to run.
//
// Bytes rounded up to whole cache lines, as each part is.
inline Bytes CacheLines(double bytes) { return (static_cast<Bytes>(bytes) + 63) / 64 * 64; }
// The bytes of a second result, which kernels that cannot add need as a target; 0 if the launch does not add.
inline Bytes ResultBeside(const Launch& launch) { return CacheLines(ConvLaunchOf(launch).accumulated_bytes); }

}  // namespace spillway

#endif  // SPILLWAY_MODEL_KERNELS_CPU_CONV_H_

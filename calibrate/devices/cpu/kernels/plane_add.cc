// A number per plane, added to all of the plane; its gradient is the plane's sum.
#include "calibrate/devices/cpu/kernels/makers.h"
#include "calibrate/devices/cpu/kernels/planes.h"

namespace spillway::cpu {

// Forward reads {planes, numbers}; backward {gradient}.
KernelPtr MakePlaneAdd(const OpCall& call) {
  const Shape shape = call.launch.shape.in;
  if (call.launch.pass == Pass::kForward) {
    return std::make_unique<LoopKernel>([shape](const CpuArguments& a) {
      ForEachPlane(shape, [&](std::int64_t plane, std::int64_t, std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) Write(a, 0)[i] = Read(a, 0)[i] + Read(a, 1)[plane];
      });
    });
  }
  return std::make_unique<LoopKernel>([shape, accumulate = call.launch.accumulate](const CpuArguments& a) {
    ForEachPlane(shape, [&](std::int64_t plane, std::int64_t, std::int64_t begin, std::int64_t end) {
      double sum = accumulate ? Write(a, 0)[plane] : 0.0;
      for (std::int64_t i = begin; i < end; ++i) sum += Read(a, 0)[i];
      Write(a, 0)[plane] = static_cast<float>(sum);
    });
  });
}

}  // namespace spillway::cpu

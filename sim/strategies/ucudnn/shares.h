// A batch shared out among unlike devices, each of which trains its samples by itself: micro-cuDNN's heterogeneous setting.
//
// Device g takes t_g(b) for b samples, which is known for some b; the batch is done when the last one is. Exact, by a dynamic
// program over devices: with F_g[n] the least time in which the first g devices do n samples
//
//   F_g[n] = min over b of max(F_(g-1)[n - b], t_g(b)),   t_g(0) = 0
//
// Pure arithmetic; what devices tell each other afterwards is the caller's.
#ifndef SPILLWAY_SIM_STRATEGIES_UCUDNN_SHARES_H_
#define SPILLWAY_SIM_STRATEGIES_UCUDNN_SHARES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "hw/text/units.h"

namespace spillway::ucudnn {

struct ShareTime {
  std::int64_t samples = 0;
  Nanos time = 0;
};

struct Shares {
  std::vector<std::int64_t> samples;  // by device, 0 for one that is left out
  Nanos time = 0;                     // of the slowest
};

// By device the shares that it may have. Of equally fast ones later devices take as little as can be. nullopt: no choice of
// shares is the whole batch. REQUIRES: batch > 0; samples > 0 and times > 0.
std::optional<Shares> ShareOut(const std::vector<std::vector<ShareTime>>& devices, std::int64_t batch);

}  // namespace spillway::ucudnn

#endif  // SPILLWAY_SIM_STRATEGIES_UCUDNN_SHARES_H_

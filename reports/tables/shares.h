// A batch shared out among unlike devices, each of which trains its samples by itself: micro-cuDNN's heterogeneous
// setting, as a table.
//
// Device g takes t_g(b) for b samples, which is known for some b; the batch is done when the last one is. Exact, by a dynamic
// program over devices: with F_g[n] the least time in which the first g devices do n samples
//
//   F_g[n] = min over b of max(F_(g-1)[n - b], t_g(b)),   t_g(0) = 0
//
// Tested by shares_test, cli_show_test.
#ifndef SPILLWAY_REPORTS_TABLES_SHARES_H_
#define SPILLWAY_REPORTS_TABLES_SHARES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hw/text/units.h"

namespace spillway {

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

struct SharingDevice {
  std::string name;
  std::vector<ShareTime> times;  // of the shares that fit
  Nanos exchange = 0;            // of gradients, among this device and those before it
};

// For the first device, the first two, and so on: their samples, the time of the slowest, and how much faster than the
// fastest device alone that is, without and with the exchange.
std::string SharesTable(const std::vector<SharingDevice>& devices, std::int64_t batch);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_TABLES_SHARES_H_

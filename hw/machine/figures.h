// What hardware does, as data: host memory, links with their transfer curves, and where each number comes from.
#ifndef SPILLWAY_HW_MACHINE_FIGURES_H_
#define SPILLWAY_HW_MACHINE_FIGURES_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "hw/text/units.h"

namespace spillway {

enum class Direction : std::uint8_t { kHostToDevice = 0, kDeviceToHost = 1 };

// Where a number comes from. `text` names device, driver, library, date and spread for measured numbers, the
// publication for published ones, the reason for assumed ones.
struct Source {
  enum class Kind : std::uint8_t { kMeasured, kPublished, kAssumed };
  Kind kind = Kind::kAssumed;
  std::string text;
  bool operator==(const Source&) const = default;
};
const char* SourceKindName(Source::Kind kind);  // "measured", "published", "assumed"

// Time of one contiguous copy against its size: linear between points, beyond the last point at the rate of the
// last interval, below the first point the time of the first (a copy is never faster than its latency). Rounded to
// whole nanoseconds; never decreasing with the size.
struct TransferCurve {
  struct Point {
    Bytes bytes = 0;
    Nanos time = 0;
    bool operator==(const Point&) const = default;
  };
  std::vector<Point> points;  // bytes strictly increasing, times not decreasing; at least two
  double error = 0.1;         // relative error of an answer (one standard deviation)
  Source source;
  Nanos Time(Bytes bytes) const;
  double Rate() const;  // bytes per nanosecond beyond the last point
  bool operator==(const TransferCurve&) const = default;
};

struct HostNode {
  std::string name;
  Bytes memory = 0;  // all of it may be pinned unless `pinned_limit` says otherwise
  Bytes pinned_limit = 0;
  Source source;
  bool operator==(const HostNode&) const = default;
};

// Host memory that is not pinned, and what moving it costs.
struct OtherMemory {
  enum class Kind : std::uint8_t {
    kPageable,         // ordinary memory: the driver stages every copy
    kManagedPrefetch,  // unified memory, moved by an explicit prefetch
    kManagedTouch,     // unified memory, moved page by page as a processor on the other side touches it
  };
  Kind kind = Kind::kPageable;
  std::array<TransferCurve, 2> curves;  // by Direction
  std::string note;                     // what the curves do not hold
  bool operator==(const OtherMemory&) const = default;
};
const std::vector<std::string>& OtherMemoryNames();  // by kind: "pageable", "managed_prefetch", "managed_touch"
const char* OtherMemoryName(OtherMemory::Kind kind);

struct Link {
  std::string name;
  int host = 0;                           // index into Machine::hosts
  int device = 0;                         // index into Machine::devices
  std::array<TransferCurve, 2> curves;    // by Direction, pinned memory
  std::vector<OtherMemory> other_memory;  // what is known of it, each kind at most once
  // By Direction: while copies run in both, a copy in this one proceeds at this fraction of its rate alone. 1: full
  // duplex. The two often differ: 0.5 to the device and 0.95 to the host over PCIe 4.0 (NVIDIA/nvbandwidth issue 11).
  std::array<double, 2> duplex_factor = {1, 1};
  Source duplex_source;
  // Standard deviation of the logarithm that all copies over it share because the curves are another host's: chip set,
  // firmware, clocks and place of the memory differ between hosts that have one kind of link. Nothing where the curves
  // were measured on this host.
  double host_error = 0;

  // nullptr: nothing is known of this kind on this link.
  const OtherMemory* FindOtherMemory(OtherMemory::Kind kind) const;
  bool operator==(const Link&) const = default;
};

// host_error of a profile that does not say it: 0 if both curves of pinned memory are `measured`, else kOtherHostError.
// The shipped profiles have the curves of a DGX-1. Pinned copies of five other hosts over PCIe 3.0 x16 are 2 % slower
// to 16 % faster. As the root of the mean square, 8 % is common to both directions of a host, and 2 % is between them.
// Sources: bandwidthTest and nvbandwidth at microway.com, on an AWS p3.2xlarge, a desktop, a laptop's x8 of PCIe 4.0
// and a Quadro RTX 6000 node.
constexpr double kOtherHostError = 0.08;
double UsualHostError(const Link& link);

}  // namespace spillway

#endif  // SPILLWAY_HW_MACHINE_FIGURES_H_

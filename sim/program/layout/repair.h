// Changes a placement that is too high: the buffer that sticks out takes a place below, those in its way find others.
// Internal to `layout`.
//
//   address                                   capacity 30: E sticks out. At 0 only A is in its way, which then finds
//    40 |       [--E--)                         its lowest free address above E.
//    30 |       [--E--)       30 |[------A-----)
//    20 |[------A-----)       20 |       [--E--)
//    10 |[--B--)              10 |[--B--)[--E--)
//       +--------------> items
//
// Others may stick out afterwards, and are next: local search by ejection chains (Glover 1996). A buffer costs the more to
// move the more often it was moved, so that no two take turns. Addresses and sizes are bytes.
#ifndef SPILLWAY_SIM_PROGRAM_LAYOUT_REPAIR_H_
#define SPILLWAY_SIM_PROGRAM_LAYOUT_REPAIR_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/program/layout/layout_columns.h"

namespace spillway {

class Repair {
 public:
  using Offsets = std::vector<Bytes>;  // by lifetime

  // Addresses below `base` stay as they are. REQUIRES: no frames. `lifetimes` must outlive this.
  Repair(const std::vector<Lifetime>& lifetimes, Bytes base, Bytes capacity, Offsets offsets);

  // Moves until all end within the capacity, the buffer that sticks out has no place, or so many buffers were looked at.
  void Run(std::int64_t most_steps);

  // The best placement seen and its highest address.
  const Offsets& best() const { return best_; }
  Bytes peak() const { return peak_; }

 private:
  struct Neighbour {
    Bytes begin, end;
    std::uint32_t k;
  };

  std::uint32_t Highest() const;
  const std::vector<std::uint32_t>& MeetingOf(std::uint32_t k);
  void FindNeighbours(std::uint32_t k);
  Bytes CheapestPlace(Bytes bytes);
  Bytes LowestPlace(Bytes bytes) const;
  void PutAt(std::uint32_t k, Bytes at);
  bool Move(std::uint32_t k);
  double CostOf(std::uint32_t k) const { return dearness_[k] * static_cast<double>(lifetimes_[k].bytes); }

  const std::vector<Lifetime>& lifetimes_;
  Bytes base_, capacity_;
  Offsets offsets_, ends_, best_;
  Bytes peak_ = 0;
  std::int64_t steps_ = 0;
  std::vector<double> dearness_;                      // by lifetime: cost of moving a byte
  std::vector<std::vector<std::uint32_t>> meeting_;   // by lifetime, once asked for
  std::vector<Neighbour> neighbours_;                 // of the buffer that was asked for last
  std::vector<std::pair<Bytes, double>> departures_;  // scratch: where each ends, its cost
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LAYOUT_REPAIR_H_

// Costs of launches that were timed on this very machine: looked up, not modelled.
#ifndef SPILLWAY_MODEL_COST_MEASURED_COST_H_
#define SPILLWAY_MODEL_COST_MEASURED_COST_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/cost/cost_model.h"

namespace spillway {

// Device::measured by launch. Refers to the device.
class MeasuredLaunches {
 public:
  // Throws UserError with machine, device, text and the nearest known name of every launch that it cannot read: of a device
  // that a program made, since those of a file are told where it is read.
  MeasuredLaunches(const Device& device, const std::string& machine);

  struct Choice {
    // Of the algorithms measured (only launch.algorithm, unless it is 0): the fastest within the workspace granted if
    // `fits`, else the one that wants least. nullopt: none was measured.
    std::optional<Cost> cost;
    bool fits = false;
    std::vector<std::int32_t> too_large;  // the algorithms measured, where none fits
  };
  // `launch.workspace` must be a number of bytes. An op without a choice of algorithms fits always: its scratch is the
  // library's own.
  Choice Choose(const Launch& launch) const;

  // Of the fastest convolution or matrix product in fp32 by its operations, nanoseconds; infinite where none was measured.
  // A few nanoseconds less, so that whatever rounds a row's time to whole ones stays above.
  double LeastTimePerFlop() const { return least_per_flop_; }

 private:
  struct Row {
    std::int32_t algorithm = 0;
    const MeasuredOp* op = nullptr;
    std::uint64_t group = 0;
  };
  struct Hash {
    std::size_t operator()(const Launch& launch) const;
  };
  Source::Kind source_ = Source::Kind::kMeasured;
  double least_per_flop_ = std::numeric_limits<double>::infinity();
  std::unordered_map<Launch, std::vector<Row>, Hash> rows_;  // by the launch without algorithm and workspace
};

}  // namespace spillway

#endif  // SPILLWAY_MODEL_COST_MEASURED_COST_H_

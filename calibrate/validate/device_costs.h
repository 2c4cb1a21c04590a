// Costs of kernels with the algorithms that the device at hand offers. The device is asked before anything is planned.
//
// A profile's models know the workspaces and algorithms of the library, threads and vector units for which they were
// written. A plan that runs needs those of the installed library, which refuses a kernel with less workspace. So the
// device names its algorithms and their workspaces, and the machine's costs tell how fast each of them is.
//
//   DeviceOffers offers;
//   offers.Ask(step, ask);                               // of every step, on one thread, before planning
//   const DeviceCosts costs(machine, options, offers);   // in place of a CostModel
//
// Tested by device_costs_test (tests/).
#ifndef SPILLWAY_CALIBRATE_VALIDATE_DEVICE_COSTS_H_
#define SPILLWAY_CALIBRATE_VALIDATE_DEVICE_COSTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "calibrate/devices/backend.h"
#include "model/cost/cost_model.h"

namespace spillway {

struct LaunchHash {  // REQUIRES: algorithm and workspace of all keys are equal
  std::size_t operator()(const Launch& launch) const;
};
template <typename Value>
using ByLaunch = std::unordered_map<Launch, Value, LaunchHash>;

class DeviceOffers {
 public:
  // Asks about each distinct convolution of the step that was not asked about before, and about its parts with
  // `part_sizes` samples, both a first part and a later part that adds to the sum. Throws what `ask` throws, and
  // UserError with the op's name if the device offers no algorithm.
  void Ask(const TrainingStep& step, const AskDevice& ask, std::span<const std::int64_t> part_sizes = {});
  const ByLaunch<std::vector<OfferedAlgorithm>>& all() const { return offers_; }

 private:
  void AskFor(const Op& op, const Launch& launch, const AskDevice& ask);

  ByLaunch<std::vector<OfferedAlgorithm>> offers_;  // by the launch without algorithm and workspace
};

// The difference between the machine's costs and the device's offers, over launches with the usual workspace.
struct OfferDifference {
  int launches = 0;     // number of distinct launches that the device was asked about
  int other = 0;        // number for which the device needs another workspace for the algorithm that the costs choose
  Bytes largest = 0;    // the largest such difference in bytes
  int not_offered = 0;  // number for which the costs choose an algorithm that the device does not offer
  std::string Text() const;  // "another workspace than modelled for 3 of 40 convolutions, by at most 1.20 MB"
};

// A cost model that uses the device's offers for launches that the device was asked about. All other launches,
// including parts of other sizes, cost what CostModel says.
//
// Among the algorithms that fit into the granted workspace, the choice is the fastest one measured, else the fastest
// one modelled, else the device's first, with the time of the law. If none fits, the choice is the one that needs
// least, with the workspace that it needs. `workspace` is the device's figure; time, source and error are CostModel's
// for that algorithm.
//
// Kernel() throws UserError, listing the algorithms offered, if a launch names an algorithm that the device does not
// offer.
class DeviceCosts : public CostModel {
 public:
  DeviceCosts(const Machine& machine, const CostOptions& options, const DeviceOffers& offers);
  Cost Kernel(const Launch& launch, int device = 0) const override;
  std::vector<MenuEntry> Menu(const Launch& launch, int device = 0) const override;
  bool KnowsWorkspace(const Launch& launch) const override;  // the device was asked, or has no choice
  OfferDifference Difference() const;

 private:
  struct Candidate {
    Cost cost;     // with the device's algorithm and workspace
    int rank = 0;  // 0 measured, 1 modelled, 2 by a law or the roofline
  };
  static bool Better(const Candidate& a, const Candidate& b, Bytes granted);
  Candidate CandidateOf(const Launch& launch, const OfferedAlgorithm& offer) const;

  ByLaunch<std::vector<Candidate>> candidates_;  // in the device's order
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_DEVICE_COSTS_H_

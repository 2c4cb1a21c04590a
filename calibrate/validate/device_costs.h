// Costs of kernels as the device at hand offers them: before anything is planned, it is asked.
//
// A profile's models know the workspaces and the choice of algorithms of the library, threads and vector units that
// they were written for. A plan that is carried out needs those of the library that is there: granted less, it
// refuses. So the device names the algorithms and their workspaces, and the machine's own costs say how fast each is.
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
  // Asks once for each distinct convolution of the step that was not asked for before, and for parts of it with so many
  // samples: the first of a sum and later ones. Throws what `ask` throws, and a UserError that names the op for which the
  // device offers nothing.
  void Ask(const TrainingStep& step, const AskDevice& ask, std::span<const std::int64_t> part_sizes = {});
  const ByLaunch<std::vector<OfferedAlgorithm>>& all() const { return offers_; }

 private:
  void AskFor(const Op& op, const Launch& launch, const AskDevice& ask);

  ByLaunch<std::vector<OfferedAlgorithm>> offers_;  // by the launch without algorithm and workspace
};

// How far the machine's own costs and the device are apart, of launches with the usual workspace.
struct OfferDifference {
  int launches = 0;          // distinct ones that the device was asked about
  int other = 0;             // the device wants another workspace for the algorithm that the costs choose
  Bytes largest = 0;         // difference of those
  int not_offered = 0;       // the costs choose an algorithm that the device does not offer
  std::string Text() const;  // "a workspace other than modelled for 3 of 40 convolutions, by at most 1.20 MB"
};

// What the device was asked about is answered by what it offers; everything else, parts of other sizes too, as CostModel
// does. Of the algorithms that fit in the workspace granted: the fastest one measured, else the fastest one modelled, else
// the one that the device would take first, in the time of the law. Where none fits, the one that wants least, with what
// it wants. `workspace` is the device's own figure; time, source and error are CostModel's for that algorithm.
//
// Kernel() throws a UserError with the algorithms offered for a launch by an algorithm that is none of them.
class DeviceCosts : public CostModel {
 public:
  DeviceCosts(const Machine& machine, const CostOptions& options, const DeviceOffers& offers);
  Cost Kernel(const Launch& launch, int device = 0) const override;
  std::vector<MenuEntry> Menu(const Launch& launch, int device = 0) const override;
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

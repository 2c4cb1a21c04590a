// Costs of a recorded step: ops by the recording, copies and the host's part by the machine.
//
// A recorded op answers with its ways: asked for none, the fastest within the workspace granted, or the one that wants least;
// where a scenario does not say what is granted, all that it wants. Times are those of the file, whatever the machine
// computes, but for what a scenario emulates; their error is the file's, and all of them are wrong together as far as the
// file says (shared_error). That copies slow a recorded op down is not recorded: it runs as fast beside them.
#ifndef SPILLWAY_MODEL_RECORDED_RECORDED_COSTS_H_
#define SPILLWAY_MODEL_RECORDED_RECORDED_COSTS_H_

#include <memory>
#include <vector>

#include "model/cost/cost_model.h"
#include "model/recorded/recorded_step.h"

namespace spillway {

class RecordedCosts : public CostModel {
 public:
  // The machine must outlive it. Throws UserError as CostModel does.
  RecordedCosts(const Machine& machine, const CostOptions& options, std::shared_ptr<const RecordedStep> recorded)
      : CostModel(machine, options), recorded_(std::move(recorded)) {}

  // Launches of other steps are the machine's.
  Cost Kernel(const Launch& launch, int device = 0) const override;
  std::vector<MenuEntry> Menu(const Launch& launch, int device = 0) const override;

 private:
  Cost CostOf(const RecordedWay& way, std::int32_t algorithm) const;

  const std::shared_ptr<const RecordedStep> recorded_;
};

}  // namespace spillway

#endif  // SPILLWAY_MODEL_RECORDED_RECORDED_COSTS_H_

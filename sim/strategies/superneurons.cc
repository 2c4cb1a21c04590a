// superneurons: SuperNeurons' rules as PoocH's authors implemented them for comparison (PoocH section 5.2). Maps stay
// from the output layer backwards until memory is full; of the others, results of convolutions are swapped and the
// rest recomputed, whatever the hardware; maps recomputed on the way to another one are freed. Swap-ins start with the
// backward of the nearest convolution before their need, without a look at memory, so the step may run out of it.
#include <cstddef>

#include "sim/strategies/pooch/search.h"

namespace spillway {
namespace {

void KeepFromOutput(Search& search, Classes& classes) {
  for (std::size_t m = classes.size(); m-- > 0;) {
    classes[m] = MapClass::kKeep;
    if (search.Simulate(classes).feasible) continue;
    classes[m] = MapClass::kSwap;
    return;
  }
}

void ClassifyByKind(const PoochProfile& profile, Classes& classes, std::vector<std::string>& notes) {
  notes.assign(classes.size(), "");
  for (std::size_t m = 0; m < classes.size(); ++m) {
    const PoochProfile::Map& map = profile.maps[m];
    if (classes[m] != MapClass::kSwap || map.on_host || !map.may_run_again) continue;
    notes[m] = map.convolution ? "result of a convolution" : "not the result of a convolution";
    if (!map.convolution) classes[m] = MapClass::kRecompute;
  }
}

}  // namespace

Planned PlanSuperneurons(const Problem& problem) {
  const PoochModel model = MakeModel(problem);
  Search search(model, SwapInRule::kPreviousConvolution);
  Classes classes = search.AllSwap();
  const Simulation all_swapped = search.Simulate(classes);
  if (!all_swapped.feasible) return DoesNotFit(problem, model.profile(), all_swapped);
  KeepFromOutput(search, classes);
  std::vector<std::string> notes;
  ClassifyByKind(model.profile(), classes, notes);
  Planned planned;
  planned.feasible = true;
  planned.plan = StartPlan(problem, "superneurons", "pooch");
  search.keep_passed = false;  // as PoocH's published code does, but where it would not come to an end
  if (search.SimulateUnlimited(classes).endless) {
    search.keep_passed = true;
    search.SimulateUnlimited(classes);
  }
  AddDecisions(search, classes, notes, planned.plan);
  planned.plan.evaluations = search.simulations;
  return planned;
}

}  // namespace spillway

#include "reports/trace/trace.h"
#include "scenarios/validate/validate_parts.h"

namespace spillway {

std::vector<ObservedTexts> ObservedOf(const Place& place, const CaseSetup& setup, const CostModel& costs,
                                      const CaseResult& found) {
  std::vector<ObservedTexts> texts;
  for (std::size_t k = 0; k < place.planned.size() && k < found.observed.size(); ++k) {
    const ObservedStep& step = found.observed[k];
    if (step.measured.empty()) continue;
    ResultRow row = place.planned[k].result.row;
    row.point = place.planned[k].point->row.point;
    row.times.step = step.predicted.makespan;
    if (&costs != setup.costs) row.bounds.lower = 0;
    const TraceSubject subject{.timeline = step.predicted,
                               .program = step.program,
                               .machine = costs.machine(),
                               .step = &setup.StepOf(setup.contenders[k]),
                               .plan = setup.contenders[k].plan,
                               .costs = &costs,
                               .row = &row,
                               .measured = &step.Usual()};
    texts.push_back({row.point, TraceJson(subject), ValidationOpsCsv(subject, step.measured)});
  }
  return texts;
}

}  // namespace spillway

#include "reports/cost_source.h"

#include <algorithm>

namespace spillway {

Source::Kind LeastSureSource(const Program& program, const CostModel& costs) {
  auto worst = Source::Kind::kMeasured;
  for (const Launch& launch : program.launches) worst = std::max(worst, costs.Kernel(launch).source);
  for (const Copy& copy : program.copies) {
    worst = std::max(worst, costs.Copy(copy.bytes, copy.direction, 0, copy.rows).source);
  }
  return worst;
}

}  // namespace spillway

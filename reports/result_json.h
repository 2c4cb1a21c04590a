// results.json: what results.csv holds, and the memory by class, the expectations and how the search ended.
#ifndef SPILLWAY_REPORTS_RESULT_JSON_H_
#define SPILLWAY_REPORTS_RESULT_JSON_H_

#include <string>

#include "reports/result.h"

namespace spillway {

// {"results": [{...one object per row, keys as the columns of results.csv...}], "expectations": [...]}.
// The figures of a row that is not feasible are null. Times are seconds.
std::string ResultJson(const ResultSet& results);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_RESULT_JSON_H_

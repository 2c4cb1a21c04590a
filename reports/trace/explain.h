// Why a plan decided so about a map, or what an op costs in it: read from the point's timeline file (reports/trace/trace.h), so
// that what is told is what was written.
//
// Tested by cli_report_test.
#ifndef SPILLWAY_REPORTS_TRACE_EXPLAIN_H_
#define SPILLWAY_REPORTS_TRACE_EXPLAIN_H_

#include <string>

namespace spillway {

// `trace`: the text of the file `file`. Lines for people: what was decided and why, the bytes that its copies move, how long
// compute stood still for them, what was computed again; and what the other two classes would cost at least: memory for
// how long, copies, kernels. UserError: no such map, with the nearest name, or a file that is no timeline with maps.
std::string ExplainMap(const std::string& trace, const std::string& file, const std::string& name);

// Each launch of the op called `name`: when, how long, by which algorithm, where its cost comes from, what compute waited for before it.
std::string ExplainOp(const std::string& trace, const std::string& file, const std::string& name);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_TRACE_EXPLAIN_H_

// The memory of a recorded step over its calls, by module, as a page: what `spillway show step` says in a table.
//
// The page reads a file memory.json of its own:
//
//   format, version          spillway-memory, 1
//   network, batch, device, calls, first_backward, first_update
//   limit_bytes              what a card leaves for the step, or null
//   peak                     {"call", "name", "module", "bytes"} of the call with the most bytes; call: its index
//   at, names                calls that are shown, and their names: of long steps the largest in each stretch
//   rows                     {"module", "summed", "peak_bytes", "bytes": [...]} as ModuleMemory::Row, bytes by `at`
//   largest                  the five largest tensors at the peak: {"tensor", "bytes", "class", "module", "made_by",
//                            "first", "last"}; first and last: the calls between which they live
//
// Tested by memory_page_test and tests/reports/html.
#ifndef SPILLWAY_REPORTS_HTML_MEMORY_PAGE_H_
#define SPILLWAY_REPORTS_HTML_MEMORY_PAGE_H_

#include <string>

#include "model/recorded/recorded_step.h"

namespace spillway {

constexpr std::size_t kMostShownCalls = 1500;

// `limit`: bytes; 0: none is drawn.
std::string MemoryJson(const RecordedStep& recorded, Bytes limit);
std::string MemoryPage(const RecordedStep& recorded, Bytes limit);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_HTML_MEMORY_PAGE_H_

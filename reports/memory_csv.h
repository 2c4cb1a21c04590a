// Live device memory over time: time_ns,live_bytes, one line per change.
#ifndef SPILLWAY_REPORTS_MEMORY_CSV_H_
#define SPILLWAY_REPORTS_MEMORY_CSV_H_

#include <string>

#include "sim/engine/simulate.h"

namespace spillway {

std::string MemoryCsv(const Timeline& timeline);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_MEMORY_CSV_H_

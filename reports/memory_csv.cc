#include "reports/memory_csv.h"

#include <fmt/format.h>

namespace spillway {

std::string MemoryCsv(const Timeline& timeline) {
  std::string text = "time_ns,live_bytes\n";
  for (const auto& point : timeline.memory) text += fmt::format("{},{}\n", point.time, point.live);
  return text;
}

}  // namespace spillway

#include "scenarios/console.h"

#include <fmt/format.h>

#include <utility>

namespace spillway {

Progress::Progress(Console& console, std::string what, std::size_t total)
    : console_(console), what_(std::move(what)), total_(total) {}

Progress::~Progress() {
  if (console_.terminal && done_ > 0) console_.err << "\r\x1b[K" << std::flush;
}

void Progress::Step() {
  ++done_;
  if (console_.terminal) console_.err << fmt::format("\r{} {}/{}", what_, done_, total_) << std::flush;
}

}  // namespace spillway

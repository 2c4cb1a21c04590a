#include "scenarios/console.h"

#include <catch2/catch.hpp>
#include <sstream>

namespace spillway {
namespace {

double told_seconds = 0;  // by the clock of the console below

std::string LinesOf(bool terminal, const std::vector<double>& steps) {
  std::ostringstream out, err;
  told_seconds = 1000;
  Console console{out, err, terminal, [] { return told_seconds; }};
  {
    Progress progress(console, "point", steps.size());
    for (const double at : steps) {
      told_seconds = 1000 + at;
      progress.Step();
    }
  }
  CHECK(out.str().empty());
  return err.str();
}

TEST_CASE("without a terminal progress is a line a minute, the first after a minute") {
  CHECK(LinesOf(false, {1, 30, 59}).empty());
  CHECK(LinesOf(false, {1, 61, 62, 100, 122, 700}) ==
        "point 2/6, after 1 min\npoint 5/6, after 2 min\npoint 6/6, after 12 min\n");
}

TEST_CASE("on a terminal progress is one line that goes again") {
  CHECK(LinesOf(true, {1, 100}) == "\rpoint 1/2\rpoint 2/2\r\x1b[K");
  CHECK(LinesOf(true, {}).empty());
}

}  // namespace
}  // namespace spillway

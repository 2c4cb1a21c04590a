// What a calibration measured beside what models answer: on a machine of whose times every one can be worked out.
#include <catch2/catch.hpp>

#include "model/cost/cost_model.h"
#include "reports/html/page.h"
#include "tests/text.h"

namespace spillway {
namespace {

// Of the unit machine a byte takes a nanosecond to copy.
Sample CopySample(Bytes bytes, const char* kind, double microseconds) {
  Sample sample;
  sample.what = SampleKind::kCopy;
  sample.direction = "h2d";
  sample.kind = kind;
  sample.bytes = bytes;
  sample.microseconds = microseconds;
  return sample;
}

TEST_CASE("a copy stands beside the link's curve, and one that no link makes is left out") {
  const std::vector<std::string> lines = LinesOf(
      CalibrationCsv(std::vector{CopySample(1'000'000, "pinned", 1250), CopySample(1'000'000, "pageable", 2000)},
                     LoadMachine("unit")));
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].starts_with("what,op,pass,shape,algorithm,direction,bytes,rows,measured_s"));
  CHECK(lines[1] == "copy,,,,,h2d,1000000,1,0.001250000,,,0.001000000,-0.200000,curve,");
}

TEST_CASE("a kernel that was timed is answered for by the models, not by itself") {
  Machine machine = LoadMachine("unit");
  Sample sample;
  sample.what = SampleKind::kKernel;
  sample.launch.kind = OpKind::kRelu;
  sample.launch.shape.in = sample.launch.shape.out = {.n = 10, .c = 100};
  sample.microseconds = 100;
  sample.p10 = 90;
  sample.p90 = 120;
  sample.flags = {"noisy", "odd"};
  const Nanos by_model = CostModel(machine).Kernel(sample.launch).time;
  MeasuredOp timed;
  timed.op = OpKind::kRelu;
  timed.pass = Pass::kForward;
  timed.shape = "10x100x1x1";
  timed.time = 7 * by_model;
  machine.devices[0].measured.push_back(timed);
  const std::vector<std::string> lines = LinesOf(CalibrationCsv(std::vector{sample}, machine));
  REQUIRE(lines.size() == 2);
  CHECK(lines[1].starts_with("kernel,relu,forward,10x100x1x1,,,,,0.000100000,0.000090000,0.000120000,"));
  CHECK(Contains(lines[1], std::to_string(static_cast<double>(by_model) / 100'000 - 1)));
  CHECK(lines[1].ends_with(",noisy odd"));
}

TEST_CASE("the page holds the samples") {
  const std::string page = CalibrationPage(std::vector{CopySample(1000, "pinned", 1)}, LoadMachine("unit"));
  CHECK(Contains(page, "data-file=\"calibration.csv\""));
}

}  // namespace
}  // namespace spillway

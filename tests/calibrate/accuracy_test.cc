#include <catch2/catch.hpp>
#include <cmath>

#include "calibrate/accuracy/cells.h"
#include "calibrate/accuracy/report.h"
#include "tests/calibrate/toy_fit.h"

using namespace spillway;
using namespace spillway::toy;

namespace {

// The faster of the toy algorithms, which one is told: steady at 0.4 and 1 us, fast at 0.35 and 30 us.
std::vector<Sample> Samples() {
  std::vector<Sample> samples;
  for (double c = 8; c < 800; c *= 1.45) {
    for (const std::int64_t n : {1, 8, 64}) {
      const Sample layer = toy::Convolution(n, std::llround(c));
      const double steady = toy::SteadyTime(layer.launch, toy::kChip, std::vector<double>{0.4, 1000});
      const double fast = toy::FastTime(layer.launch, toy::kChip, std::vector<double>{0.35, 30000});
      samples.push_back(toy::WithAlgorithm(layer, steady < fast ? "implicit_gemm" : "winograd"));
      samples.back().best = true;
      samples.back().microseconds = std::min(steady, fast) / 1000;
      samples.back().network = c < 80 ? "first" : "second";
    }
  }
  return samples;
}

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("cells hold medians, 90th percentiles and bias") {
  std::vector<Sample> samples(10, toy::Convolution(1, 8));
  for (Sample& s : samples) s.microseconds = 50;
  std::vector<HeldOutOutcome> outcomes;
  // predicted / measured - 1 = -0.5, 0.1, 0.2, ... 0.9
  for (int i = 0; i < 10; ++i) outcomes.push_back({i, "layer", "ours", std::log(i == 0 ? 0.5 : 1 + 0.1 * i)});
  const Cells cells = GatherCells(outcomes, samples);
  REQUIRE(cells.size() == 2);  // all, and the size class
  const Cell& all = cells.begin()->second.at("ours");
  CHECK(cells.begin()->first.subset == "all");
  CHECK(all.MedianError() == Approx(0.5));  // 0.1 0.2 0.3 0.4 0.5 | 0.5 0.6 ...
  CHECK(all.Error90() == Approx(0.8));
  CHECK(all.Bias() == Approx(0.4));  // -0.5 0.1 0.2 0.3 0.4
  CHECK(Has(CellsCsv(cells), "toy,convolution,forward,fp32,layer,all,ours,10,0.5000,0.8000,0.4000,,\n"));
}

TEST_CASE("size classes are by the measured time") {
  Sample s = toy::Convolution(1, 8);
  s.microseconds = 99;
  CHECK(SizeClass(s) == "below 0.1 ms");
  s.microseconds = 100;
  CHECK(SizeClass(s) == "0.1 to 1 ms");
  s.microseconds = 1000;
  CHECK(SizeClass(s) == "1 to 10 ms");
  s.microseconds = 10000;
  CHECK(SizeClass(s) == "from 10 ms");
}

TEST_CASE("a report compares ours with the baselines, layers not seen and beyond the data") {
  const std::vector<Sample> samples = Samples();
  const FitResult fit = Fit(samples, Options());
  const AccuracyReport report = ReportAccuracy(samples, Options(), fit);
  for (const char* part :
       {"## Layers not seen", "## Beyond the data", "## Algorithm predicted to be the fastest", "## Stated intervals",
        "## Steps", "## The ten worst", "| first, own |", "| line 0 |", "batch >= 64 from <= 8", "network second",
        "| all |", "| winograd |", "algorithm winograd"}) {
    CAPTURE(part);
    CHECK(Has(report.markdown, part));
  }
  CHECK(
      Has(report.csv, "device,op,pass,math,split,subset,method,samples,median_error,p90_error,bias,coverage,width\n"));
  for (const char* method : {",ours,", ",line,", ",roofline,"}) CHECK(Has(report.csv, method));
  const AccuracyReport again = ReportAccuracy(samples, Options(), fit);
  CHECK(report.markdown == again.markdown);
  CHECK(report.csv == again.csv);
}

TEST_CASE("the true law beats its rivals on batches beyond the data") {
  const std::vector<Sample> samples = Samples();
  const Cells cells = GatherCells(GatherOutcomes(samples, Options(), Fit(samples, Options())), samples);
  int splits = 0;
  for (const auto& [key, methods] : cells) {
    if (key.split.rfind("batch", 0) != 0) continue;
    ++splits;
    CHECK(methods.at("ours").MedianError() < 0.05);
    CHECK(methods.at("ours").MedianError() < methods.at("line").MedianError());
    CHECK(methods.at("ours").MedianError() < methods.at("roofline").MedianError());
  }
  CHECK(splits == 1);
}

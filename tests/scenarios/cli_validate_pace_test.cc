// The pace of now as a user of spillway validate meets it, on a device in virtual time: predictions, notes, columns.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>
#include <sstream>

#include "tests/scenarios/validate_command_line.h"

namespace spillway {
namespace {

TEST_CASE("a device that is slower than when it was calibrated: predictions are for the pace of now") {
  const ValidateFolder f(ValidateFolder::Profile::kMeasured);
  Reality reality;
  reality.kernels = 1.25;
  const std::string out = f.folder().Path("out");
  const Outcome as_it_was = f.Run(kLimit, {"--strategies", "recompute-all"}, &reality);
  CHECK_THAT(as_it_was.out, Catch::Contains("strategies, networks seen in calibration       1  -20.0 %"));
  CHECK_THAT(as_it_was.out, !Catch::Contains("kernels now") && !Catch::Contains("\nas calibrated"));

  reality.bench = true;
  const Outcome now = f.Run(kLimit, {"--strategies", "recompute-all", "--out", out}, &reality);
  INFO(now.out << now.err);
  CHECK(now.status == kExitDone);
  CHECK_THAT(now.out, Catch::Contains("kernel times now / in the profile: products 1.25 (1.25 to 1.25), "
                                      "applied: 1.25 (1.25 to 1.25) between the steps; others 1.25 (1.25 to 1.25), "
                                      "applied: 1.25 (1.25 to 1.25) between the steps; 32 launches timed again\n"));
  CHECK_THAT(now.out, Catch::Contains("all strategies, at the pace of the calibration     1  -20.0 %"));
  CHECK_THAT(now.out, Catch::Contains("times of products changed by +0.0 %, of other kernels by +0.0 %\n"));
  CHECK_THAT(now.out, Catch::Contains("\nas calibrated "));
  const std::string csv = f.folder().Read("out/validation.csv");
  CHECK(CountOf(csv, ",1.2500,1.2500,") == 1);
  CHECK_THAT(now.out, Catch::Contains("strategies, networks seen in calibration           1   +0.0 %"));
}

// Of recompute-all, which only computes, by columns of validation.csv.
std::map<std::string, std::string> RowIn(const std::string& csv) {
  std::istringstream lines(csv);
  std::string header, row;
  std::getline(lines, header);
  std::getline(lines, row);
  std::istringstream names(header), cells(row);
  std::map<std::string, std::string> found;
  for (std::string name, cell; std::getline(names, name, ',');) {
    std::getline(cells, cell, ',');
    found[name] = cell;
  }
  return found;
}

TEST_CASE("a factor whose interval holds 1 is not applied") {
  const ValidateFolder f(ValidateFolder::Profile::kMeasured);
  Reality reality;  // which is as it was calibrated
  reality.bench = true;
  std::array<std::size_t, 2> timed{};
  reality.paces = [&timed](const Launch& launch, int) {
    return std::array{0.6, 1.1, 0.6, 1.2}[timed[IsProduct(launch.kind) ? 0 : 1]++ % 4];
  };
  const std::vector<std::string> words = {"--strategies", "recompute-all", "--out", f.folder().Path("out")};
  const Outcome outcome = f.Run(kLimit, words, &reality);
  INFO(outcome.out << outcome.err);
  CHECK_THAT(outcome.out,
             Catch::Contains("products 0.85 (0.60 to 1.10), not applied: the interval holds 1; others 0.85"));
  auto row = RowIn(f.folder().Read("out/validation.csv"));
  CHECK(row["products_pace_applied"] == "0");
  CHECK(row["others_pace_applied"] == "0");
  CHECK(row["error"] == "0.000000");
  CHECK(row["predicted_s"] == row["as_calibrated_s"]);
  CHECK(std::stod(row["at_pace_s"]) == Approx(0.85 * std::stod(row["predicted_s"])).epsilon(0.01));  // stays told
}

TEST_CASE("a factor that launches between the steps deny is not applied, nor is one that they are beyond 1 of") {
  const ValidateFolder f(ValidateFolder::Profile::kMeasured);
  for (const double meanwhile : {1.0, 1.3}) {
    Reality reality;
    reality.bench = true;
    reality.kernels = meanwhile;
    reality.paces = [&reality](const Launch&, int bench) { return bench == 1 ? 0.8 : reality.kernels; };
    const std::vector<std::string> words = {"--strategies", "recompute-all", "--out", f.folder().Path("out")};
    const Outcome outcome = f.Run(kLimit, words, &reality);
    INFO(outcome.out << outcome.err);
    const std::string now = fmt::format("{0:.2f} ({0:.2f} to {0:.2f})", meanwhile);
    CHECK_THAT(outcome.out, Catch::Contains("products 0.80 (0.80 to 0.80), not applied: " + now +
                                            " between the steps; others 0.80"));
    auto row = RowIn(f.folder().Read("out/validation.csv"));
    CHECK(row["products_pace_applied"] == "0");
    CHECK(std::stod(row["error"]) == Approx(1 / meanwhile - 1).margin(1e-3));
    CHECK(std::stod(row["kernel_error"]) == Approx(1 / meanwhile - 1).margin(1e-3));  // by the same costs
    CHECK(std::stod(row["tracked_error"]) == Approx(0).margin(1e-3));
    CHECK(row["predicted_s"] == row["as_calibrated_s"]);
    CHECK_THAT(outcome.out, Catch::Contains("all strategies, at the pace measured before"));
    // The full model is what the row says; at another factor it would be another one.
    CHECK_THAT(f.folder().Read("out/falsification.csv"),
               Catch::Contains(fmt::format("\nfull,{:.2f}", std::abs(1 / meanwhile - 1))));
  }
}

TEST_CASE("a machine that becomes three times slower while it is measured: each step at the pace of its moment") {
  const ValidateFolder f(ValidateFolder::Profile::kMeasured);
  Reality reality;
  reality.bench = true;
  reality.paces = [&reality](const Launch&, int bench) {
    if (bench == 3) reality.kernels = 3;  // behind the first round
    return reality.kernels;
  };
  const std::vector<std::string> words = {"--strategies", "recompute-all", "--out", f.folder().Path("out")};
  const Outcome outcome = f.Run(kLimit, words, &reality);
  INFO(outcome.out << outcome.err);
  auto row = RowIn(f.folder().Read("out/validation.csv"));
  CHECK(std::stod(row["error"]) == Approx(1.0 / 3 - 1).margin(1e-3));
  CHECK(std::stod(row["tracked_error"]) == Approx(0).margin(1e-3));
  CHECK(std::stod(row["tracked_s"]) == Approx(std::stod(row["measured_s"])).epsilon(1e-3));
  CHECK(row["products_pace_applied"] == "0");  // it was 1 before
  CHECK_THAT(outcome.out, Catch::Contains("all strategies, each step at its own pace"));
}

TEST_CASE("a core shared with others: launches by themselves do not show it, how long a thread waits does") {
  const ValidateFolder f(ValidateFolder::Profile::kMeasured);
  Reality reality;
  reality.bench = true;
  reality.kernels = 5;
  reality.paces = [](const Launch&, int) { return 1.0; };  // all fall between two waits
  const std::vector<std::string> words = {"--strategies", "recompute-all", "--out", f.folder().Path("out")};
  for (const double waiting : {0.0, 5.0}) {
    reality.waits = [waiting](bool) { return waiting; };
    const Outcome outcome = f.Run(kLimit, words, &reality);
    INFO(outcome.out << outcome.err);
    auto row = RowIn(f.folder().Read("out/validation.csv"));
    CHECK(std::stod(row["error"]) == Approx(1.0 / 5 - 1).margin(1e-3));  // as predicted before, in any case
    CHECK(std::stod(row["tracked_error"]) == Approx(waiting == 0 ? 1.0 / 5 - 1 : 0).margin(1e-3));
  }
}

TEST_CASE("others that come and go within a round: who waits is looked at beside each session") {
  const ValidateFolder f(ValidateFolder::Profile::kMeasured);
  Reality reality;
  reality.bench = true;
  reality.paces = [](const Launch&, int) { return 1.0; };
  int alone = 0;
  // Nobody waits whenever launches are timed, between the rounds.
  reality.waits = [&](bool asked_alone) {
    alone += asked_alone ? 1 : 0;
    return reality.kernels = asked_alone ? 4 : 1;
  };
  const std::vector<std::string> words = {"--strategies", "recompute-all", "--out", f.folder().Path("out")};
  const Outcome outcome = f.Run(kLimit, words, &reality);
  INFO(outcome.out << outcome.err);
  auto row = RowIn(f.folder().Read("out/validation.csv"));
  CHECK(std::stod(row["error"]) == Approx(1.0 / 4 - 1).margin(1e-3));  // as predicted before
  CHECK(std::stod(row["tracked_error"]) == Approx(0).margin(1e-3));
  // Of two plans in five rounds: at least before the first session and behind the last of each, at most around each.
  CHECK(alone >= 10);
  CHECK(alone <= 20);
  // A device that tells nothing is not asked again.
  alone = 0;
  reality.kernels = 1;
  reality.waits = [&alone](bool asked_alone) { return alone += asked_alone ? 1 : 0, 0.0; };
  CHECK(f.Run(kLimit, words, &reality).status == kExitDone);
  CHECK(alone == 0);
}

TEST_CASE("the pace is measured on a thread of its own where the device wants that") {
  const ValidateFolder f(ValidateFolder::Profile::kMeasured);
  for (const bool aside : {false, true}) {
    Reality reality;
    reality.bench = true;
    reality.aside = aside;
    reality.benches = 1;
    const Outcome outcome = f.Run(kLimit, {}, &reality);
    CHECK(outcome.status == kExitDone);
    CHECK(reality.benched_on.empty() == false);
    CHECK(reality.benched_on.contains(std::this_thread::get_id()) == !aside);
    // What is thrown there comes back.
    CHECK_THAT(outcome.out, Catch::Contains("is not known: the device is lost\n"));
  }
}

TEST_CASE("the pace is that of the algorithms which plans take within the scenario's workspace") {
  const ValidateFolder f(ValidateFolder::Profile::kMeasured);
  const auto algorithms = [&f](const std::string& workspace) {
    Reality reality;
    reality.bench = true;
    const std::string limits = "memory: 25 MB\nlink: 1 GB/s\nworkspace: " + workspace;
    CHECK(f.Run(limits, {"--strategies", "recompute-all"}, &reality).status == kExitDone);
    return reality.algorithms;
  };
  CHECK(algorithms("8 MiB") == std::set<std::string>{"direct"});
  CHECK(algorithms("16 MiB") == std::set<std::string>{"gemm"});
}

TEST_CASE("a device that is lost when all is measured takes nothing of it along") {
  const ValidateFolder f(ValidateFolder::Profile::kMeasured);
  Reality reality;
  reality.bench = true;
  reality.benches = 1;
  const Outcome outcome = f.Run(kLimit, {"--out", f.folder().Path("out")}, &reality);
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == kExitDone);
  CHECK(reality.benches < 0);
  CHECK_THAT(outcome.out, Catch::Contains("note: the change of the pace during the measurement is not known: the "
                                          "device is lost\n"));
  CHECK(CountOf(f.folder().Read("out/falsification.csv"), "\nas calibrated,") == 2);
}

TEST_CASE("a profile whose launches the device cannot time again: no pace, and no model at another one") {
  const ValidateFolder f(ValidateFolder::Profile::kMeasured);
  Reality reality;
  reality.bench = true;
  reality.refuses = true;
  const Outcome outcome = f.Run(kLimit, {}, &reality);
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == kExitDone);
  CHECK_THAT(outcome.out, !Catch::Contains("kernels now") && !Catch::Contains("\nas calibrated"));
}

}  // namespace
}  // namespace spillway

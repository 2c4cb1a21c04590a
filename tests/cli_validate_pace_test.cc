// The pace of now as a user of spillway validate meets it, on a device in virtual time: predictions, notes, columns.
#include "tests/validate_command_line.h"

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
  CHECK_THAT(now.out, Catch::Contains("kernels now, times those of the profile: products 1.25 (1.25 to 1.25), others "
                                      "1.25 (1.25 to 1.25); 32 launches timed again\n"));
  CHECK_THAT(now.out, Catch::Contains("all strategies, at the pace of the calibration     1  -20.0 %"));
  CHECK_THAT(now.out, Catch::Contains("times of products changed by +0.0 %, of other kernels by +0.0 %\n"));
  CHECK_THAT(now.out, Catch::Contains("\nas calibrated "));
  const std::string csv = f.folder().Read("out/validation.csv");
  CHECK(CountOf(csv, ",1.2500,1.2500,") == 1);
  CHECK_THAT(now.out, Catch::Contains("strategies, networks seen in calibration           1   +0.0 %"));
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
  CHECK_THAT(outcome.out, Catch::Contains("note: how far the pace moved while this was measured is not known: the "
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

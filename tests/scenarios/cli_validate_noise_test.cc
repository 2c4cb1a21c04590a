// spillway validate on a machine that nobody should measure on: it says so, before all numbers.
#include "tests/scenarios/validate_command_line.h"

namespace spillway {
namespace {

TEST_CASE("a crowded machine: a warning before anything runs, the verdict above the tables and in the rows") {
  const ValidateFolder f;
  Reality reality;
  reality.load = [] { return 4.0; };
  reality.room = 2;
  const Outcome outcome = f.Run(kLimit, {"--out", f.folder().Path("out")}, &reality);
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == kExitDone);
  CHECK_THAT(outcome.err, Catch::StartsWith("warning: 4.0 threads want a core here, where up to 2 would not have to "));
  CHECK_THAT(outcome.out, Catch::StartsWith("do not trust these numbers: load 4.0\n"));
  CHECK(CountOf(outcome.out, "do not trust these numbers") == 2);  // of the case, and of all
  CHECK_THAT(f.folder().Read("out/validation.txt"), Catch::StartsWith("do not trust these numbers: load 4.0\n"));
  CHECK(CountOf(f.folder().Read("out/validation.csv"), ",4.00,0.000000,,0,") == 3);
  const Outcome csv = f.Run(kLimit, {"--format", "csv"}, &reality);
  CHECK_THAT(csv.err, Catch::EndsWith("do not trust these numbers: load 4.0\n"));
  CHECK_THAT(csv.out, Catch::StartsWith("network,"));
}

TEST_CASE("as much load as the machine has cores is nobody's trouble, and neither is one that is not known") {
  const ValidateFolder f;
  Reality reality;
  reality.room = 2;
  for (const double load : {0.0, 2.0, -1.0}) {
    reality.load = [load] { return load; };
    const Outcome outcome = f.Run(kLimit, {}, &reality);
    CHECK(outcome.err.empty());
    CHECK_THAT(outcome.out, !Catch::Contains("do not trust"));
  }
}

TEST_CASE("what this program itself wants of the cores while it plans is nobody else's load") {
  const ValidateFolder f;
  Reality reality;
  reality.room = 2;
  bool planning = false;
  int devices = 0;
  // Planning begins once the device has been asked, and ends before the case opens one, the link's being the first.
  reality.load = [&] { return planning && devices < 2 ? 3.0 : 0.5; };
  reality.made = [&devices] { ++devices; };
  const auto ask = [&planning](const Launch&) {
    planning = true;
    return std::vector<OfferedAlgorithm>{{.algorithm = 1, .workspace = 0}};
  };
  const Outcome outcome = f.Run(kLimit, {}, &reality, ask);
  INFO(outcome.out << outcome.err);
  CHECK(planning);
  CHECK(devices == 2);
  CHECK(outcome.err.empty());
  CHECK_THAT(outcome.out, !Catch::Contains("do not trust"));
}

TEST_CASE("a machine that gets busy while it is measured") {
  const ValidateFolder f;
  Reality reality;
  reality.room = 2;
  int looks = 0;
  reality.load = [&looks] { return ++looks > 1 ? 3.0 : 0.5; };  // at the start, which is before the case; behind it
  const Outcome outcome = f.Run(kLimit, {}, &reality);
  CHECK(outcome.err.empty());
  CHECK_THAT(outcome.out, Catch::StartsWith("do not trust these numbers: load 3.0\n"));
}

TEST_CASE("the first look at the load comes before planning, which takes all cores") {
  const ValidateFolder f;
  Reality reality;
  reality.room = 2;
  bool planned = false, measured = false;
  reality.stop = [&] {
    planned = true;
    return false;
  };
  reality.made = [&, devices = 0]() mutable { measured = ++devices == 2; };  // the case's, behind the link's
  reality.load = [&] { return planned && !measured ? 9.0 : 0.5; };
  const Outcome outcome = f.Run(kLimit, {}, &reality);
  CHECK(measured);
  CHECK(outcome.err.empty());
  CHECK_THAT(outcome.out, !Catch::Contains("do not trust"));
}

TEST_CASE("rounds that differ by a third of a step are not to be trusted; by a twentieth they are") {
  const ValidateFolder f(ValidateFolder::Profile::kMeasured);
  for (const double more : {0.05, 0.3}) {
    Reality reality;
    reality.bench = true;
    reality.paces = [&reality, more](const Launch&, int bench) {
      reality.kernels = bench % 2 == 0 ? 1 : 1 + more;  // from round to round
      return 1.0;
    };
    const Outcome outcome = f.Run(kLimit, {"--strategies", "recompute-all"}, &reality);
    INFO(outcome.out);
    const std::string verdict = "do not trust these numbers: rounds differ by ";
    CHECK(outcome.out.starts_with(verdict) == (more > 0.1));
    CHECK_THAT(outcome.out, Catch::Contains("machine: rounds of a plan differ by "));
  }
}

}  // namespace
}  // namespace spillway

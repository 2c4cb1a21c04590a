// spillway validate as a user meets it, on a device in virtual time: what is printed, written and returned.
#include "model/kernels/kernel_form.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "tests/scenarios/validate_command_line.h"

namespace spillway {
namespace {

TEST_CASE("a device that is as predicted: nothing differs, status 0") {
  const ValidateFolder f;
  Reality reality;
  const Outcome outcome = f.Run(kLimit, {"--out", f.folder().Path("out")}, &reality);
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == kExitDone);
  CHECK(outcome.err.empty());
  CHECK(reality.rates == std::vector<double>{1, 1});  // to measure the link, for the case
  CHECK_THAT(outcome.out,
             Catch::Contains("small: cifar-resnet20 at batch 2 on unit+link=1GB/s, 5.00 MB of device memory, "
                             "link 1 GB/s (measured: in 1.00 out 1.00 GB/s, duplex 1.00 and 1.00)"));
  CHECK_THAT(outcome.out, Catch::Contains("in-core        does not run: out_of_memory"));
  CHECK_THAT(outcome.out, Catch::Contains("within noise of the fastest, at 1 of 1 points"));
  const std::string csv = f.folder().Read("out/validation.csv");
  CHECK(CountOf(csv, "\n") == 4);
  CHECK(CountOf(csv, ",bitwise,") == 2);
  CHECK(CountOf(csv, ",0.000000,0.000000,") >= 2);  // error and replay_error
  CHECK(CountOf(f.folder().Read("out/falsification.csv"), "\n") == 1 + 2 * 8);
}

TEST_CASE("a step in batch parts is measured; numbers that parts change are not compared") {
  const ValidateFolder f;
  const Outcome outcome = f.Run(kLimit, {"--strategy", "swap-all,accumulate", "--format", "csv"});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == kExitDone);
  CHECK(CountOf(outcome.out, ",bitwise,") == 1);
  CHECK(CountOf(outcome.out, ",skipped,") == 1);
  CHECK(CountOf(outcome.out, ",0.000000,0.000000,") >= 2);  // error and replay_error
}

TEST_CASE("random plans are drawn per network and shared out among its cases") {
  const ValidateFolder f;
  const Outcome outcome = f.Run("memory: [5 MB, 5500 kB]\nlink: 1 GB/s\n", {"--random", "7", "--format", "csv"});
  INFO(outcome.err);
  CHECK(outcome.status == kExitDone);
  CHECK(CountOf(outcome.out, ",random,") == 7);
  CHECK(CountOf(outcome.out, ",5000000,1000000000,random ") == 3);
  CHECK(CountOf(outcome.out, ",5500000,1000000000,random ") == 4);
  CHECK(CountOf(outcome.out, ",bitwise,") == 4 + 7);
}

TEST_CASE("every link rate is measured, and predicted with") {
  const ValidateFolder f;
  Reality reality;
  reality.copies = 2;  // half of what is asked for comes out
  const Outcome outcome = f.Run("memory: 5 MB\nlink: [1 GB/s, 4 GB/s]\n", {"--format", "csv"}, &reality);
  CHECK(outcome.status == kExitDone);
  CHECK(reality.rates == std::vector<double>{1, 4, 1, 4});
  CHECK(CountOf(outcome.out, ",500000000,500000000,") == 3);
  CHECK(CountOf(outcome.out, ",2000000000,2000000000,") == 3);
  CHECK(CountOf(outcome.out, ",0.000000,0.000000,") >= 4);  // so there is no error left
}

TEST_CASE("without a rate the link runs at the profile's") {
  const ValidateFolder f;
  Reality reality;
  CHECK(f.Run("memory: 5 MB\n", {}, &reality).status == kExitDone);
  CHECK(reality.rates == std::vector<double>{1, 1});
}

TEST_CASE("without a limit of its own a validation asks for what is free") {
  const ValidateFolder f;
  Reality reality;
  reality.free = 5 * kMB;
  const Outcome outcome = f.Run("link: 1 GB/s\n", {"--format", "csv"}, &reality);
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == kExitDone);
  CHECK_THAT(outcome.err, Catch::Contains("are free, and taken; `memory:` states a limit"));
  CHECK_THAT(outcome.out, Catch::Contains("in-core") && Catch::Contains("out_of_memory"));
  CHECK(CountOf(outcome.out, ",bitwise,") == 2);
  // A limit that the scenario states stands, whatever is free; and so does the machine's where enough is.
  reality.free = 1 * kMB;
  CHECK(f.Run("memory: 5 MB\nlink: 1 GB/s\n", {"--format", "csv"}, &reality).err.empty());
  CHECK(f.Run("usable_memory: 5 MB\nlink: 1 GB/s\n", {"--format", "csv"}, &reality).err.empty());
  reality.free = 1000 * kGB;
  CHECK(f.Run("link: 1 GB/s\n", {"--format", "csv"}, &reality).err.empty());
  reality.free = 0;
  CHECK(f.Run("link: 1 GB/s\n", {}, &reality).status == kExitNothingFits);
}

TEST_CASE("below the working set nothing is run, status 3") {
  const ValidateFolder f;
  Reality reality;
  const Outcome outcome = f.Run("memory: [5 MB, 500 kB]\nlink: 1 GB/s\n", {"--out", f.folder().Path("out")}, &reality);
  CHECK(outcome.status == kExitNothingFits);
  CHECK(reality.rates.empty());
  CHECK(outcome.out.empty());
  CHECK_THAT(outcome.err,
             Catch::StartsWith("no strategy fits cifar-resnet20 at batch 2 on unit+link=1GB/s with 500 kB: op "));
  CHECK_THAT(outcome.err, Catch::Contains("swapping every map would do with "));
  CHECK_FALSE(std::filesystem::exists(f.folder().Path("out/validation.csv")));
}

TEST_CASE("a place that is expected not to run is a case without a plan, and the others are measured") {
  const ValidateFolder f;
  Reality reality;
  const std::string expect = "expect:\n  - {memory: 500 kB, feasible: false, required: true, source: \"a test\"}\n";
  for (const char* limits : {"[500 kB, 5 MB]", "[5 MB, 500 kB]"}) {
    reality.rates.clear();
    const Outcome outcome = f.Run("memory: " + std::string(limits) + "\nlink: 1 GB/s\n" + expect,
                                  {"--out", f.folder().Path("out"), "--random", "3"}, &reality);
    INFO(outcome.out << outcome.err);
    CHECK(outcome.status == kExitDone);
    CHECK(reality.rates.size() == 2);  // to measure the link, for the one case that runs
    const std::string csv = f.folder().Read("out/validation.csv");
    CHECK(CountOf(csv, ",500000,1000000000,") == 3);   // each strategy, not run
    CHECK(CountOf(csv, ",5000000,1000000000,") == 6);  // and all random plans
    CHECK(CountOf(csv, ",bitwise,") == 5);
    CHECK_FALSE(std::filesystem::exists(f.folder().Path("out/validation.partial")));
  }
}

TEST_CASE("where no place is expected to run, there is nothing to measure and nothing wrong") {
  const ValidateFolder f;
  const Outcome outcome =
      f.Run("memory: 500 kB\nlink: 1 GB/s\nexpect:\n  - {feasible: false, required: true, source: \"a test\"}\n", {});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == kExitDone);
  CHECK(CountOf(outcome.out, "does not run: ") == 3);
}

TEST_CASE("a case without a plan says nothing about memory: where all others lack it, that is the user's to know") {
  const ValidateFolder f;
  Reality reality;
  reality.made = [&] { reality.injections = {{Injection::What::kNoArena, 0}}; };
  CHECK_THROWS_WITH(f.Run("memory: [5 MB, 500 kB]\nlink: 1 GB/s\nexpect:\n"
                          "  - {memory: 500 kB, feasible: false, required: true, source: \"a test\"}\n",
                          {}, &reality),
                    Catch::StartsWith("recompute-all: ") && Catch::EndsWith("(no memory)"));
}

TEST_CASE("a run that computes something else fails, status 1") {
  const ValidateFolder f;
  Reality reality;
  reality.injections = {{Injection::What::kMemoryCorrupted, 300}};
  const Outcome outcome = f.Run(kLimit, {"--out", f.folder().Path("out")}, &reality);
  CHECK(outcome.status == kExitExpectationFailed);
  CHECK_THAT(outcome.err, Catch::Contains("swap-all failed: contents: iteration 1: instruction"));
  CHECK(CountOf(f.folder().Read("out/validation.csv"), "\n") == 4);
}

TEST_CASE("where a device's algorithms round differently, a small difference is a note; a large one fails") {
  const ValidateFolder f;
  const auto run = [&](double drift, double tolerance) {
    Reality reality;
    reality.drift = drift;
    reality.tolerance = tolerance;
    return f.Run(kLimit, {}, &reality);
  };
  const Outcome small = run(0x1p-20, 1e-4);
  CHECK(small.status == kExitDone);
  CHECK(small.err.empty());
  CHECK_THAT(small.out,
             Catch::Contains("differs from in-core training by rounding: the loss by 9.5e-07, allowed are 0.0001"));
  for (const Outcome& failed : {run(0x1p-10, 1e-4), run(0x1p-20, 0)}) {
    CHECK(failed.status == kExitExpectationFailed);
    CHECK_THAT(failed.err, Catch::Contains("does not compute what in-core training computes: the loss differs by"));
  }
}

TEST_CASE("a stated expectation is judged by what was measured") {
  const ValidateFolder f;
  const auto expect = [](const char* value) {
    return std::string(kLimit) + "expect:\n  - {strategy: recompute-all, samples_per_second: " + value +
           ", within: 0.1, source: \"a test\"}\n";
  };
  const Outcome outcome = f.Run(expect("1e6"));
  CHECK(outcome.status == kExitExpectationFailed);
  CHECK_THAT(outcome.err, Catch::Contains("a test"));
}

TEST_CASE("memory that is not there is the user's to know") {
  const ValidateFolder f;
  Reality reality;
  reality.injections = {{Injection::What::kNoArena, 0}};
  CHECK_THROWS_WITH(f.Run(kLimit, {}, &reality), Catch::StartsWith("measuring the link: no arena of"));
}

TEST_CASE("a case that there is no memory for is rows that say so; the others go on, status 1") {
  const ValidateFolder f;
  Reality reality;
  int made = 0;
  reality.made = [&] {  // of the devices to come: the first case's
    reality.injections.clear();
    if (made++ == 0) reality.injections = {{Injection::What::kNoArena, 0}};
  };
  const Outcome outcome = f.Run("memory: [5 MB, 5500 kB]\nlink: 1 GB/s\n", {"--out", f.folder().Path("out")}, &reality);
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == kExitExpectationFailed);
  CHECK(CountOf(outcome.err, " failed: no memory: ") == 2);
  CHECK(CountOf(f.folder().Read("out/validation.csv"), ",bitwise,") == 2);  // at the other limit
  CHECK_FALSE(std::filesystem::exists(f.folder().Path("out/validation.partial")));
}

TEST_CASE("no memory for any case is the user's to know, status 2") {
  const ValidateFolder f;
  Reality reality;
  reality.made = [&] { reality.injections = {{Injection::What::kNoArena, 0}}; };
  CHECK_THROWS_WITH(f.Run(kLimit, {"--out", f.folder().Path("out")}, &reality),
                    Catch::StartsWith("recompute-all: ") && Catch::EndsWith("(no memory)"));
  CHECK_FALSE(std::filesystem::exists(f.folder().Path("out")));
}

TEST_CASE("a device that cannot be had for a case, or for any: rows that say so, status 1") {
  const ValidateFolder f;
  for (const int broken : {1, 2, 3}) {  // which cases: the first, the second, both
    Reality reality;
    int made = 0;
    reality.made = [&] {
      if (made > 0 && (broken & made) != 0) {
        ++made;
        throw UserError("the device does not answer");
      }
      ++made;
    };
    const Outcome outcome = f.Run("memory: [5 MB, 5500 kB]\nlink: 1 GB/s\n", {}, &reality);
    INFO(outcome.out << outcome.err);
    const std::size_t cases = broken == 3 ? 2 : 1;
    CHECK(outcome.status == kExitExpectationFailed);
    CHECK(CountOf(outcome.err, " failed: the device does not answer\n") == 2 * cases);
    CHECK(CountOf(outcome.out, " bitwise") == 2 * (2 - cases));
    CHECK_THAT(outcome.out, Catch::Contains("Order of plans within points"));
  }
}

TEST_CASE("plans that the library refuses are rows that say so; other cases go on, status 1") {
  const ValidateFolder f;
  Reality reality;
  // The link's Programs have no kernels; only recomputation has more than the step has ops.
  const TrainingStep step = BuildTrainingStep(BuildZooNetwork("cifar-resnet20", {.batch = 2}));
  const auto first_beyond = static_cast<std::uint32_t>(step.ops.size());
  reality.injections = {{Injection::What::kKernelRefused, first_beyond}};
  const Outcome outcome = f.Run("memory: [5 MB, 5500 kB]\nlink: 1 GB/s\n", {"--out", f.folder().Path("out")}, &reality);
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == kExitExpectationFailed);
  CHECK(CountOf(outcome.out, "recompute-all  not run: refused: ") == 2);
  CHECK(CountOf(outcome.err, "recompute-all not run: refused: ") == 2);
  CHECK(CountOf(f.folder().Read("out/validation.csv"), ",bitwise,") == 2);  // swap-all at both limits
}

TEST_CASE("plans grant the workspaces that the device wants, once it was asked") {
  const ValidateFolder f;
  Reality reality;
  int asked = 0;
  const auto algorithm = [&](const Launch& launch) {
    ++asked;
    const auto direct = AlgorithmByName(launch.kind, launch.pass, "direct");
    return std::vector<OfferedAlgorithm>{{direct, launch.pass == Pass::kForward ? Bytes{4096} : Bytes{0}}};
  };
  const Outcome outcome = f.Run("memory: 5 MB\nlink: [1 GB/s, 2 GB/s]\n", {}, &reality, algorithm);
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == kExitDone);
  // The profile knows of no workspace. Once for both links: both are of one profile.
  CHECK(asked > 0);
  const std::string all = std::to_string(asked);
  CHECK_THAT(outcome.out, Catch::Contains("note: unit: the device wants a workspace other than modelled for"));
  CHECK_THAT(outcome.out, Catch::Contains(" of " + all + " convolutions, by at most 4.10 kB\n"));
}

TEST_CASE("an op that the device does not compute ends the validation before anything runs") {
  const ValidateFolder f;
  Reality reality;
  const auto nothing = [](const Launch&) { return std::vector<OfferedAlgorithm>{}; };
  CHECK_THROWS_WITH(
      f.Run(kLimit, {}, &reality, nothing),
      Catch::StartsWith(
          "conv1:forward (convolution forward 2x3x32x32 -> 2x16x32x32 window 3x3 pad 1x1): the device offers no"));
  CHECK(reality.rates.empty());
}

TEST_CASE("results that have nowhere to go are refused before the device is asked anything") {
  const ValidateFolder f;
  bool asked = false;
  const auto ask = [&asked](const Launch&) {
    asked = true;
    return std::vector<OfferedAlgorithm>{{1, 0}};
  };
  CHECK_THROWS_WITH(f.Run(kLimit, {"--out", f.folder().Write("file", "")}, nullptr, ask),
                    Catch::StartsWith("cannot write '"));
  CHECK_FALSE(asked);
}

TEST_CASE("pools cannot be validated, nor profiles of other devices") {
  const ValidateFolder f;
  CHECK_THROWS_WITH(f.Run("memory: 5 MB\nruntime: pooch\n"), Catch::Contains("only arenas can be validated"));
  const auto refused = [&f](const std::string& field, const std::string& what) {
    CHECK_THROWS_WITH(f.Run("memory: 5 MB\noptions: torch\nruntime: {name: pauses, from: arena, " + field + "}\n"),
                      Catch::Contains("no device carries out " + what));
  };
  refused("collection_time: 8 ms", "the pauses of its runtime's collection_time");
  refused("framework_time: 5 us", "the pauses of its runtime's framework_time");
  refused("framework: of-options", "the pauses of its runtime's framework_time");
  refused("host_percent: 40", "the compression of its runtime's host_percent");
  refused("blocking_copies: swap_outs", "the waits of its runtime's blocking_copies");
  CHECK_THROWS_WITH(f.Run(kLimit, {"--machine", "unit"}),
                    Catch::StartsWith("unit+link=1GB/s: not a profile of this machine") &&
                        Catch::Contains("\n  spillway calibrate --device cpu -o hw/mine.yaml\n"));
}

TEST_CASE("mistakes on the command line") {
  CHECK(Spillway({"validate"}).status == kExitWrongInput);
  const Outcome device = Spillway({"validate", "x.yaml", "--device", "cud:0"});
  CHECK(device.status == kExitWrongInput);
  CHECK_THAT(device.err, Catch::StartsWith("--device: unknown device 'cud:0'; did you mean 'cuda'?"));
  const Outcome gpu = Spillway({"validate", "x.yaml", "--device", "cuda:1000"});  // no machine has so many
  CHECK(gpu.status == kExitWrongInput);
  CHECK_THAT(gpu.err, Catch::Contains("CUDA"));
  CHECK(Spillway({"validate", "x.yaml", "--steps", "0"}).status == kExitWrongInput);
  CHECK(Spillway({"validate", "x.yaml", "--random", "-1"}).status == kExitWrongInput);
}

}  // namespace
}  // namespace spillway

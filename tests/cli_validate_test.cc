// spillway validate as a user meets it, on a device in virtual time: what is printed, written and returned.
#include <catch2/catch.hpp>
#include <set>
#include <utility>

#include "hw/measured_op_text.h"
#include "model/kernel_form.h"
#include "model/launch_text.h"
#include "scenarios/validate.h"
#include "tests/command_line.h"
#include "tests/paced_target.h"
#include "tests/scripted_device.h"
#include "tests/temporary_folder.h"

namespace spillway {
namespace {

// Kernels at a flop and copies at a byte per nanosecond, times what the scenario's devices take longer.
struct Reality {
  double kernels = 1, copies = 1;
  Nanos latency = 100;
  std::vector<Injection> injections{};
  std::vector<double> rates{};  // of the devices made
  double drift = 0;             // what the loss, 1 in-core, is more with any plan
  double tolerance = 0;         // of numerics
  bool bench = false;           // the device can be timed again
  int benches = 1000;           // so often; then it is lost
  bool refuses = false;         // to time any launch again
};

ScriptedDevice::Times TimesOf(const Reality& reality, double rate, const CostModel& costs) {
  return [&reality, rate, &costs](const Program& program) {
    std::vector<Nanos> times = Durations(program, costs);
    for (std::size_t i = 0; i < times.size(); ++i) {
      const Instruction& in = program.code[i];
      double time = reality.kernels * static_cast<double>(times[i]);
      if (in.opcode == Opcode::kCopy) {
        time = reality.copies * static_cast<double>(program.copies[in.arg].bytes) / rate + 100;
      }
      times[i] = in.opcode == Opcode::kKernel || in.opcode == Opcode::kCopy ? static_cast<Nanos>(time) : 0;
    }
    return times;
  };
}

class Folder {
 public:
  enum class Profile { kModels, kMeasured };
  explicit Folder(Profile profile = Profile::kModels) : folder_("validate") {
    // The unit machine as a processor.
    Machine unit = LoadMachine("unit");
    if (profile == Profile::kMeasured) AddMeasured(unit);
    std::string text = MachineToYaml(unit);
    for (auto at = text.find("gpu0"); at != std::string::npos; at = text.find("gpu0")) text.replace(at, 4, "cpu0");
    folder_.Write("cpu.yaml", text);
    machine_ = LoadMachine(folder_.Path("cpu.yaml"));
  }
  std::string Scenario(const std::string& more) const {
    return folder_.Write("s.yaml",
                         "name: small\nnetwork: {zoo: cifar-resnet20, batch: 2}\nmachines: cpu.yaml\n"
                         "strategies: [in-core, swap-all, recompute-all]\n" +
                             more);
  }
  Outcome Run(const std::string& more, const std::vector<std::string>& words = {}, Reality* reality = nullptr,
              const AskDevice& ask = {}) const {
    Reality usual;
    if (reality == nullptr) reality = &usual;
    const CostModel costs(machine_);
    std::vector<std::unique_ptr<ScriptedDevice>> clocks;
    ValidateHost host;
    host.numerics_tolerance = reality->tolerance;
    if (ask) host.algorithms = [&ask](const Machine&) { return ask; };
    if (reality->bench) {
      host.bench = [reality](const Machine& profile) {
        if (--reality->benches < 0) throw UserError("the device is lost");
        return PaceBench{std::make_unique<PacedTarget>(
            profile, [reality](const Launch&) { return reality->refuses ? 0 : reality->kernels; })};
      };
    }
    host.make = [&](const Network&, const Machine&, const DeviceTerms& terms) {
      const double rate = terms.link_rate;
      reality->rates.push_back(rate);
      FakeOptions options;
      options.injections = reality->injections;
      auto device = std::make_unique<ScriptedDevice>(TimesOf(*reality, rate, costs), options);
      OpenDevice open;
      open.clock = device.get();
      open.losses = [reality, loss = 1.0]() mutable { return std::vector{std::exchange(loss, 1 + reality->drift)}; };
      open.device = std::move(device);
      return open;
    };
    std::vector<std::string> line = {"validate", Scenario(more), "--steps", "5"};
    line.insert(line.end(), words.begin(), words.end());
    const Arguments arguments = ParseArguments(line);
    REQUIRE(arguments.command.has_value());
    std::ostringstream out, err;
    Console console{out, err};
    const int status = ValidateWith(host, *arguments.command, console);
    return {status, out.str(), err.str()};
  }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  // The network's launches, timed at what the unit machine's law says.
  static void AddMeasured(Machine& machine) {
    const CostModel costs(machine);
    std::set<std::string> known;
    std::vector<MeasuredOp> measured;
    for (const Op& op : BuildTrainingStep(BuildZooNetwork("cifar-resnet20", {.batch = 2})).ops) {
      Launch launch = LaunchOf(op);
      if (op.kind == OpKind::kConvolution) launch.algorithm = AlgorithmByName(op.kind, op.pass, "direct");
      measured.push_back(MeasuredOpOf(launch));
      measured.back().time = std::max<Nanos>(1, costs.Kernel(LaunchOf(op)).time);
      if (!known.insert(MeasuredKey(measured.back())).second) measured.pop_back();
    }
    machine.devices[0].measured = std::move(measured);
    machine.devices[0].measured_source = {Source::Kind::kMeasured, "a test"};
  }

  TemporaryFolder folder_;
  Machine machine_;
};

constexpr const char* kLimit = "memory: 5 MB\nlink: 1 GB/s\n";

std::size_t CountOf(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST_CASE("a device that is as predicted: nothing differs, status 0") {
  const Folder f;
  Reality reality;
  const Outcome outcome = f.Run(kLimit, {"--out", f.folder().Path("out")}, &reality);
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == kExitDone);
  CHECK(outcome.err.empty());
  CHECK(reality.rates == std::vector<double>{1, 1});  // to measure the link, for the case
  CHECK_THAT(outcome.out,
             Catch::Contains("small: cifar-resnet20 at batch 2 on unit+link=1GB/s, 5.00 MB of device memory, "
                             "link 1 GB/s (measured: in 1.00 out 1.00 GB/s, duplex 1.00)"));
  CHECK_THAT(outcome.out, Catch::Contains("in-core        does not run: out_of_memory"));
  CHECK_THAT(outcome.out, Catch::Contains("within its noise at 1 of 1 points"));
  const std::string csv = f.folder().Read("out/validation.csv");
  CHECK(CountOf(csv, "\n") == 4);
  CHECK(CountOf(csv, ",bitwise,") == 2);
  CHECK(CountOf(csv, ",0.000000,0.000000,") >= 2);  // error and replay_error
  CHECK(CountOf(f.folder().Read("out/falsification.csv"), "\n") == 1 + 2 * 8);
}

TEST_CASE("random plans are drawn per network and shared out among its cases") {
  const Folder f;
  const Outcome outcome = f.Run("memory: [5 MB, 5500 kB]\nlink: 1 GB/s\n", {"--random", "7", "--format", "csv"});
  INFO(outcome.err);
  CHECK(outcome.status == kExitDone);
  CHECK(CountOf(outcome.out, ",random,") == 7);
  CHECK(CountOf(outcome.out, ",5000000,1000000000,random ") == 3);
  CHECK(CountOf(outcome.out, ",5500000,1000000000,random ") == 4);
  CHECK(CountOf(outcome.out, ",bitwise,") == 4 + 7);
}

TEST_CASE("a device that is slower than when it was calibrated: predictions are for the pace of now") {
  const Folder f(Folder::Profile::kMeasured);
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

TEST_CASE("a device that is lost when all is measured takes nothing of it along") {
  const Folder f(Folder::Profile::kMeasured);
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
  const Folder f(Folder::Profile::kMeasured);
  Reality reality;
  reality.bench = true;
  reality.refuses = true;
  const Outcome outcome = f.Run(kLimit, {}, &reality);
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == kExitDone);
  CHECK_THAT(outcome.out, !Catch::Contains("kernels now") && !Catch::Contains("\nas calibrated"));
}

TEST_CASE("every link rate is measured, and predicted with") {
  const Folder f;
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
  const Folder f;
  Reality reality;
  CHECK(f.Run("memory: 5 MB\n", {}, &reality).status == kExitDone);
  CHECK(reality.rates == std::vector<double>{1, 1});
}

TEST_CASE("below the working set nothing is run, status 3") {
  const Folder f;
  Reality reality;
  const Outcome outcome = f.Run("memory: [5 MB, 500 kB]\nlink: 1 GB/s\n", {"--out", f.folder().Path("out")}, &reality);
  CHECK(outcome.status == kExitNothingFits);
  CHECK(reality.rates.empty());
  CHECK(outcome.out.empty());
  CHECK_THAT(outcome.err,
             Catch::StartsWith("no strategy fits cifar-resnet20 at batch 2 on unit+link=1GB/s with 500 kB: op "));
  CHECK_THAT(outcome.err, Catch::Contains("the smallest limit that would do is "));
  CHECK_FALSE(std::filesystem::exists(f.folder().Path("out/validation.csv")));
}

TEST_CASE("a run that computes something else fails, status 1") {
  const Folder f;
  Reality reality;
  reality.injections = {{Injection::What::kMemoryCorrupted, 300}};
  const Outcome outcome = f.Run(kLimit, {"--out", f.folder().Path("out")}, &reality);
  CHECK(outcome.status == kExitExpectationFailed);
  CHECK_THAT(outcome.err, Catch::Contains("swap-all failed: contents: iteration 1: instruction"));
  CHECK(CountOf(f.folder().Read("out/validation.csv"), "\n") == 4);
}

TEST_CASE("where a device's algorithms round differently, a small difference is a note; a large one fails") {
  const Folder f;
  const auto run = [&](double drift, double tolerance) {
    Reality reality;
    reality.drift = drift;
    reality.tolerance = tolerance;
    return f.Run(kLimit, {}, &reality);
  };
  const Outcome small = run(0x1p-20, 1e-4);
  CHECK(small.status == kExitDone);
  CHECK(small.err.empty());
  CHECK_THAT(small.out, Catch::Contains("not in-core training's bits: the loss differs by 9.5e-07, 0.0001 allowed"));
  for (const Outcome& failed : {run(0x1p-10, 1e-4), run(0x1p-20, 0)}) {
    CHECK(failed.status == kExitExpectationFailed);
    CHECK_THAT(failed.err, Catch::Contains("computes something else than in-core training: the loss differs by"));
  }
}

TEST_CASE("a stated expectation is judged by what was measured") {
  const Folder f;
  const auto expect = [](const char* value) {
    return std::string(kLimit) + "expect:\n  - {strategy: recompute-all, samples_per_second: " + value +
           ", within: 0.1, source: \"a test\"}\n";
  };
  const Outcome outcome = f.Run(expect("1e6"));
  CHECK(outcome.status == kExitExpectationFailed);
  CHECK_THAT(outcome.err, Catch::Contains("a test"));
}

TEST_CASE("memory that is not there is the user's to know") {
  const Folder f;
  Reality reality;
  reality.injections = {{Injection::What::kNoArena, 0}};
  CHECK_THROWS_WITH(f.Run(kLimit, {}, &reality), Catch::StartsWith("measuring the link: no arena of"));
}

TEST_CASE("plans that the library refuses are rows that say so; other cases go on, status 1") {
  const Folder f;
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
  const Folder f;
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
  CHECK_THAT(outcome.out, Catch::Contains("note: unit: the device wants another workspace than modelled for"));
  CHECK_THAT(outcome.out, Catch::Contains(" of " + all + " convolutions, by at most 4.10 kB\n"));
}

TEST_CASE("an op that the device does not compute ends the validation before anything runs") {
  const Folder f;
  Reality reality;
  const auto nothing = [](const Launch&) { return std::vector<OfferedAlgorithm>{}; };
  CHECK_THROWS_WITH(
      f.Run(kLimit, {}, &reality, nothing),
      Catch::StartsWith(
          "conv1:forward (convolution forward 2x3x32x32 -> 2x16x32x32 window 3x3 pad 1x1): the device offers no"));
  CHECK(reality.rates.empty());
}

TEST_CASE("pools cannot be validated, nor profiles of other devices") {
  const Folder f;
  CHECK_THROWS_WITH(f.Run("memory: 5 MB\nruntime: pooch\n"), Catch::Contains("only arenas can be validated"));
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

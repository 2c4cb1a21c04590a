// spillway calibrate and validate on a CUDA device, over a stand-in whose times are known: the profile says what was put
// in, and what it predicts is what comes out.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "calibrate/bench/journal.h"
#include "calibrate/sample/file.h"
#include "scenarios/cuda_devices.h"
#include "tests/command_line.h"
#include "tests/cuda_stand_in.h"
#include "tests/temporary_folder.h"

namespace spillway {
namespace {

// 2 operations and 0.4 bytes per nanosecond behind 150 us, slow enough that a timing is of one run; the link moves 0.1
// bytes per nanosecond.
StandInOptions Usual() {
  StandInOptions options;
  options.kernel_time = [](const OpCall& call) {
    const Work work = CountWork(call.launch);
    return std::round(150'000 + work.flops / 2 + work.bytes / 0.4);
  };
  options.copy_latency = 3000;
  options.copy_rate = {0.1, 0.1};
  options.device_rate = 500;
  options.spin_gap = 500;
  options.call_cost = 500;
  options.poll_cost = 20'000;
  options.memory = 2 * kGiB;
  options.pinned = 2 * kGiB;
  options.context_bytes = 64 * kMiB;
  options.properties.name = "made-up GPU";
  options.properties.driver = "1.2";
  options.properties.runtime = "13.0";
  options.properties.cudnn = "9.9";
  options.properties.l2_cache = kMiB;
  options.properties.multiprocessors = 10;
  options.properties.total_memory = 2 * kGiB;
  return options;
}

// Four convolutions of 16 channels: maps of 64 KiB at batch 4, 256 KiB at 16.
constexpr const char* kTiny =
    "name: tiny\n"
    "input: {channels: 3, image: 16}\n"
    "layers:\n"
    "  - {name: conv1, kind: convolution, out: 16, window: 3, pad: 1, bias: true}\n"
    "  - {name: relu1, kind: relu}\n"
    "  - {name: conv2, kind: convolution, out: 16, window: 3, pad: 1, bias: true}\n"
    "  - {name: relu2, kind: relu}\n"
    "  - {name: conv3, kind: convolution, out: 16, window: 3, pad: 1, bias: true}\n"
    "  - {name: relu3, kind: relu}\n"
    "  - {name: conv4, kind: convolution, out: 16, window: 3, pad: 1, bias: true}\n"
    "  - {name: relu4, kind: relu}\n"
    "  - {name: fc, kind: linear, out: 10}\n"
    "  - {name: loss, kind: softmax_loss}\n";

class Gpu {
 public:
  explicit Gpu(StandInOptions options = Usual()) : cuda_(std::make_shared<CudaStandIn>(std::move(options))) {}

  static CudaBenchOptions Quickly() {
    CudaBenchOptions options;
    options.version = "test";
    options.warm_up = 0;
    options.host_repetitions = 10;
    options.wander = options.beside = kMiB;
    return options;
  }
  Outcome Calibrate(const std::vector<std::string>& words) {
    const auto open = [&](const CalibrateRequest& request, const Clock& clock) {
      CudaBenchOptions options = Quickly();
      options.protocol = request.protocol;
      return CalibrateCudaBy(cuda_, options, request, clock);
    };
    return Carry("calibrate", words, [&](const Command& command, Console& console) {
      return CalibrateWith(open, command, *cuda_, console);
    });
  }
  Outcome Validate(const std::vector<std::string>& words) {
    return Carry("validate", words, [&](const Command& command, Console& console) {
      return ValidateWith(ValidateOnCudaBy(cuda_, Quickly(), command.seed, *cuda_), command, console);
    });
  }
  CudaStandIn& cuda() { return *cuda_; }
  void CheckClean() const {
    CHECK(cuda_->leaks().empty());
    CHECK(cuda_->violations() == std::vector<std::string>{});
  }

 private:
  template <typename Verb>
  static Outcome Carry(const char* name, std::vector<std::string> words, const Verb& verb) {
    words.insert(words.begin(), {name});
    words.insert(words.end(), {"--device", "cuda:0"});
    const Arguments arguments = ParseArguments(words);
    INFO(arguments.text);
    REQUIRE(arguments.command.has_value());
    std::ostringstream out, err;
    Console console{out, err};
    int status = kExitWrongInput;
    try {
      status = verb(*arguments.command, console);
    } catch (const UserError& error) {
      err << error.what();
    }
    return {status, out.str(), err.str()};
  }
  std::shared_ptr<CudaStandIn> cuda_;
};

class Folder {
 public:
  Folder() : folder_("cuda"), network_(folder_.Write("tiny.yaml", kTiny) + ":4") {}
  std::vector<std::string> Tiny(const std::vector<std::string>& more) const { return Words(network_, more); }
  std::vector<std::string> Words(const std::string& network, const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"-o",        Profile(), "--networks", network,
                                      "--no-grid", "--quick", "--budget",   "1000000s"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::string Profile() const { return folder_.Path("gpu.yaml"); }
  std::string Journal() const { return folder_.Read("gpu.samples.csv"); }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
  std::string network_;
};

#ifdef SPILLWAY_HAS_CPU_DEVICE
// Rows of a CSV by the names of its columns.
std::vector<std::map<std::string, std::string>> RowsOf(const std::string& csv) {
  std::vector<std::vector<std::string>> lines;
  std::istringstream text(csv);
  for (std::string line; std::getline(text, line);) {
    lines.push_back({""});
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') {
        quoted = !quoted;
      } else if (c == ',' && !quoted) {
        lines.back().emplace_back();
      } else {
        lines.back().back() += c;
      }
    }
  }
  std::vector<std::map<std::string, std::string>> rows;
  for (std::size_t k = 1; k < lines.size(); ++k) {
    rows.emplace_back();
    for (std::size_t c = 0; c < lines[0].size() && c < lines[k].size(); ++c) rows.back()[lines[0][c]] = lines[k][c];
  }
  return rows;
}
#endif

}  // namespace

TEST_CASE("a GPU is calibrated: profile and journal, and a second time nothing is left to do") {
  const Folder f;
  StandInOptions options = Usual();
  options.compute = false;  // what the processor computes for it has no TF32
  Gpu gpu(options);
  const Outcome outcome = gpu.Calibrate(f.Tiny({}));
  INFO(outcome.err);
  REQUIRE(outcome.status == kExitDone);
  const Machine machine = LoadMachine(f.Profile());
  CHECK(machine.name == "gpu");
  const Device& device = machine.devices[0];
  CHECK(device.name == "cuda0");
  CHECK(device.total_memory == 2 * kGiB);
  CHECK(device.reserve == 64 * kMiB);
  CHECK(machine.links[0].curves[0].Rate() == Approx(0.1).epsilon(0.02));
  CHECK_THAT(device.measured_source.text, Catch::Contains("made-up GPU") && Catch::Contains("driver 1.2") &&
                                              Catch::Contains("CUDA 13.0") && Catch::Contains("cuDNN 9.9"));
  bool tf32 = false;
  for (const MeasuredOp& op : device.measured) tf32 = tf32 || op.math == "tf32";
  CHECK(tf32);
  const std::string journal = f.Journal();
  for (const Sample& sample : ParseRows(journal, "gpu.samples.csv").samples) CHECK(sample.cudnn == "9.9");

  CHECK(gpu.Calibrate(f.Tiny({})).status == kExitWrongInput);  // there is a journal
  const Outcome again = gpu.Calibrate(f.Tiny({"--resume"}));
  CHECK(again.status == kExitDone);
  CHECK_THAT(again.err, Catch::Contains(": 0 samples measured"));
  CHECK(f.Journal() == journal);
  // Other libraries are another journal's.
  StandInOptions newer = options;
  newer.properties.cudnn = "9.10";
  Gpu other(newer);
  const Outcome refused = other.Calibrate(f.Tiny({"--resume"}));
  CHECK(refused.status == kExitWrongInput);
  CHECK_THAT(refused.err, Catch::Contains("the journal is of cuDNN '9.9', this run of '9.10'"));
  gpu.CheckClean();
}

TEST_CASE("a GPU that is lost in the middle leaves journal and profile, and the rest is measured later") {
  const Folder f;
  StandInOptions options = Usual();
  options.fault = {StandInFault::What::kLost, 20'000};
  Gpu broken(options);
  const Outcome outcome = broken.Calibrate(f.Tiny({}));
  INFO(outcome.err);
  CHECK(outcome.status == kExitWrongInput);
  CHECK_FALSE(outcome.err.empty());
  CHECK(broken.cuda().leaks().empty());
  CHECK_NOTHROW(LoadMachine(f.Profile()));
  const std::size_t rows = ParseRows(f.Journal(), "x").samples.size();
  CHECK(rows > 10);
  Gpu gpu;
  const Outcome rest = gpu.Calibrate(f.Tiny({"--resume"}));
  CHECK(rest.status == kExitDone);
  CHECK(ParseRows(f.Journal(), "x").samples.size() > rows);
}

#ifdef SPILLWAY_HAS_CPU_DEVICE
namespace {

std::string ScenarioIn(const Folder& f, const std::string& more) {
  return f.folder().Write("s.yaml",
                          "name: real\nnetwork: {file: tiny.yaml, batch: 16}\nmachines: gpu.yaml\nmemory: 2450 kB\n"
                          "strategies: [in-core, swap-all, recompute-all]\n" +
                              more);
}

}  // namespace

TEST_CASE("what is calibrated predicts what is validated, as is and with another machine's balance") {
  const Folder f;
  Gpu gpu;
  REQUIRE(gpu.Calibrate(f.Words(f.folder().Path("tiny.yaml") + ":16", {"--protocol", "warm"})).status == kExitDone);
  const std::string scenario = ScenarioIn(f, "emulate: [as-is, {compute_slowdown: 4, link_rate: 25 MB/s}]\n");
  const Outcome outcome = gpu.Validate({scenario, "--steps", "5", "--format", "csv", "--out", f.folder().Path("out")});
  INFO(outcome.out << outcome.err);
  REQUIRE(outcome.status == kExitDone);
  int measured = 0;
  for (const auto& row : RowsOf(outcome.out)) {
    INFO(row.at("strategy") << " on " << row.at("machine") << ": predicted " << row.at("predicted_s") << " measured "
                            << row.at("measured_s"));
    if (row.at("measured_s").empty()) continue;
    ++measured;
    CHECK(row.at("numerics") == "bitwise");
    CHECK(std::abs(std::stod(row.at("error"))) < 0.05);
    CHECK(std::stod(row.at("measured_device_bytes")) <= std::stod(row.at("predicted_device_bytes")) * 1.02);
    CHECK(row.at("products_pace") == "1.0000");
    CHECK(row.at("others_pace") == "1.0000");
  }
  CHECK(measured == 4);
  gpu.CheckClean();
}

TEST_CASE("a GPU that is slower than when it was calibrated, by an emulated balance too") {
  const Folder f;
  Gpu then;
  REQUIRE(then.Calibrate(f.Words(f.folder().Path("tiny.yaml") + ":16", {"--protocol", "warm"})).status == kExitDone);
  StandInOptions options = Usual();
  options.kernel_time = [usual = options.kernel_time](const OpCall& call) { return 1.5 * usual(call); };
  Gpu now(options);
  const std::string scenario = ScenarioIn(f, "emulate: [as-is, {compute_slowdown: 4}]\n");
  const Outcome outcome = now.Validate({scenario, "--steps", "5", "--strategies", "recompute-all", "--format", "csv"});
  INFO(outcome.out << outcome.err);
  REQUIRE(outcome.status == kExitDone);
  int measured = 0;
  for (const auto& row : RowsOf(outcome.out)) {
    if (row.at("measured_s").empty()) continue;
    ++measured;
    CHECK(std::stod(row.at("products_pace")) == Approx(1.5).epsilon(0.002));
    CHECK(std::stod(row.at("others_pace")) == Approx(1.5).epsilon(0.002));
    CHECK(std::abs(std::stod(row.at("error"))) < 0.05);
    CHECK(std::stod(row.at("as_calibrated_s")) < 0.75 * std::stod(row.at("measured_s")));
  }
  CHECK(measured == 2);
  now.CheckClean();
}

TEST_CASE("a profile of another GPU is refused") {
  const Folder f;
  Gpu gpu;
  REQUIRE(gpu.Calibrate(f.Words(f.folder().Path("tiny.yaml") + ":16", {"--no-grid"})).status == kExitDone);
  Machine other = LoadMachine(f.Profile());
  other.devices[0].multiprocessors *= 2;
  f.folder().Write("gpu.yaml", MachineToYaml(other));
  const Outcome outcome = gpu.Validate({ScenarioIn(f, "")});
  CHECK(outcome.status == kExitWrongInput);
  CHECK_THAT(outcome.err, Catch::Contains("gpu: a profile of another GPU"));
}

TEST_CASE("without a profile of this machine's GPU the command to make one is named") {
  const Folder f;
  Gpu gpu;
  const std::string scenario = f.folder().Write(
      "s.yaml", "name: real\nnetwork: {zoo: cifar-resnet20, batch: 2}\nmachines: unit\nstrategies: swap-all\n");
  const Outcome outcome = gpu.Validate({scenario});
  CHECK(outcome.status == kExitWrongInput);
  CHECK_THAT(outcome.err, Catch::Contains("spillway calibrate --device cuda:0 -o hw/gpu.yaml"));
}
#endif

TEST_CASE("plans are offered algorithms that always come to the same numbers, where there are such") {
  const auto offered = [](std::set<std::int32_t> varying) {
    StandInOptions options = Usual();
    options.compute = false;  // algorithms 1 and 2
    options.varying = std::move(varying);
    const auto cuda = std::make_shared<CudaStandIn>(options);
    Launch launch;
    launch.kind = OpKind::kConvolution;
    std::vector<std::int32_t> algorithms;
    const ValidateHost host = ValidateOnCudaBy(cuda, {}, 1, *cuda);
    for (const OfferedAlgorithm& offer : host.algorithms(Machine())(launch)) algorithms.push_back(offer.algorithm);
    return algorithms;
  };
  CHECK(offered({}) == std::vector<std::int32_t>{1, 2});
  CHECK(offered({1}) == std::vector<std::int32_t>{2});
  CHECK(offered({1, 2}) == std::vector<std::int32_t>{1, 2});
}

TEST_CASE("what a GPU has not is refused before anything is opened") {
  const Folder f;
  const auto says = [&](const std::vector<std::string>& more, const std::string& expected) {
    std::vector<std::string> words = {"calibrate", "--device", "cuda:0", "-o", f.Profile()};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = Spillway(words);
    CHECK(outcome.status == kExitWrongInput);
    CHECK_THAT(outcome.err, Catch::Contains(expected));
    CHECK_FALSE(std::filesystem::exists(f.Profile()));
  };
  says({"--link-rate", "2 GB/s"}, "--link-rate: a GPU's link is measured as it is");
  says({"--threads", "2"}, "--threads: for the CPU device only");
}

}  // namespace spillway

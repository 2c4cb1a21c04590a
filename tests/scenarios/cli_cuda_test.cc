// spillway calibrate and validate on a CUDA device, over a stand-in whose times are known: the profile says what was put
// in, and what it predicts is what comes out.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "calibrate/measure/journal.h"
#include "model/samples/file.h"
#include "tests/cuda/cuda_command_line.h"

namespace spillway {

TEST_CASE("a GPU is calibrated: profile and journal, and a second time nothing is left to do") {
  const GpuFolder f;
  StandInOptions options = SlowGpu();
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

TEST_CASE("on the next machine with such a GPU a calibration goes on, and says what is of which machine") {
  const GpuFolder f;
  StandInOptions options = SlowGpu();
  options.properties.driver = "580.159.03";
  options.fault = {StandInFault::What::kLost, 20'000};
  CHECK(Gpu(options).Calibrate(f.Tiny({})).status == kExitWrongInput);
  const std::size_t before = ParseRows(f.Journal(), "x").samples.size();
  REQUIRE(before > 0);
  options.fault = {};
  options.properties.driver = "580.159.04";
  Gpu next(options);
  const Outcome rest = next.Calibrate(f.Tiny({"--resume"}));
  INFO(rest.err);
  CHECK(rest.status == kExitDone);
  const std::string warned =
      fmt::format("warning: {}: {} rows of another machine (set-up 'spillway test, driver 580.159.03",
                  f.folder().Path("gpu.samples.csv"), before);
  CHECK_THAT(rest.err, Catch::Contains(warned) && Catch::Contains("kept and not measured again"));
  const std::string journal = f.Journal();
  const std::vector<Sample> rows = ParseRows(journal, "x").samples;
  CHECK(rows.size() > before);
  std::set<std::pair<std::string, int>> keys;
  for (const Sample& row : rows) keys.emplace(BenchKey(row), RoundOf(row));
  CHECK(keys.size() == rows.size());
  CHECK_THAT(rows.front().driver, Catch::Contains("580.159.03"));
  CHECK_THAT(rows.back().driver, Catch::Contains("580.159.04"));
  const std::vector<std::string> notes = LoadMachine(f.Profile()).notes;
  const auto of_machine = [](const std::string& note) { return note.find("were measured on the host") != note.npos; };
  CHECK(std::count_if(notes.begin(), notes.end(), of_machine) == 2);
  // Nothing is left to do, on either machine.
  const Outcome again = next.Calibrate(f.Tiny({"--resume"}));
  CHECK_THAT(again.err, Catch::Contains(": 0 samples measured") && Catch::Contains(warned));
  CHECK(f.Journal() == journal);
  options.properties.driver = "590.1";
  const Outcome refused = Gpu(options).Calibrate(f.Tiny({"--resume"}));
  CHECK(refused.status == kExitWrongInput);
  CHECK_THAT(refused.err, Catch::Contains("the journal is of set-up") && Catch::Contains("driver 590.1"));
}

TEST_CASE("what may be pinned goes from the command line into the profile") {
  const GpuFolder f;
  Gpu gpu;
  const Outcome outcome = gpu.Calibrate(f.Tiny({"--pinned-limit", "3 MiB"}));
  CHECK(outcome.status == kExitDone);
  CHECK_THAT(outcome.err, Catch::Contains("profile written; 3.15 MB of the host's "));
  CHECK(LoadMachine(f.Profile()).hosts.at(0).pinned_limit == 3 * kMiB);
}

TEST_CASE("a GPU that is lost in the middle leaves journal and profile, and the rest is measured later") {
  const GpuFolder f;
  StandInOptions options = SlowGpu();
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
TEST_CASE("what is calibrated predicts what is validated, as is and with another machine's balance") {
  const GpuFolder f;
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
    // In-core training runs here in what is left of the grants: by other algorithms, whose sums differ in rounding.
    const bool cut = row.at("strategy") == "in-core";
    CHECK((row.at("numerics") == "bitwise" || (cut && std::stod(row.at("numerics")) < 1e-4)));
    CHECK(std::abs(std::stod(row.at("error"))) < 0.05);
    CHECK(std::stod(row.at("measured_device_bytes")) <= std::stod(row.at("predicted_device_bytes")) * 1.02);
    CHECK(row.at("products_pace") == "1.0000");
    CHECK(row.at("others_pace") == "1.0000");
    CHECK(row.at("clock_mhz") == "1000");
    CHECK(row.at("lowest_clock_mhz") == "1000");
  }
  CHECK(measured == 6);
  gpu.CheckClean();
}

TEST_CASE("steps at a lower clock than the others are told, with how low it was") {
  const GpuFolder f;
  Gpu gpu;
  REQUIRE(gpu.Calibrate(f.Words(f.folder().Path("tiny.yaml") + ":16", {"--protocol", "warm"})).status == kExitDone);
  StandInOptions options = SlowGpu();
  options.clock_ghz = [marks = 0](double) mutable { return ++marks % 7 == 0 ? 0.8 : 1.0; };
  const Outcome outcome = Gpu(options).Validate({ScenarioIn(f, ""), "--steps", "5"});
  CHECK_THAT(outcome.out, Catch::Contains("the device's clock fell below 97 % of the usual 1000 MHz in") &&
                              Catch::Contains("steps, to 800"));
}

TEST_CASE("a GPU that is lost in the second case: the first one stands, rows say why the others failed") {
  const GpuFolder f;
  Gpu then;
  REQUIRE(then.Calibrate(f.Words(f.folder().Path("tiny.yaml") + ":16", {"--protocol", "warm"})).status == kExitDone);
  const std::string scenario = ScenarioIn(f, "emulate: [as-is, {compute_slowdown: 4}, {compute_slowdown: 5}]\n");
  const std::vector<std::string> words = {scenario, "--steps", "5", "--format", "csv", "--out", f.folder().Path("out")};
  Gpu whole;
  REQUIRE(whole.Validate(words).status == kExitDone);
  StandInOptions options = SlowGpu();
  options.fault = {StandInFault::What::kLost, whole.cuda().count(StandInFault::What::kLost) / 2};
  Gpu gpu(options);
  const Outcome outcome = gpu.Validate(words);
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == kExitExpectationFailed);
  const auto rows = RowsOf(outcome.out);
  REQUIRE(rows.size() == 3 * 3);
  for (const std::size_t k : {1, 2}) CHECK_FALSE(rows[k].at("measured_s").empty());
  for (const std::size_t k : {7, 8}) {
    CHECK(rows[k].at("measured_s").empty());
    CHECK_THAT(rows[k].at("reason"), Catch::Contains("the device is lost"));
  }
  CHECK(f.folder().Read("out/validation.csv") == outcome.out);
  CHECK_FALSE(std::filesystem::exists(f.folder().Path("out/validation.partial")));
  CHECK(gpu.cuda().leaks().empty());
}

TEST_CASE("a profile of another GPU is refused") {
  const GpuFolder f;
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
  const GpuFolder f;
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
    StandInOptions options = SlowGpu();
    options.compute = false;  // algorithms 1 and 2
    options.varying = std::move(varying);
    const auto cuda = std::make_shared<CudaStandIn>(options);
    Launch launch;
    launch.kind = OpKind::kConvolution;
    std::vector<std::int32_t> algorithms;
    CudaBackend backend({}, *cuda, cuda);
    for (const OfferedAlgorithm& offer : backend.Offers(Machine())(launch)) algorithms.push_back(offer.algorithm);
    return algorithms;
  };
  CHECK(offered({}) == std::vector<std::int32_t>{1, 2});
  CHECK(offered({1}) == std::vector<std::int32_t>{2});
  CHECK(offered({1, 2}) == std::vector<std::int32_t>{1, 2});
}

TEST_CASE("groups that are named are measured alone, and one that does not exist is told with the nearest") {
  const GpuFolder f;
  StandInOptions options = SlowGpu();
  options.compute = false;
  Gpu gpu(options);
  const Outcome outcome = gpu.Calibrate(f.Tiny({"--groups", "copies,host"}));
  INFO(outcome.err);
  REQUIRE(outcome.status == kExitDone);
  for (const Sample& sample : ParseRows(f.Journal(), "gpu.samples.csv").samples) {
    CHECK((sample.what == SampleKind::kCopy ? sample.kind == "pinned" : sample.op == "overhead"));
  }
  const Outcome more = gpu.Calibrate(f.Tiny({"--groups", "networks", "--resume"}));
  CHECK(more.status == kExitDone);
  CHECK_FALSE(LoadMachine(f.Profile()).devices[0].measured.empty());
  CHECK_THAT(gpu.Calibrate(f.Tiny({"--groups", "network"})).err,
             Catch::Contains("--groups: there is no group 'network'; did you mean 'networks'?"));
  CHECK_THAT(gpu.Calibrate(f.Tiny({"--groups", "grid"})).err, Catch::Contains("nothing of 'grid' is measured"));
  gpu.CheckClean();
}

TEST_CASE("what a GPU has not is refused before anything is opened") {
  const GpuFolder f;
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

TEST_CASE("without `memory:` a validation has what is free on the GPU, of which the reserve is taken but once") {
  const GpuFolder f;
  REQUIRE(Gpu().Calibrate(f.Tiny({})).status == kExitDone);
  REQUIRE(LoadMachine(f.Profile()).devices[0].reserve == 64 * kMiB);
  const std::string scenario = f.folder().Write(
      "free.yaml", "name: real\nnetwork: {file: tiny.yaml, batch: 16}\nmachines: gpu.yaml\nstrategies: in-core\n");
  for (const Bytes others : {0 * kMiB, 512 * kMiB}) {
    StandInOptions options = SlowGpu();
    options.context_bytes += others;
    Gpu gpu(options);
    const Outcome outcome = gpu.Validate({scenario, "--steps", "5", "--format", "csv"});
    INFO(outcome.err);
    REQUIRE(outcome.status == kExitDone);
    // Beside the arena there is room for a 64th of the memory.
    const Bytes left = 2 * kGiB - 64 * kMiB - others - 32 * kMiB;
    CHECK(RowsOf(outcome.out).back().at("memory_limit_bytes") == std::to_string(left));
    CHECK_THAT(outcome.err, Catch::Contains(FormatBytes(left) + " of its " + FormatBytes(2 * kGiB - 64 * kMiB) +
                                            " are free, and taken; `memory:` states a limit"));
    gpu.CheckClean();
  }
  // A limit that the scenario states asks for nothing.
  Gpu gpu;
  CHECK_THAT(gpu.Validate({ScenarioIn(f, ""), "--steps", "5", "--strategies", "recompute-all"}).err,
             !Catch::Contains("are free"));
}

}  // namespace spillway

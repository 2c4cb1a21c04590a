// What a profile says of launches measured on the very machine.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "model/profile/profile_text.h"
#include "tests/profile_text.h"
#include "tests/temporary_folder.h"
#include "tests/text.h"

namespace spillway {
namespace {

const std::string kMeasured = R"(    measured:
      source: {measured: "two cores"}
      ops:
        - convolution forward 32x16x8x8 -> 32x32x8x8 window 3x3 pad 1x1, algorithm direct, time 1 ms, workspace 64 KiB
        - relu backward 32x16x8x8, time 7 us, error 0.5, copy_slowdown 1.25, accumulate yes
        - relu backward 32x16x8x8, math bf16, precision fp16, layout nhwc, time 8 us
)";

std::string Profile(const std::string& more) {
  return R"(name: mine
description: a test machine
software: none
hosts: [{name: ram, memory: 100 GB, source: {assumed: test}}]
devices:
  - name: cpu0
    figures: {peak: 100 GFLOP/s, memory_bandwidth: 20 GB/s, multiprocessors: 1, source: {published: sheet}}
    memory: {total: 16 GiB, reserve: 0 B, pool_fraction: 1, source: {assumed: test}}
    host_costs: {kernel_launch: 5 us, copy_submit: 4 us, event_record: 1 us, stream_wait: 2 us, pool_alloc: 1 us,
                 pool_free: 1 us, sync: 10 us, source: {assumed: test}}
)" + more +
         R"(links:
  - name: bus
    host: ram
    device: cpu0
    host_to_device: {points: [[1 KiB, 10 us], [1 MB, 110 us]], source: {assumed: h2d}}
    device_to_host: {points: [[1 KiB, 10 us], [1 MB, 110 us]], source: {assumed: d2h}}
    duplex: {factor: 1, source: {assumed: d}}
)";
}

std::string ErrorOf(const std::string& more) {
  try {
    ParseMachine(Profile(more), "mine.yaml");
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("measured launches are read, what is left out has the documented values") {
  const Device device = ParseMachine(Profile(kMeasured), "mine.yaml").devices.at(0);
  CHECK(device.measured_source == Source{Source::Kind::kMeasured, "two cores"});
  REQUIRE(device.measured.size() == 3);
  CHECK(device.measured[0] == MeasuredOp{.op = OpKind::kConvolution,
                                         .pass = Pass::kForward,
                                         .shape = "32x16x8x8 -> 32x32x8x8 window 3x3 pad 1x1",
                                         .algorithm = "direct",
                                         .time = 1'000'000,
                                         .workspace = 65'536});
  CHECK(device.measured[0].error == 0.02);
  CHECK(device.measured[1] == MeasuredOp{.op = OpKind::kRelu,
                                         .pass = Pass::kBackward,
                                         .shape = "32x16x8x8",
                                         .algorithm = "",
                                         .accumulate = true,
                                         .time = 7'000,
                                         .error = 0.5,
                                         .copy_slowdown = 1.25});
  CHECK((device.measured[2].math == "bf16" && device.measured[2].precision == "fp16"));
  CHECK((device.measured[2].layout == "nhwc" && device.measured[2].time == 8'000));
}

TEST_CASE("how and with what launches were measured are keys; older files say it in their source's text") {
  const auto with = [](const std::string& source, const std::string& more) {
    const std::string text =
        Replaced(kMeasured, "{measured: \"two cores\"}\n", "{measured: \"" + source + "\"}\n" + more);
    return ParseMachine(Profile(text), "mine.yaml").devices.at(0).measured_with;
  };
  const std::string gpu = "a GPU, driver 550.54, CUDA 12.4, cuDNN 9.1.0, cuBLAS 12.4, 2026-05-01: ";
  const std::string cold = gpu + "medians of each launch alone, operands cold";
  CHECK(with("two cores", "") == MeasuredWith{});
  CHECK(with(cold, "") == MeasuredWith{OperandState::kCold, "550.54", "12.4", "9.1.0"});
  CHECK(with(gpu + "medians of each launch alone, operands as a training step leaves them", "") ==
        MeasuredWith{OperandState::kStep, "550.54", "12.4", "9.1.0"});
  CHECK(with("a processor, spillway 1, oneDNN 2.6, 2026-05-01: medians of each launch alone, operands warm", "") ==
        MeasuredWith{OperandState::kWarm, "", "", ""});
  // What the keys say counts.
  CHECK(with(cold, "      operands: warm\n      software: {driver: '1'}\n") ==
        MeasuredWith{OperandState::kWarm, "1", "", ""});
  CHECK(with(cold, "      operands: step\n") == MeasuredWith{});
  CHECK_THROWS_WITH(with("m", "      operands: worm\n"), Catch::Contains("did you mean 'warm'?"));
  CHECK_THROWS_WITH(with("m", "      software: {cudnnn: '1'}\n"), Catch::Contains("did you mean 'cudnn'?"));
  Machine machine = ParseMachine(Profile(kMeasured), "mine.yaml");
  machine.devices[0].measured_with = {OperandState::kCold, "550.54", "", "9"};
  const std::string text = MachineToYaml(machine);
  CHECK_THAT(text, Catch::Contains(
                       "\n      operands: cold\n      software: {driver: \"550.54\", cudnn: \"9\"}\n      ops:\n"));
  CHECK(ParseMachine(text, "again.yaml") == machine);
}

TEST_CASE("a device without measurements says nothing of them") {
  const Machine machine = ParseMachine(Profile(""), "mine.yaml");
  CHECK(machine.devices[0].measured.empty());
  CHECK_THAT(MachineToYaml(machine), !Catch::Contains("\n    measured:"));
}

TEST_CASE("a printed profile with measured launches loads as the same one") {
  Machine machine = ParseMachine(Profile(kMeasured), "mine.yaml");
  MeasuredOp op = machine.devices[0].measured[0];
  op.algorithm = "gemm";
  op.error = 1.0 / 3;
  op.time = 123'456'789'012;
  op.workspace = 4'000'000'001;
  op.copy_slowdown = 1.1;
  machine.devices[0].measured.push_back(op);
  machine.devices[0].measured_source = {Source::Kind::kAssumed, "a \"quoted\": text"};
  Reread(machine);
  CHECK_THAT(MachineToYaml(machine),
             Catch::Contains("        - relu backward 32x16x8x8, accumulate yes, time 7000 ns, error 0.5, "
                             "copy_slowdown 1.25\n"));
}

TEST_CASE("what is wrong with a measured launch is told at its place") {
  struct Bad {
    const char *from, *to, *message;
  };
  // Line 14 is the convolution; its text begins in column 11, the algorithm 63 characters on.
  const Bad cases[] = {
      {"algorithm direct", "algoritm direct", "mine.yaml:14:74: error: expected a word (algorithm, math, "},
      {"algorithm direct", "algoritm direct", "found 'algoritm direct'; did you mean 'algorithm'?"},
      {"algorithm direct", "algorithm", "mine.yaml:14:74: error: expected a word"},
      {"time 1 ms", "time 1", "mine.yaml:14:92: error: time: expected a duration above zero (123 us), found '1'"},
      {"time 1 ms", "time 0 ns", "time: expected a duration above zero"},
      {"time 1 ms, ", "", "mine.yaml:14:11: error: the time is missing (time 123 us)"},
      {"workspace 64 KiB", "workspace 64", "workspace: expected a size (64 KiB), found '64'"},
      {"error 0.5", "error 11", "mine.yaml:15:47: error: error: expected a number from 0 to 10, found '11'"},
      {"error 0.5", "error nan", "error: expected a number from 0 to 10, found 'nan'"},
      {"copy_slowdown 1.25", "copy_slowdown 0.9", "copy_slowdown: expected a number from 1 to 10, found '0.9'"},
      {"accumulate yes", "accumulate 1", "accumulate: expected yes, found '1'"},
      {"error 0.5", "time 8 us", "mine.yaml:15:47: error: 'time' comes twice"},
      {"convolution forward 32x16x8x8 -> 32x32x8x8 window 3x3 pad 1x1, algorithm direct", "convolutoin forward 1x1x1x1",
       "mine.yaml:14:11: error: measured 'convolutoin forward 1x1x1x1': unknown op 'convolutoin'; did you mean 'conv"},
      {"relu backward 32x16x8x8, math", "relu backwards 32x16x8x8, math",
       "mine.yaml:16:11: error: measured 'relu backwards 32x16x8x8, math bf16, precision fp16, layout nhwc': unknown "
       "pass 'backwards'; did you mean 'backward'?"},
      {"relu backward 32x16x8x8, time 7", "relu backward, time 7",
       "mine.yaml:15:11: error: expected op, pass and shape"},
      {"- relu backward 32x16x8x8, time 7", "- ' , time 7 us'\n        - relu forward 1x1x1x1, time 7",
       "mine.yaml:15:12: error: expected op, pass"},
      {"        - relu backward 32x16x8x8, math", "        - {relu: 1}\n        - relu forward 1x1x1x1, math",
       "mine.yaml:16:11: error: expected a text"},
      {"math bf16, precision fp16, layout nhwc", "accumulate yes",
       "mine.yaml:16:11: error: a second time for relu backward 32x16x8x8, accumulate yes"},
      {"      source: {measured: \"two cores\"}\n", "", "missing key 'source' in measured of device 'cpu0'"},
      {"      ops:", "      op:", "unknown key 'op' in measured of device 'cpu0'; did you mean 'ops'?"},
  };
  for (const Bad& c : cases) {
    INFO(c.from << " -> " << c.to);
    CHECK_THAT(ErrorOf(Replaced(kMeasured, c.from, c.to)), Catch::Contains(c.message));
  }
}

TEST_CASE("equal launches of different algorithms, formats or accumulation are different ones") {
  MeasuredOp op{.op = OpKind::kRelu, .pass = Pass::kForward, .shape = "1x2x3x4", .algorithm = "", .time = 5};
  std::vector<MeasuredOp> ops(6, op);
  ops[1].algorithm = "direct";
  ops[2].math = "tf32";
  ops[3].precision = "bf16";
  ops[4].layout = "nhwc";
  ops[5].accumulate = true;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) CHECK(MeasuredKey(ops[i]) != MeasuredKey(ops[k]));
  }
  op.time = 6;
  op.error = 0.3;
  op.workspace = 9;
  CHECK(MeasuredKey(op) == MeasuredKey(ops[0]));
}

TEST_CASE("models_from takes models over, measured launches never; same_as is the same machine") {
  const TemporaryFolder files("measured-op-text");
  std::filesystem::create_directories(files.Path("hw"));
  setenv("SPILLWAY_HOME", files.Path("").c_str(), 1);
  const std::string model =
      "    models: [{form: elementwise, op: relu, pass: forward, source: {assumed: test},\n"
      "              parameters: {latency: 1, bandwidth_fraction: 1, cache_gain: 1}}]\n";
  files.Write("hw/teacher.yaml", Profile(kMeasured + model));
  files.Write("hw/pupil.yaml", Profile("    models_from: teacher\n"));
  files.Write("hw/own.yaml", Profile("    models_from: teacher\n" + Replaced(kMeasured, "time 8 us", "time 9 us")));
  files.Write("hw/second.yaml", "name: second\nsame_as: teacher\n");
  CHECK(LoadMachine("pupil").devices[0].models.size() == 1);
  CHECK(LoadMachine("pupil").devices[0].measured.empty());
  const Machine own = LoadMachine("own");
  REQUIRE(own.devices[0].measured.size() == 3);
  CHECK(own.devices[0].measured[2].time == 9'000);
  CHECK(ParseMachine(MachineToYaml(own), "own.yaml") == own);
  CHECK(LoadMachine("second").devices[0].measured.size() == 3);
  unsetenv("SPILLWAY_HOME");
}

}  // namespace spillway

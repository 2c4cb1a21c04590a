// A table of operations in, the same table with predictions out.
#include "calibrate/fit/estimate.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "hw/text/document.h"
#include "model/samples/csv.h"
#include "tests/kernel_models.h"
#include "tests/text.h"

using namespace spillway;

namespace {

constexpr const char* kAdded =
    "predicted_us,predicted_algorithm,predicted_workspace_bytes,how,source,error,predicted_menu";

KernelModel WithErrors(KernelModel model) {
  model.shared_error = 0.3;
  model.own_error = 0.4;
  model.source = {Source::Kind::kMeasured, "test"};
  return model;
}

// The unit machine. A ReLU takes 1000 ns and its bytes at half the bandwidth. Of two algorithms of a convolution the
// one with workspace is the faster by milliseconds.
Machine UnitMachine() {
  Machine machine = LoadMachine("unit");
  Device& device = machine.devices[0];
  device.peak_flops = 10000;
  device.multiprocessors = 80;
  device.l2_cache = kKiB;
  device.models = {WithErrors(Model("elementwise", OpKind::kRelu, Pass::kForward, "",
                                    {{"latency", 1000}, {"bandwidth_fraction", 0.5}})),
                   WithErrors(ConvolutionModel("implicit_gemm", 9e9)),
                   WithErrors(ConvolutionModel("winograd_nonfused", 1e6))};
  device.call_floors = {{"events", OpKind::kRelu, Pass::kForward, 1000, 17000},
                        {"calls", OpKind::kConvolution, std::nullopt, 500'000'000, 1000}};
  return machine;
}

std::string EstimateCsv(const std::string& text, const CostModel& costs, std::vector<std::string>* warnings = nullptr) {
  const Document document{"ops.csv", text, {}, {}};
  const std::vector<std::string> said = CheckOperations(document, costs);
  if (warnings != nullptr) warnings->insert(warnings->end(), said.begin(), said.end());
  std::string out;
  EstimateLines(document, costs, false, [&out](std::string_view line) { out += line; });
  return out;
}

std::vector<std::string> Estimated(const std::string& text, Bytes workspace = 8 * kMiB) {
  const Machine machine = UnitMachine();
  return LinesOf(EstimateCsv(text, CostModel(machine, {.workspace_limit = workspace})));
}

// What was added to the one row of this table, but for its menu.
std::string Answer(const std::string& columns, const std::string& row, Bytes workspace = 8 * kMiB) {
  const std::vector<std::string> lines = Estimated(columns + "\n" + row + "\n", workspace);
  REQUIRE(lines.size() == 2);
  INFO(lines[1]);
  REQUIRE(lines[1].starts_with(row + ","));
  return lines[1].substr(row.size() + 1, lines[1].rfind(',') - row.size() - 1);
}

double Predicted(const std::string& answer) { return std::stod(answer.substr(0, answer.find(','))); }

// 3x3 windows, 8 x 16 x 12 x 12 to as many.
constexpr const char* kConvolutionColumns = "op,pass,n,c,h,w,k,r,pad,algorithm,workspace_limit,workspace_bytes,harness";
const std::string kConvolution = "conv,forward,8,16,12,12,16,3,1,";

// F(4x4, 3x3): 36 products; 16 samples (8 rounded up) x 3 x 3 patches = 144; words: 36 x (144 x (16 + 16) + 16 x 16).
constexpr Bytes kWinogradBytes = 4 * 36 * (144 * 32 + 256);

}  // namespace

TEST_CASE("a convolution's row has its menu: what is fastest, then what needs less workspace") {
  const std::string columns = "op,pass,n,c,h,w,k,r,s,pad_h,pad_w", row = "conv,forward,8,16,12,12,16,3,3,1,1";
  const std::vector<std::string> lines = Estimated(columns + "\n" + row + "\nrelu,forward,8,16,12,12,,,,,\n");
  REQUIRE(lines.size() == 3);
  const std::string menu = lines[1].substr(lines[1].rfind(',') + 1);
  INFO(menu);
  CHECK(menu.starts_with("winograd_nonfused:"));
  CHECK(menu.find(" implicit_gemm:") != std::string::npos);
  CHECK(menu.ends_with(":0"));
  CHECK(lines[2].ends_with(","));  // no choice
}

TEST_CASE("the table comes back row by row with the columns added") {
  const std::vector<std::string> lines = Estimated(
      "note,op,pass,n,c\n"
      "\"first, with a \"\"quote\"\"\",relu,forward,1,1000\n"
      "\n"
      "  second  ,relu,forward,1000,1\r\n"
      ",relu,forward,2,1000\n");
  REQUIRE(lines.size() == 4);
  CHECK(lines[0] == std::string("note,op,pass,n,c,") + kAdded);
  // 4000 B in, 4000 B out at half a byte per nanosecond: 1000 + 16,000 ns; 0.3 and 0.4 are independent.
  CHECK(lines[1] == "\"first, with a \"\"quote\"\"\",relu,forward,1,1000,17.000,,0,model,measured,0.500,");
  CHECK(lines[2] == "second,relu,forward,1000,1,17.000,,0,model,measured,0.500,");
  CHECK(lines[3] == ",relu,forward,2,1000,33.000,,0,model,measured,0.500,");
}

TEST_CASE("a samples table is a table of operations: results in it change nothing") {
  const char* const columns = "device,op,pass,n,c,median_us,p10_us,p90_us,samples,source,date";
  CHECK(Answer(columns, "Some GPU,relu,forward,1,1000,123,120,130,9,somewhere,2020-01-01") ==
        Answer("op,pass,n,c", "relu,forward,1,1000"));
}

TEST_CASE("rows that their status refuses come back without a prediction, in their place") {
  const std::vector<std::string> lines = Estimated(
      "op,pass,n,c,status\nrelu,forward,1,1000,ok\nrelu,forward,1,1000,out_of_memory\nrelu,forward,2,1000,slow\n");
  REQUIRE(lines.size() == 4);
  CHECK(lines[1] == "relu,forward,1,1000,ok,17.000,,0,model,measured,0.500,");
  CHECK(lines[2] == "relu,forward,1,1000,out_of_memory,,,,refused by its status,,,");
  CHECK(lines[3] == "relu,forward,2,1000,slow,33.000,,0,model,measured,0.500,");
}

TEST_CASE("a harness that the profile knows shows its own time too") {
  const char* const columns = "op,pass,n,c,harness";
  // A kernel as long as the floor: 1000 + (17,000^6 + 17,000^6)^(1/6) = 1000 + 17,000 x 1.122462.
  CHECK(Answer(columns, "relu,forward,1,1000,events") == "20.082,,0,model,measured,0.500");
  // 10 times the floor: 1000 + 161,000 (1 + (17 / 161)^6)^(1/6), 37 thousandths of a nanosecond above.
  CHECK(Answer(columns, "relu,forward,10,1000,events") == "162.000,,0,model,measured,0.500");
  // 8 bytes, a little over 1000 ns: the floor hides it.
  CHECK(Answer(columns, "relu,forward,1,1,events") == "18.000,,0,model,measured,0.500");
}

TEST_CASE("a software stack that the profile knows has its own rates") {
  Machine machine = UnitMachine();
  machine.devices[0].stacks = {{"CUDA 9", OpKind::kRelu, Pass::kForward, "fp32", 1, 2, 1},
                               {"CUDA 9", OpKind::kLinear, Pass::kForward, "fp32", 0.1, 0.1, 0.1},
                               {"events, CUDA 8, cuDNN 6", OpKind::kConvolution, Pass::kForward, "fp32", 1, 1, 0.5}};
  const CostModel costs(machine, {.workspace_limit = 8 * kMiB});
  const auto answers = [&costs](const std::string& text) { return LinesOf(EstimateCsv(text, costs)); };
  const std::vector<std::string> relus =
      answers("cuda,op,pass,n,c\n9,relu,forward,1,1000\n8,relu,forward,1,1000\n9,relu,backward,1,1000\n");
  REQUIRE(relus.size() == 4);
  // Twice the bandwidth: 1000 + 8,000 ns instead of 1000 + 16,000.
  CHECK(relus[1] == "9,relu,forward,1,1000,9.000,,0,model,measured,0.500,");
  CHECK(relus[2] == "8,relu,forward,1,1000,17.000,,0,model,measured,0.500,");
  // Another pass has no rates.
  CHECK(relus[3] == answers("cuda,op,pass,n,c\n,relu,backward,1,1000\n")[1].insert(0, "9"));

  // Convolutions that stride take twice as long on that stack, others do not.
  const std::string columns = "op,pass,n,c,h,w,k,r,pad,algorithm,stride,harness,cuda,cudnn\n";
  const std::string row = "conv,forward,8,16,12,12,16,3,1,implicit_gemm,";
  const auto time = [&](const std::string& rest) {
    const std::string line = answers(columns + row + rest + "\n").at(1).substr((row + rest + ",").size());
    return std::stod(line);
  };
  CHECK(time("2,events,8,6") == Approx(2 * time("2,,,")));
  CHECK(time("1,events,8,6") == Approx(time("1,,,")));
  CHECK(time("2,events,8,7") == Approx(time("2,,,")));
}

TEST_CASE("rows of other harnesses, ops and passes show the kernel alone") {
  const char* const columns = "op,pass,n,c,harness";
  CHECK(Answer(columns, "relu,forward,1,1000,") == "17.000,,0,model,measured,0.500");
  CHECK(Answer(columns, "relu,forward,1,1000,event") == "17.000,,0,model,measured,0.500");
  CHECK(Answer(columns, "relu,forward,1,1000,calls") == "17.000,,0,model,measured,0.500");
  // Backward has no model: 3 x 4000 B at 1 B/ns.
  CHECK(Answer(columns, "relu,backward,1,1000,events") == "12.000,,0,roofline,assumed,0.500");
}

TEST_CASE("a floor without a pass is one of all passes") {
  const std::string alone = Answer(kConvolutionColumns, kConvolution + ",,,");
  const std::string shown = Answer(kConvolutionColumns, kConvolution + ",,,calls");
  CHECK(Predicted(shown) == Approx(Predicted(alone) + 500'000).epsilon(1e-9));
  std::string backward = kConvolution + ",,,calls";
  backward.replace(backward.find("forward"), 7, "backward_data");
  CHECK(Predicted(Answer(kConvolutionColumns, backward)) > 500'000);
}

TEST_CASE("a row that names an algorithm is answered for that one") {
  const std::string best = Answer(kConvolutionColumns, kConvolution + ",,,");
  const std::string winograd = Answer(kConvolutionColumns, kConvolution + "winograd_nonfused,,,");
  const std::string gemm = Answer(kConvolutionColumns, kConvolution + "implicit_gemm,,,");
  CHECK(best == winograd);
  CHECK_THAT(winograd, Catch::Contains(",winograd_nonfused," + std::to_string(kWinogradBytes) + ",model,measured,"));
  CHECK_THAT(gemm, Catch::Contains(",implicit_gemm,0,model,measured,"));
  CHECK(Predicted(gemm) >= 9e6);
  CHECK(Predicted(winograd) < 9e6);
  CHECK(Answer(kConvolutionColumns, kConvolution + "best,,,") == best);
  CHECK(Answer(kConvolutionColumns, kConvolution + "best:implicit_gemm,,,") == gemm);
}

TEST_CASE("an algorithm without a model has no prediction and says why") {
  const char* const why = ",,,the profile has no model of this algorithm that can run the operation,,";
  CHECK(Answer(kConvolutionColumns, kConvolution + "fft,,,") == why);
  // Winograd needs stride 1 and a window of 3 or 5.
  CHECK(Answer(kConvolutionColumns, "conv,forward,8,16,12,12,16,1,0,winograd_nonfused,,,") == why);
}

TEST_CASE("workspace that a row grants, else the cost model's limit") {
  const auto algorithm = [](const std::string& grants, Bytes limit) {
    const std::string answer = Answer(kConvolutionColumns, kConvolution + "," + grants + ",", limit);
    const std::size_t from = answer.find(',') + 1;
    return answer.substr(from, answer.find(',', from) - from);
  };
  const std::string enough = std::to_string(kWinogradBytes), less = std::to_string(kWinogradBytes - 1);
  CHECK(algorithm(",", kWinogradBytes) == "winograd_nonfused");
  CHECK(algorithm(",", kWinogradBytes - 1) == "implicit_gemm");
  CHECK(algorithm(less + ",", kWinogradBytes) == "implicit_gemm");
  CHECK(algorithm(enough + ",", 0) == "winograd_nonfused");
  CHECK(algorithm("0,", kWinogradBytes) == "implicit_gemm");
  CHECK(algorithm("," + less, kWinogradBytes) == "implicit_gemm");
  CHECK(algorithm("," + enough, 0) == "winograd_nonfused");
}

TEST_CASE("copies between pinned memory and the device on its first link") {
  const char* const columns = "op,bytes,direction,kind,link";
  const std::string near = "0.500,,0,curve,assumed,0.000";  // one byte per nanosecond
  CHECK(Answer(columns, "copy,500,h2d,pinned,local") == near);
  CHECK(Answer(columns, "copy,500,d2h,,") == near);
  CHECK(Answer(columns, "copy,500,d2h,pinned,gpu0-host0") == near);
  const std::string refused = ",,,the cost model knows copies between pinned memory and the device on its first link,,";
  CHECK(Answer(columns, "copy,500,h2d,pageable,local") == refused);
  CHECK(Answer(columns, "copy,500,h2d,managed_touch,") == refused);
  CHECK(Answer(columns, "copy,500,h2d,pinned,remote") == refused);
  CHECK(Answer(columns, "copy,500,d2d,device,") == refused);
}

TEST_CASE("a copy has the host's call in its time") {
  Machine machine = UnitMachine();
  machine.devices[0].host_costs.copy_submit = 4 * kMicrosecond;
  const std::vector<std::string> lines = LinesOf(EstimateCsv("op,bytes,direction\ncopy,500,h2d\n", CostModel(machine)));
  CHECK(lines.at(1) == "copy,500,h2d,4.500,,0,curve,assumed,0.000,");
}

TEST_CASE("each direction has its curve") {
  Machine machine = UnitMachine();
  machine.links[0].curves[1].points = {{1, 3}, {1000, 3000}};
  const CostModel costs(machine);
  CHECK(LinesOf(EstimateCsv("op,bytes,direction\ncopy,500,h2d\ncopy,500,d2h\n", costs)) ==
        std::vector<std::string>{std::string("op,bytes,direction,") + kAdded,
                                 "copy,500,h2d,0.500,,0,curve,assumed,0.000,",
                                 "copy,500,d2h,1.500,,0,curve,assumed,0.000,"});
}

TEST_CASE("a pitched copy pays for its rows") {
  const char* const columns = "op,bytes,direction,kind,row_bytes,pitch_bytes";
  // 5 rows of 100 B: 10 ns for each beyond the first.
  CHECK(Answer(columns, "copy,500,h2d,pitched,100,512") == "0.540,,0,curve,assumed,0.300");
  CHECK(Answer(columns, "copy,500,h2d,pitched,500,512") == "0.500,,0,curve,assumed,0.000");
}

TEST_CASE("what no cost model knows has no prediction and says so") {
  CHECK(Answer("op,pass,n,c,h,w,k,r", "conv_bias_relu,forward,1,8,7,7,8,3") ==
        ",,,no cost model for 'conv_bias_relu',,");
  CHECK(Answer("op,pass,n,c", "allocation,,,") == ",,,no cost model for 'allocation',,");
}

TEST_CASE("all mistakes of a table are told at once") {
  const Machine machine = UnitMachine();
  const CostModel costs(machine);
  const std::string text =
      "op,pass,n,c,algorithm,direction,bytes\n"
      "rely,forward,1,1000,,,\n"
      "relu,foward,1,1000,,,\n"
      "relu,forward,1,1000,,,\n"
      "relu,forward,-1,1000,,,\n"
      "copy,,,,,up,500\n"
      "relu,forward,1\n";
  try {
    EstimateCsv(text, costs);
    FAIL("nothing was thrown");
  } catch (const UserError& error) {
    REQUIRE(error.messages().size() == 5);
    CHECK_THAT(error.messages()[0],
               Catch::Contains("ops.csv:2:1: error: op: unknown 'rely'") && Catch::Contains("did you mean 'relu'?"));
    CHECK_THAT(error.messages()[1], Catch::Contains("ops.csv:3:6: error: pass: unknown 'foward'"));
    CHECK_THAT(error.messages()[2], Catch::Contains("ops.csv:5:14: error: n: expected a whole number"));
    CHECK_THAT(error.messages()[3], Catch::Contains("ops.csv:6:10: error: direction: unknown 'up'"));
    CHECK_THAT(error.messages()[4], Catch::Contains("ops.csv:7:1: error: 3 fields under 7 columns"));
  }
}

TEST_CASE("tables without operations are refused") {
  const Machine machine = UnitMachine();
  const CostModel costs(machine);
  CHECK_THROWS_WITH(EstimateCsv("", costs), Catch::Contains("the file is empty"));
  CHECK_THROWS_WITH(EstimateCsv("op,pass,n,c\n", costs), Catch::Contains("no rows"));
  CHECK_THROWS_WITH(EstimateCsv("pass,n,c\nforward,1,2\n", costs), Catch::Contains("missing column 'op'"));
}

TEST_CASE("columns that are not read are named") {
  const Machine machine = UnitMachine();
  const CostModel costs(machine);
  std::vector<std::string> warnings;
  const std::string text = "op,pass,n,c,strid\nrelu,forward,1,1000,2\n";
  CHECK_THAT(EstimateCsv(text, costs, &warnings), Catch::Contains("relu,forward,1,1000,2,17.000,"));
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0],
             Catch::Contains("ops.csv:1:13: warning: column 'strid'") && Catch::Contains("did you mean 'stride'?"));
}

TEST_CASE("a floor for one kind of arithmetic is not taken for another") {
  Machine machine = UnitMachine();
  // The unit machine's ReLU over 1000 numbers takes 1000 + 8000 / 0.5 = 17,000 ns.
  machine.devices[0].call_floors = {{"events", OpKind::kRelu, Pass::kForward, 3000, 0, "tf32"},
                                    {"events", OpKind::kRelu, Pass::kForward, 2000, 0, "fp32"},
                                    {"events", OpKind::kRelu, Pass::kForward, 9000, 0}};
  const CostModel costs(machine);
  const std::string text =
      "op,pass,n,c,math,harness\nrelu,forward,1,1000,fma,events\nrelu,forward,1,1000,tf32,events\n"
      "relu,forward,1,1000,fma,\n";
  const std::vector<std::string> lines = LinesOf(EstimateCsv(text, costs));
  REQUIRE(lines.size() == 4);
  CHECK_THAT(lines[1], Catch::Contains(",events,19.000,"));
  CHECK_THAT(lines[2], Catch::Contains(",events,20.000,"));
  CHECK_THAT(lines[3], Catch::Contains(",fma,,17.000,"));
}

TEST_CASE("a harness or a device that is not the profile's is named once") {
  const Machine machine = UnitMachine();
  const CostModel costs(machine);
  std::vector<std::string> warnings;
  const std::string text =
      "device,op,pass,n,c,harness\n"
      "gpu0,relu,forward,1,1000,events\n"
      "V100-SXM2-16GB,relu,forward,1,1000,event\n"
      "mine,relu,forward,1,1000,\n"
      "mine,add,forward,1,1000,event\n";
  EstimateCsv(text, costs, &warnings);
  REQUIRE(warnings.size() == 3);
  CHECK(warnings[0] ==
        "ops.csv:3: warning: the profile unit knows no harness 'event': times are the kernels' own; did you mean "
        "'events'?");
  CHECK(warnings[1] == "ops.csv:3: warning: the answers are for the device of unit, which is not a 'V100-SXM2-16GB'");
  CHECK(warnings[2] == "ops.csv:4: warning: the answers are for the device of unit, which is not known to be a 'mine'");
}

TEST_CASE("samples of a chip that the profile is of raise no doubt") {
  const Machine machine = LoadMachine("v100-x86-pcie3");
  const CostModel costs(machine);
  std::vector<std::string> warnings;
  EstimateCsv("device,op,pass,n,c\nTesla V100-SXM2-16GB,relu,forward,1,1000\n", costs, &warnings);
  CHECK(warnings.empty());
  EstimateCsv("device,op,pass,n,c\nV100-PCIE-16GB,relu,forward,1,1000\n", costs, &warnings);
  CHECK(warnings.size() == 1);
}

TEST_CASE("the table of operations that is shipped as an example is answered whole") {
  const Machine machine = UnitMachine();
  const std::string folder = SPILLWAY_SOURCE_DIR;
  const Document example = LoadCsvText(folder + "/calibrate/example-ops.csv");
  const std::vector<std::string> lines = LinesOf(EstimateCsv(example.text, CostModel(machine)));
  CHECK(lines.size() == LinesOf(example.text).size());
}

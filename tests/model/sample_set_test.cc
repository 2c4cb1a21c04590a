// Samples as a set: repeated ones, several files, writing.
#include <catch2/catch.hpp>

#include "hw/text/document.h"
#include "model/network/network.h"
#include "model/samples/file.h"
#include "model/samples/sample.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "tests/temporary_folder.h"

namespace spillway {
namespace {

using Catch::Contains;

constexpr const char* kRelu = "device,op,pass,n,c,median_us,p10_us,p90_us,samples,note,network\n";

SampleSet Relu(const std::string& rows) { return ParseSamples(kRelu + rows, "f.csv"); }

// Place in the file does not count, nor how many rows a sample stands for, which is not written.
bool Same(std::vector<Sample> a, std::vector<Sample> b) {
  for (auto* samples : {&a, &b}) {
    for (Sample& sample : *samples) sample.file = sample.line = 0, sample.rows = 1;
  }
  return a == b;
}

std::vector<Sample> Operations(const Document& document) {
  std::vector<Sample> operations;
  const SampleSet set = VisitOperations(document, [&operations](const CsvRow&, const Sample* operation) {
    if (operation != nullptr) operations.push_back(*operation);
  });
  CHECK(set.warnings.empty());
  return operations;
}

Sample SampleOf(const Op& op) {
  Sample sample;
  sample.what = SampleKind::kKernel;
  sample.device = "X";
  sample.op = OpKindName(op.kind);
  sample.launch = LaunchOf(op);
  sample.microseconds = 1.0 / 3;
  return sample;
}

}  // namespace

TEST_CASE("rows that repeat an operation and agree become their median") {
  const SampleSet set = Relu(
      "X,relu,forward,1,2,10,9,11,5,a,\n"
      "X,relu,forward,1,3,50,,,,,\n"
      "X,relu,forward,1,2,12,,,,b,\n"
      "X,relu,forward,1,2,11,,,7,,\n");
  REQUIRE(set.samples.size() == 2);
  const Sample& merged = set.samples[0];
  CHECK(merged.line == 2);
  CHECK(merged.microseconds == 11);
  CHECK(merged.p10 == 9);
  CHECK(merged.p90 == 12);
  CHECK(merged.spread == Approx(3.0 / 11));
  CHECK(merged.repetitions == 5 + 1 + 7);
  CHECK(merged.rows == 3);
  REQUIRE(set.warnings.size() == 1);
  CHECK(set.warnings[0] ==
        "f.csv: warning: 3 rows measure an operation more than once and agree; their medians stand for them (first "
        "f.csv:2 and f.csv:4)");
}

TEST_CASE("rows that disagree are named, and weaken what stands for them") {
  const SampleSet set = Relu(
      "X,relu,forward,1,2,10,,,,,\n"
      "X,relu,forward,1,2,30,,,,,\n");
  REQUIRE(set.samples.size() == 1);
  CHECK(set.samples[0].microseconds == 20);
  CHECK(set.samples[0].spread == 1);  // (30 - 10) / 20
  REQUIRE(set.warnings.size() == 1);
  CHECK_THAT(
      set.warnings[0],
      Contains("f.csv:3: warning: the same operation takes 30 us here and 10 us at f.csv:2, 3.00 times as long"));
}

TEST_CASE("a difference within the rows' own spreads is no disagreement") {
  // 14 / 10 = 1.4, spreads (12 - 8) / 10 and (15 - 13) / 14: 1 + 0.4 + 0.14 = 1.54
  const SampleSet set = Relu(
      "X,relu,forward,1,2,10,8,12,,,\n"
      "X,relu,forward,1,2,14,13,15,,,\n");
  REQUIRE(set.warnings.size() == 1);
  CHECK_THAT(set.warnings[0], Contains("and agree"));
}

TEST_CASE("rows of other devices, networks or states are no repetitions") {
  const SampleSet set = Relu(
      "X,relu,forward,1,2,10,,,,,\n"
      "Y,relu,forward,1,2,90,,,,,\n"
      "X,relu,backward,1,2,90,,,,,\n"
      "X,relu,forward,1,2,90,,,,,alexnet\n");
  CHECK(set.samples.size() == 4);
  CHECK(set.warnings.empty());
  CHECK(Devices(set) == std::vector<std::string>{"X", "Y"});
}

TEST_CASE("every op of a training step survives being written and read") {
  for (const char* name : {"alexnet", "resnet50", "googlenet-bn", "densenet121", "resnext101-3d"}) {
    INFO(name);
    const TrainingStep step = BuildTrainingStep(BuildZooNetwork(name, {.batch = 2}));
    std::vector<Sample> samples;
    for (const Op& op : step.ops) samples.push_back(SampleOf(op));
    samples.back().launch.workspace = kMiB;
    samples.back().launch.type = DataType::kBf16;
    samples.back().launch.math = MathMode::kTf32;
    samples.back().launch.layout = Layout::kNhwc;
    const std::string text = WriteSamples(samples);
    CHECK(Same(Operations({"f.csv", text, {}, {}}), samples));
    const SampleSet merged = ParseSamples(text, "f.csv");  // equal layers are one
    CHECK(merged.samples.size() < samples.size());
    CHECK(Same(ParseSamples(WriteSamples(merged.samples), "f.csv").samples, merged.samples));
  }
}

TEST_CASE("all that a sample says survives being written and read") {
  Sample conv = SampleOf(BuildTrainingStep(BuildZooNetwork("alexnet", {.batch = 2})).ops.front());
  conv.host = "AC922, two sockets";
  conv.driver = "1.2";
  conv.cuda = "12.4";
  conv.cudnn = "9.1";
  conv.best = true;
  conv.algorithm = "winograd";
  conv.launch.algorithm = 7;
  conv.kind = "cold";
  conv.contention = "h2d";
  conv.p10 = 0.3;
  conv.p90 = 0.4;
  conv.spread = (conv.p90 - conv.p10) / conv.microseconds;
  conv.host_microseconds = 2.5;
  conv.repetitions = 30;
  conv.workspace = 0;
  conv.harness = "h";
  conv.source = "\"quoted\"";
  conv.network = "net";
  conv.note = "two\nlines";
  conv.date = "2026-01-02";
  Sample copy;
  copy.what = SampleKind::kCopy;
  copy.device = "X";
  copy.op = "copy";
  copy.bytes = 4096;
  copy.row_bytes = 64;
  copy.pitch_bytes = 128;
  copy.direction = "d2h";
  copy.kind = "pitched";
  copy.link = "remote";
  copy.microseconds = 1e-3;
  Sample other;
  other.device = "X";
  other.op = "overhead";
  other.kind = "launch_host";
  const std::vector<Sample> samples = {conv, copy, other};
  CHECK(Same(ParseSamples(WriteSamples(samples), "f.csv").samples, samples));
  CHECK(WriteSamples({}) == "device,op,median_us\n");
}

TEST_CASE("several files are one set, and the mistakes of all are told") {
  const TemporaryFolder folder("samples");
  const std::string a = folder.Write("a.csv", std::string(kRelu) + "X,relu,forward,1,2,10,,,,,\n");
  const std::string b =
      folder.Write("b.csv", "op,median_us,device,pass,n,c\nrelu,11,X,forward,1,2\nrelu,7,Y,forward,1,2\n");
  const SampleSet set = ReadSamples(std::vector{a, b});
  REQUIRE(set.samples.size() == 2);
  CHECK(set.files == std::vector{a, b});
  CHECK(set.samples[0].microseconds == 10.5);
  CHECK(set.samples[1].file == 1);
  CHECK(set.samples[1].line == 3);
  const std::string bad = folder.Write("bad.csv", "op,median_us,device\nrelu,-1,X\n");
  const std::vector paths = {a, bad, folder.Path("none.csv"), folder.Path("")};
  CHECK_THROWS_WITH(ReadSamples(paths), Contains("bad.csv:2:1: error: relu needs pass, n, c") &&
                                            Contains("none.csv: error: no such file") &&
                                            Contains("is a directory, expected a CSV file"));
}

TEST_CASE("operations need neither device nor time") {
  const char* const text = "op,pass,n,c,direction,bytes\nrelu,forward,1,2,,\nrelu,forward,1,2,,\ncopy,,,,h2d,64\n";
  CHECK(Operations({"f.csv", text, {}, {}}).size() == 3);  // nothing is merged: each row is a question
}

TEST_CASE("the examples that are shipped are read") {
  const std::string folder = std::string(SPILLWAY_SOURCE_DIR) + "/calibrate/";
  const SampleSet samples = ReadSamples(std::vector{folder + "example-samples.csv"});
  CHECK(samples.samples.size() == 6);
  CHECK(samples.warnings.empty());
  CHECK(Operations(LoadCsvText(folder + "example-ops.csv")).size() == 11);
}

TEST_CASE("a layer is its shape without batch, pass, precision and algorithm") {
  const auto key = [](const std::string& row) {
    return LayerKey(
        ParseSamples("device,op,pass,algorithm,precision,n,c,h,w,k,r,stride,median_us\n" + row, "f").samples[0]);
  };
  const std::string layer = key("X,conv,forward,fft,fp32,8,4,9,9,4,3,1,5\n");
  CHECK(layer == key("Y,convolution,backward_data,algo_0,fp16,64,4,9,9,4,3,1,7\n"));
  CHECK(layer != key("X,conv,forward,fft,fp32,8,4,9,9,4,3,2,5\n"));
  CHECK(layer != key("X,pool,forward,max,fp32,8,4,9,9,,3,1,5\n"));
}

}  // namespace spillway

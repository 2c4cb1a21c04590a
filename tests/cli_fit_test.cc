// spillway fit and spillway estimate as a user meets them.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <sstream>

#include "calibrate/sample_chip.h"
#include "hw/chips.h"
#include "hw/machine.h"
#include "model/kernel_form.h"
#include "tests/command_line.h"
#include "tests/temporary_folder.h"

namespace spillway {
namespace {

bool Exists(const std::string& path) { return std::filesystem::exists(path); }

constexpr const char* kDevice = "V100-SXM2-16GB";
constexpr double kLatency = 4200, kBandwidth = 0.71, kCache = 0.3;

// Microseconds of the form with the parameters above on the device's figures.
double ReluMicroseconds(const std::string& device, std::int64_t channels) {
  const std::vector<ChipFigures> chips = LoadChips();
  const ChipFigures* const figures = FindChip(chips, device);
  REQUIRE(figures != nullptr);
  Launch launch;
  launch.kind = OpKind::kRelu;
  launch.shape.in = launch.shape.out = Shape{1, channels, 1, 1, 1};
  const std::vector<double> parameters = {kLatency, kBandwidth, kCache};
  return FindKernelForm("elementwise")->time(launch, ChipOf(*figures), parameters) / 1000;
}

// Samples of ReLUs from 10,000 elements to 500 million.
std::string ReluSamples(const std::string& device = kDevice) {
  std::string text = "device,op,pass,n,c,median_us,date\n";
  for (std::int64_t c = 10'000; c < 500'000'000; c = c * 17 / 10) {
    text += fmt::format("{},relu,forward,1,{},{:.4f},2020-01-01\n", device, c, ReluMicroseconds(device, c));
  }
  return text;
}

// Copies of `host` over its "local" link: 10 us and 10 bytes per nanosecond.
std::string CopySamples(const std::string& host, const std::string& device = kDevice) {
  std::string text = "device,host,op,bytes,direction,kind,link,median_us\n";
  for (const char* direction : {"h2d", "d2h"}) {
    for (std::int64_t bytes = 1 << 12; bytes <= 1 << 28; bytes *= 4) {
      text += fmt::format("{},{},copy,{},{},pinned,local,{}\n", device, host, bytes, direction,
                          10 + static_cast<double>(bytes) / 10e3);
    }
  }
  return text;
}

// A fit of one file onto the unit machine's profile.
class FitRun {
 public:
  explicit FitRun(const std::string& samples) : folder_("fit") { samples_ = folder_.Write("samples.csv", samples); }
  Outcome Run(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"fit", samples_, "--base", "unit", "-o", Out(), "--report", Report()};
    words.insert(words.end(), more.begin(), more.end());
    return Spillway(words);
  }
  std::string Out() const { return folder_.Path("fitted.yaml"); }
  std::string Report() const { return folder_.Path("report"); }
  bool WroteNothing() const { return !Exists(Out()) && !Exists(Report() + ".md") && !Exists(Report() + ".csv"); }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
  std::string samples_;
};

void CheckRefused(const std::string& samples, const std::vector<std::string>& more, const std::string& message) {
  const FitRun fit(samples);
  const Outcome outcome = fit.Run(more);
  INFO(outcome.err);
  CHECK(outcome.status == 2);
  CHECK(outcome.out.empty());
  CHECK_THAT(outcome.err, Catch::Contains(message));
  CHECK(fit.WroteNothing());
}

const std::string kHeader = "device,op,pass,n,c,median_us\n";

std::string Row(const std::string& time) { return std::string(kDevice) + ",relu,forward,1,1000," + time + "\n"; }

std::vector<std::string> Cells(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
  return cells;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST_CASE("fit: samples that are none are refused in their place, and nothing is written") {
  CheckRefused(kHeader + Row("nan"), {}, "samples.csv:2:36: error: median_us: expected microseconds above zero");
  CheckRefused(kHeader + Row("5") + Row("inf"), {}, "samples.csv:3:36: error: median_us: expected microseconds");
  CheckRefused(kHeader + Row("-5"), {}, "median_us: expected microseconds above zero, found '-5'");
  CheckRefused(kHeader + Row("0"), {}, "median_us: expected microseconds above zero, found '0'");
  CheckRefused(kHeader + Row(""), {}, "a sample needs median_us");
  CheckRefused(kHeader, {}, "no rows below the names of the columns");
  CheckRefused("", {}, "the file is empty");
  CheckRefused("device,op,pass,n,c,median\n" + Row("5"), {}, "missing column 'median_us' (is it 'median'?)");
  CheckRefused("op,pass,n,c\nrelu,forward,1,1000\n", {}, "missing columns 'device', 'median_us'");
  CheckRefused(kHeader + std::string(kDevice) + ",rely,forward,1,1000,5\n", {}, "did you mean 'relu'?");
}

TEST_CASE("fit: the mistakes of all rows at once") {
  const FitRun fit(kHeader + Row("nan") + Row("5") + Row("0"));
  const Outcome outcome = fit.Run();
  CHECK(outcome.status == 2);
  CHECK_THAT(outcome.err,
             Catch::Contains("samples.csv:2:36") && Catch::Contains("samples.csv:4:36") && Catch::Contains("2 errors"));
}

TEST_CASE("fit: words that lead nowhere are refused with the nearest name, and nothing is written") {
  const std::string samples = ReluSamples();
  CheckRefused(samples, {"--devices", "V100-SXM2-16G"}, "no sample of 'V100-SXM2-16G'; did you mean 'V100-SXM2-16GB'?");
  CheckRefused(samples, {"--devices", "V100-SXM2-16GB,V100-PCIE-16GB"}, "no sample of 'V100-PCIE-16GB'");
  CheckRefused(samples, {"--carry", "v100-x86-pcie"}, "did you mean 'v100-x86-pcie3'?");
  CheckRefused(samples, {"--copies", "alpha"}, "--copies: the samples hold no copies");
  CheckRefused(samples, {"--colour"}, "--colour");
  const FitRun fit(samples);
  const Outcome outcome =
      Spillway({"fit", fit.folder().Path("samples.csv"), "--base", "unti", "-o", fit.Out(), "--report", fit.Report()});
  CHECK(outcome.status == 2);
  CHECK_THAT(outcome.err, Catch::Contains("unknown machine 'unti'; did you mean 'unit'?"));
  CHECK(fit.WroteNothing());
  CHECK(Spillway({"fit", fit.folder().Path("none.csv"), "--base", "unit", "-o", fit.Out()}).status == 2);
  CHECK(fit.WroteNothing());
}

TEST_CASE("fit: samples of several devices need --devices") {
  const std::string both = ReluSamples() + ReluSamples("T4").substr(ReluSamples("T4").find('\n') + 1);
  CheckRefused(both, {}, "the samples are of several devices: V100-SXM2-16GB, T4; choose one");
  const FitRun fit(both);
  const Outcome outcome = fit.Run({"--devices", "T4"});
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  CHECK_THAT(LoadMachine(fit.Out()).devices[0].models.at(0).source.text,
             Catch::Contains("T4") && !Catch::Contains("V100"));
}

TEST_CASE("fit: a device in no table takes the base profile's figures, among others it is refused") {
  std::string unknown = ReluSamples();
  for (std::size_t at = 0; (at = unknown.find(kDevice, at)) != std::string::npos;)
    unknown.replace(at, 14, "Unheard-Of-GPU");
  const FitRun fit(unknown);
  CHECK(fit.Run().status == 0);
  const std::string mixed = ReluSamples() + unknown.substr(unknown.find('\n') + 1);
  CheckRefused(mixed, {"--devices", "V100-SXM2-16GB,Unheard-Of-GPU"},
               "device 'Unheard-Of-GPU' is not in hw/chips/chips.yaml");
}

TEST_CASE("fit: three rows make a profile that says how little it knows") {
  std::string three = kHeader;
  for (const std::int64_t n : {1, 2, 4}) three += fmt::format("{},relu,forward,{},1000000,{}\n", kDevice, n, 20 * n);
  const FitRun fit(three);
  const Outcome outcome = fit.Run();
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.err, Catch::Contains("relu forward fp32: 3 samples of 1 layer only: too little") &&
                              Catch::Contains("no cross-validation, errors are guesses"));
  const Machine machine = LoadMachine(fit.Out());
  CHECK(machine.devices[0].models.at(0).own_error >= 0.15);
  bool noted = false;
  for (const std::string& note : machine.notes)
    noted = noted || note.find("3 samples of 1 layer only") != std::string::npos;
  CHECK(noted);
}

TEST_CASE("fit: rows that repeat an operation and disagree are told") {
  const std::string again =
      fmt::format("{},relu,forward,1,10000,{:.4f},2020-01-02\n", kDevice, 3 * ReluMicroseconds(kDevice, 10'000));
  const FitRun fit(ReluSamples() + again);
  const Outcome outcome = fit.Run();
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.err, Catch::Contains("warning: the same operation takes") &&
                              Catch::Contains("3.00 times as long") && Catch::Contains("samples.csv:2"));
  CHECK(Exists(fit.Out()));
}

TEST_CASE("fit: columns that are not read are told") {
  std::string wide;
  for (const std::string& line : Lines(ReluSamples())) wide += "x," + line + "\n";
  const FitRun fit(wide.replace(0, 1, "strid"));
  const Outcome outcome = fit.Run();
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.err,
             Catch::Contains("column 'strid' is not one of the format and not read; did you mean 'stride'?"));
}

TEST_CASE("fit: a good fit predicts its samples, by the profile that it wrote") {
  const FitRun fit(ReluSamples());
  const Outcome outcome = fit.Run();
  INFO(outcome.err);
  REQUIRE(outcome.status == 0);
  CHECK(outcome.out.empty());
  CHECK_THAT(outcome.err, Catch::Contains("fitted.yaml: 1 models from "));
  const Machine machine = LoadMachine(fit.Out());
  CHECK(machine.name == "fitted");
  REQUIRE(machine.devices[0].models.size() == 1);
  // The base's figures are the unit machine's, so the model is asked on those that the samples are of.
  Machine asked = machine;
  const std::vector<ChipFigures> chips = LoadChips();
  const ChipFigures& v100 = *FindChip(chips, kDevice);
  asked.devices[0].peak_flops = v100.peak_flops;
  asked.devices[0].memory_bandwidth = v100.memory_bandwidth;
  asked.devices[0].multiprocessors = v100.multiprocessors;
  asked.devices[0].l2_cache = v100.l2_cache;
  const std::string profile = fit.folder().Write("asked.yaml", MachineToYaml(asked));
  const Outcome estimate = Spillway({"estimate", fit.folder().Path("samples.csv"), "--machine", profile});
  INFO(estimate.err);
  REQUIRE(estimate.status == 0);
  const std::vector<std::string> lines = Lines(estimate.out);
  REQUIRE(lines.size() == Lines(ReluSamples()).size());
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> cells = Cells(lines[i]);
    REQUIRE(cells.size() == 13);
    INFO(lines[i]);
    CHECK(std::stod(cells[7]) == Approx(std::stod(cells[5])).epsilon(0.03));
    CHECK(cells[10] == "model");
  }
}

TEST_CASE("fit: twice the same bytes, and a report beside") {
  const FitRun fit(ReluSamples());
  const auto files = [&] {
    REQUIRE(fit.Run().status == 0);
    std::vector<std::string> texts;
    for (const char* name : {"fitted.yaml", "report.md", "report.csv"}) texts.push_back(fit.folder().Read(name));
    return texts;
  };
  const std::vector<std::string> first = files();
  for (const std::string& text : first) CHECK(text.size() > 100);
  CHECK_THAT(first[0], Catch::StartsWith("# Written by `spillway fit`"));
  CHECK_THAT(first[1], Catch::Contains("relu"));
  CHECK_THAT(first[2], Catch::Contains("relu"));
  CHECK(files() == first);
}

TEST_CASE("fit: without --report none is written") {
  const FitRun fit(ReluSamples());
  const Outcome outcome = Spillway({"fit", fit.folder().Path("samples.csv"), "--base", "unit", "-o", fit.Out()});
  CHECK(outcome.status == 0);
  CHECK(Exists(fit.Out()));
  CHECK_FALSE(Exists(fit.Report() + ".md"));
}

TEST_CASE("fit: links from the copies of a host, and an unknown one refused before anything is written") {
  const FitRun fit(ReluSamples());
  const std::string copies = fit.folder().Write("copies.csv", CopySamples("alpha"));
  const Outcome wrong = fit.Run({copies, "--copies", "alhpa"});
  INFO(wrong.err);
  CHECK(wrong.status == 2);
  CHECK_THAT(wrong.err, Catch::Contains("--copies: no copies of host 'alhpa'; did you mean 'alpha'?"));
  CHECK(fit.WroteNothing());
  const Outcome outcome = fit.Run({copies, "--copies", "alpha"});
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.err, Catch::Contains("fitted.yaml: 1 links from copies of alpha"));
  const Machine machine = LoadMachine(fit.Out());
  CHECK(machine.devices[0].models.size() == 1);
  for (const TransferCurve& curve : machine.links.at(0).curves) {
    CHECK(static_cast<double>(curve.Time(100'000'000)) == Approx(10'010'000).epsilon(0.02));
  }
}

TEST_CASE("fit: a base that has its models from another profile has links to fit, no kernels") {
  const FitRun fit(ReluSamples());
  const std::string copies = fit.folder().Write("copies.csv", CopySamples("alpha"));
  Machine pupil = LoadMachine("unit");
  const Device teacher = LoadMachine("v100-x86-pcie3").devices[0];
  pupil.devices[0].models_from = "v100-x86-pcie3";
  pupil.devices[0].multiprocessors = teacher.multiprocessors;  // the same chip
  pupil.devices[0].peak_flops = teacher.peak_flops;
  pupil.devices[0].memory_bandwidth = teacher.memory_bandwidth;
  const std::string base = fit.folder().Write("pupil.yaml", MachineToYaml(pupil));
  const Outcome refused = Spillway({"fit", fit.folder().Path("samples.csv"), "--base", base, "-o", fit.Out()});
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, Catch::Contains("takes its models from v100-x86-pcie3") && Catch::Contains("--copies"));
  CHECK(fit.WroteNothing());
  const Outcome outcome = Spillway({"fit", copies, "--base", base, "-o", fit.Out(), "--copies", "alpha"});
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  const Machine machine = LoadMachine(fit.Out());
  CHECK(machine.devices[0].models_from == "v100-x86-pcie3");
  CHECK(machine.devices[0].models == LoadMachine("v100-x86-pcie3").devices[0].models);
  CHECK(machine.links[0].curves != LoadMachine("unit").links[0].curves);
}

TEST_CASE("fit: a host with several devices: which one, by --devices or HOST@DEVICE") {
  const FitRun fit(ReluSamples());
  const std::string text =
      CopySamples("alpha") + CopySamples("alpha", "T4").substr(CopySamples("alpha").find('\n') + 1);
  const std::string copies = fit.folder().Write("copies.csv", text);
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"fit", copies, "--base", "unit", "--links-only", "-o", fit.Out()};
    words.insert(words.end(), more.begin(), more.end());
    return Spillway(words);
  };
  Outcome outcome = run({"--copies", "alpha"});
  CHECK(outcome.status == 2);
  CHECK_THAT(outcome.err, Catch::Contains("of several devices") && Catch::Contains("'alpha@V100-SXM2-16GB'") &&
                              Catch::Contains("'alpha@T4'"));
  outcome = run({"--copies", "alpha@T5"});
  CHECK(outcome.status == 2);
  CHECK_THAT(outcome.err, Catch::Contains("no copies of 'alpha@T5'; did you mean 'alpha@T4'?"));
  CHECK(fit.WroteNothing());
  outcome = run({"--copies", "alpha", "--devices", "T4"});
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.err, Catch::Contains("1 links from copies of alpha with T4"));
  CHECK(run({"--copies", "alpha@T4", "--devices", kDevice}).status == 0);
  CHECK_THAT(LoadMachine(fit.Out()).links[0].curves[0].source.text, Catch::StartsWith("as with T4: "));
}

TEST_CASE("fit: --links-only leaves the models alone, whatever the samples hold, and needs no kernels") {
  const FitRun fit(ReluSamples());
  const std::string copies = fit.folder().Write("copies.csv", CopySamples("alpha"));
  const std::string relus = fit.folder().Path("samples.csv");
  const Outcome outcome = Spillway(
      {"fit", relus, copies, "--base", "v100-x86-pcie3", "--links-only", "--copies", "alpha", "-o", fit.Out()});
  INFO(outcome.err);
  REQUIRE(outcome.status == 0);
  const Device before = LoadMachine("v100-x86-pcie3").devices[0];
  const Machine machine = LoadMachine(fit.Out());
  CHECK(machine.devices[0].models == before.models);
  CHECK(machine.devices[0].call_floors == before.call_floors);
  CHECK(static_cast<double>(machine.links[0].curves[0].Time(100'000'000)) == Approx(10'010'000).epsilon(0.02));
  const std::string first = fit.folder().Read("fitted.yaml");
  REQUIRE(Spillway({"fit", copies, "--base", fit.Out(), "--links-only", "--copies", "alpha", "-o", fit.Out()}).status ==
          0);
  CHECK(fit.folder().Read("fitted.yaml") == first);
}

TEST_CASE("fit: half the lanes have half the rate") {
  const FitRun fit(CopySamples("alpha"));
  const Outcome outcome = Spillway({"fit", fit.folder().Path("samples.csv"), "--base", "unit", "--links-only",
                                    "--copies", "alpha", "--copies-scale", "0.5", "-o", fit.Out()});
  REQUIRE(outcome.status == 0);
  // 10 us, and 100 MB at 5 bytes per nanosecond
  CHECK(static_cast<double>(LoadMachine(fit.Out()).links[0].curves[0].Time(100'000'000)) ==
        Approx(20'010'000).epsilon(0.02));
}

TEST_CASE("fit: a report of the copies alone needs no profile") {
  const FitRun fit(CopySamples("alpha"));
  const Outcome outcome = Spillway({"fit", fit.folder().Path("samples.csv"), "--links-only", "--report", fit.Report()});
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  CHECK_THAT(fit.folder().Read("report.md"), Catch::Contains("alpha"));
  CHECK_THAT(fit.folder().Read("report.csv"), Catch::StartsWith("device,host,link,kind,direction,"));
  CHECK_FALSE(Exists(fit.Out()));
}

TEST_CASE("fit: options that do not go together are refused before anything is read or written") {
  const FitRun fit(CopySamples("alpha"));
  const auto refused = [&](const std::vector<std::string>& more, const std::string& message) {
    std::vector<std::string> words = {"fit", fit.folder().Path("samples.csv")};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = Spillway(words);
    INFO(outcome.err);
    CHECK(outcome.status == 2);
    CHECK_THAT(outcome.err, Catch::Contains(message));
    CHECK(fit.WroteNothing());
  };
  refused({}, "--output: expected a file");
  refused({"-o", fit.Out()}, "--base: expected a profile");
  refused({"-o", "-", "--base", "unit"}, "--output: expected a file");
  refused({"--links-only"}, "--links-only: nothing to write");
  refused({"--links-only", "-o", fit.Out(), "--base", "unit"}, "--links-only: whose copies make the links?");
  refused({"--links-only", "--copies", "alpha", "--report", fit.Report()}, "--copies: no profile to set links in");
  refused({"-o", fit.Out(), "--base", "unit", "--copies-scale", "0.5"}, "--copies is missing");
  refused({"-o", fit.Out(), "--base", "unit", "--links-only", "--copies", "alpha", "--copies-scale", "0"}, "0.01");
  refused({"-o", fit.Out(), "--base", "unit", "--links-only", "--copies", "alpha", "--carry", "unit"}, "--carry");
  refused({"-o", fit.Out(), "--base", "unit", "--links-only", "--copies", "alpha", "--devices", "V100-SXM2-16G"},
          "did you mean 'V100-SXM2-16GB'?");
  refused({"-o", fit.Out(), "--base", "unit", "--links-only", "--copies", "alpha", "--duplex", "alhpa"},
          "--duplex: no copies of host 'alhpa'; did you mean 'alpha'?");
  refused({"-o", fit.Out(), "--base", "unit", "--links-only", "--copies", "alpha", "--duplex", "alpha"},
          "beside others in the other direction");
}

TEST_CASE("fit: copies over links that the machine has not are told") {
  std::string far = CopySamples("alpha");
  for (std::size_t at = 0; (at = far.find("local", at)) != std::string::npos;) far.replace(at, 5, "nvlink");
  const FitRun fit(far);
  const Outcome outcome = Spillway({"fit", fit.folder().Path("samples.csv"), "--base", "unit", "--links-only",
                                    "--copies", "alpha", "-o", fit.Out()});
  CHECK(outcome.status == 2);
  CHECK_THAT(outcome.err, Catch::Contains("sets no link of unit") && Catch::Contains("called 'gpu0-host0'") &&
                              Catch::Contains("found 'nvlink'"));
  CHECK(fit.WroteNothing());
}

TEST_CASE("fit: models carried from another profile are taken over where nothing was measured") {
  const FitRun fit(ReluSamples());
  Machine teacher = LoadMachine("unit");
  KernelModel model;
  model.form = "elementwise";
  model.op = "add";
  model.pass = "forward";
  model.parameters = {{"latency", 3000}, {"bandwidth_fraction", 0.6}, {"cache_gain", 0.2}};
  model.source = {Source::Kind::kMeasured, "there"};
  teacher.devices[0].models = {model};
  const Outcome outcome = fit.Run({"--carry", fit.folder().Write("teacher.yaml", MachineToYaml(teacher))});
  INFO(outcome.err);
  REQUIRE(outcome.status == 0);
  const std::vector<KernelModel> models = LoadMachine(fit.Out()).devices[0].models;
  REQUIRE(models.size() == 2);
  const KernelModel& carried = models[0].op == "add" ? models[0] : models[1];
  CHECK(carried.parameters == model.parameters);
  CHECK(carried.source.kind == Source::Kind::kAssumed);
  CHECK_THAT(carried.source.text, Catch::Contains("carried from unit"));
  CHECK(carried.own_error > model.own_error);
}

TEST_CASE("estimate: to standard output or to a file, the same") {
  const TemporaryFolder folder("estimate");
  const std::string ops = folder.Write("ops.csv", "op,pass,n,c\nrelu,forward,1,1000\n");
  const Outcome outcome = Spillway({"estimate", ops, "--machine", "unit"});
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  CHECK(outcome.err.empty());
  // 4000 B in, 4000 B out at 1 B/ns.
  CHECK(outcome.out ==
        "op,pass,n,c,predicted_us,predicted_algorithm,predicted_workspace_bytes,how,source,error\n"
        "relu,forward,1,1000,8.000,,0,roofline,assumed,0.500\n");
  const Outcome written = Spillway({"estimate", ops, "--machine", "unit", "-o", folder.Path("out.csv")});
  CHECK(written.status == 0);
  CHECK(written.out.empty());
  CHECK(folder.Read("out.csv") == outcome.out);
  CHECK(Spillway({"estimate", ops, "--machine", "unit", "-o", "-"}).out == outcome.out);
}

TEST_CASE("estimate: several tables of the same columns make one, others are refused") {
  const TemporaryFolder folder("estimate-several");
  const std::string a = folder.Write("a.csv", "op,pass,n,c\nrelu,forward,1,1000\n");
  const std::string b = folder.Write("b.csv", "op,pass,n,c\nrelu,forward,2,1000\n");
  const std::string c = folder.Write("c.csv", "op,pass,c,n\nrelu,forward,2,1000\n");
  const std::vector<std::string> lines = Lines(Spillway({"estimate", a, b, "--machine", "unit"}).out);
  REQUIRE(lines.size() == 3);
  CHECK_THAT(lines[1], Catch::StartsWith("relu,forward,1,1000,8.000,"));
  CHECK_THAT(lines[2], Catch::StartsWith("relu,forward,2,1000,16.000,"));
  const Outcome refused = Spillway({"estimate", a, c, "--machine", "unit", "-o", folder.Path("out.csv")});
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, Catch::Contains("c.csv: error: its columns are not those of") && Catch::Contains("a.csv"));
  CHECK_FALSE(Exists(folder.Path("out.csv")));
}

TEST_CASE("estimate: --workspace limits what rows do not limit themselves") {
  const TemporaryFolder folder("estimate-workspace");
  Machine machine = LoadMachine("unit");
  for (const char* form : {"implicit_gemm", "winograd_nonfused"}) {
    KernelModel model;
    model.form = model.algorithm = form;
    model.op = "convolution";
    model.pass = "forward";
    for (const FormParameter& p : FindKernelForm(form)->parameters) model.parameters.push_back({p.name, p.start});
    // Without workspace ten seconds: longer than anything else here.
    for (KernelModel::Parameter& p : model.parameters) {
      if (p.name == "fixed" && model.form == "implicit_gemm") p.value = 1e10;
    }
    model.source = {Source::Kind::kAssumed, "test"};
    machine.devices[0].models.push_back(model);
  }
  const std::string profile = folder.Write("m.yaml", MachineToYaml(machine));
  const std::string ops = folder.Write("ops.csv", "op,pass,n,c,h,w,k,r,pad\nconv,forward,8,16,12,12,16,3,1\n");
  const auto estimate = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"estimate", ops, "--machine", profile};
    words.insert(words.end(), more.begin(), more.end());
    return Spillway(words);
  };
  CHECK_THAT(estimate({}).out, Catch::Contains(",winograd_nonfused,"));
  CHECK_THAT(estimate({"--workspace", "8MiB"}).out, Catch::Contains(",winograd_nonfused,"));
  CHECK_THAT(estimate({"--workspace", "0B"}).out, Catch::Contains(",implicit_gemm,0,"));
  const Outcome wrong = estimate({"--workspace", "8"});
  CHECK(wrong.status == 2);
  CHECK_THAT(wrong.err, Catch::Contains("--workspace: expected a size with a unit"));
}

TEST_CASE("estimate: mistakes are status 2 and leave no output, columns not read are told") {
  const TemporaryFolder folder("estimate-wrong");
  const std::string bad = folder.Write("bad.csv", "op,pass,n,c\nrely,forward,1,1000\nrelu,forward,0,1000\n");
  const Outcome outcome = Spillway({"estimate", bad, "--machine", "unit", "-o", folder.Path("out.csv")});
  CHECK(outcome.status == 2);
  CHECK_THAT(outcome.err, Catch::Contains("bad.csv:2:1: error: op: unknown 'rely'") &&
                              Catch::Contains("bad.csv:3:14: error: n:") && Catch::Contains("2 errors"));
  CHECK_FALSE(Exists(folder.Path("out.csv")));
  CHECK_THAT(Spillway({"estimate", bad, "--machine", "unti"}).err, Catch::Contains("did you mean 'unit'?"));
  CHECK(Spillway({"estimate", folder.Path("none.csv"), "--machine", "unit"}).status == 2);
  CHECK(Spillway({"estimate", bad}).status == 2);
  const std::string wide = folder.Write("wide.csv", "op,pass,n,c,strid\nrelu,forward,1,1000,2\n");
  const Outcome warned = Spillway({"estimate", wide, "--machine", "unit"});
  CHECK(warned.status == 0);
  CHECK_THAT(warned.err, Catch::Contains("column 'strid'") && Catch::Contains("did you mean 'stride'?"));
}

TEST_CASE("estimate: a profile with a model unknown to this program is refused") {
  const TemporaryFolder folder("estimate-model");
  Machine machine = LoadMachine("unit");
  KernelModel model;
  model.form = "elementwize";
  model.op = "relu";
  model.pass = "forward";
  model.source = {Source::Kind::kAssumed, "test"};
  machine.devices[0].models = {model};
  const std::string profile = folder.Write("m.yaml", MachineToYaml(machine));
  const std::string ops = folder.Write("ops.csv", "op,pass,n,c\nrelu,forward,1,1000\n");
  const Outcome outcome = Spillway({"estimate", ops, "--machine", profile});
  CHECK(outcome.status == 2);
  CHECK_THAT(outcome.err, Catch::Contains("machine 'unit', device 'gpu0': unknown kernel form 'elementwize'; did you "
                                          "mean 'elementwise'?"));
}

}  // namespace
}  // namespace spillway

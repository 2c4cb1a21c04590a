// spillway fit as a user meets it: kernels from samples.
#include <catch2/catch.hpp>
#include <cmath>

#include "model/profile/machine.h"
#include "tests/scenarios/fit_run.h"

namespace spillway {
namespace {

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
  for (const std::string& line : LinesOf(ReluSamples())) wide += "x," + line + "\n";
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
  const std::vector<std::string> lines = LinesOf(estimate.out);
  REQUIRE(lines.size() == LinesOf(ReluSamples()).size());
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

TEST_CASE("fit: models carried from another profile are taken over where nothing was measured") {
  const FitRun fit(ReluSamples());
  Machine teacher = LoadMachine("unit");
  KernelModel model;
  model.form = "elementwise";
  model.op = OpKind::kAdd;
  model.pass = Pass::kForward;
  model.parameters = {{"latency", 3000}, {"bandwidth_fraction", 0.6}, {"cache_gain", 0.2}};
  model.source = {Source::Kind::kMeasured, "there"};
  teacher.devices[0].models = {model};
  const Outcome outcome = fit.Run({"--carry", fit.folder().Write("teacher.yaml", MachineToYaml(teacher))});
  INFO(outcome.err);
  REQUIRE(outcome.status == 0);
  const std::vector<KernelModel> models = LoadMachine(fit.Out()).devices[0].models;
  REQUIRE(models.size() == 2);
  const KernelModel& carried = models[0].op == OpKind::kAdd ? models[0] : models[1];
  CHECK(carried.parameters == model.parameters);
  CHECK(carried.source.kind == Source::Kind::kAssumed);
  CHECK_THAT(carried.source.text, Catch::Contains("carried from unit"));
  CHECK(carried.own_error > model.own_error);
}

}  // namespace
}  // namespace spillway

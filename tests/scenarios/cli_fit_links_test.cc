// spillway fit as a user meets it: links from copies, with kernels and without.
#include <catch2/catch.hpp>

#include "model/profile/machine.h"
#include "tests/scenarios/fit_run.h"

namespace spillway {
namespace {

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

}  // namespace
}  // namespace spillway

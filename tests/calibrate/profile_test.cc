// What a fit makes of the profile that it started from.
#include "calibrate/fit/profile.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "hw/text/document.h"
#include "model/cost/model_cost.h"

using namespace spillway;

namespace {

CostLaw Law(OpKind op, Pass pass, const char* window) {
  CostLaw law;
  law.op = op;
  law.pass = pass;
  law.window = window;
  law.bandwidth_fraction = 0.5;
  law.source = {Source::Kind::kPublished, "a law"};
  return law;
}

KernelModel ReluModel(double latency) {
  KernelModel model;
  model.form = "elementwise";
  model.op = OpKind::kRelu;
  model.pass = Pass::kForward;
  model.parameters = {{"latency", latency}, {"bandwidth_fraction", 0.5}, {"cache_gain", 0.4}};
  model.source = {Source::Kind::kMeasured, "a fit"};
  return model;
}

Machine Base() {
  Machine machine = LoadMachine("unit");
  machine.notes = {"kept", "fit: of an earlier fit", "kept too"};
  Device& device = machine.devices[0];
  device.models = {ReluModel(1), ReluModel(2)};
  device.models[1].pass = Pass::kBackward;
  device.call_floors = {{"old", OpKind::kRelu, Pass::kForward, 1, 2}};
  return machine;
}

const std::vector<CostLaw>& LawsOf(const Machine& machine) { return machine.devices[0].laws; }

// ReLUs of one device whose latency is 4000 ns and whose bandwidth is 80 % of the sheet's 900 B/ns.
std::vector<Sample> ReluSamples() {
  std::vector<Sample> samples;
  for (std::int64_t c = 1000; c < 400'000'000; c *= 3) {
    Sample s;
    s.what = SampleKind::kKernel;
    s.device = "V100-SXM2-16GB";
    s.op = "relu";
    s.launch.kind = OpKind::kRelu;
    s.launch.shape.in = s.launch.shape.out = Shape{1, c, 1, 1, 1};
    s.microseconds = (4000 + 8 * static_cast<double>(c) / (0.8 * 900)) / 1000;
    samples.push_back(s);
  }
  return samples;
}

FitOptions V100() {
  FitOptions options;
  options.devices = {{"V100-SXM2-16GB",
                      {.peak_flops = 15700, .memory_bandwidth = 900, .multiprocessors = 80, .l2_bytes = 6.0 * kMiB}}};
  return options;
}

}  // namespace

TEST_CASE("the models of a fit replace those of the base") {
  FitResult fit;
  fit.models = {ReluModel(4000)};
  fit.models[0].op = OpKind::kAdd;
  const Machine machine = ProfileFrom(Base(), fit);
  CHECK(machine.devices[0].models == fit.models);
  CHECK(machine.devices[0].call_floors.empty());
  // Nothing else of the base changes.
  Machine rest = machine, base = Base();
  for (Machine* m : {&rest, &base}) {
    m->notes.clear();
    m->devices[0].models.clear();
    m->devices[0].call_floors.clear();
  }
  CHECK(rest == base);
}

TEST_CASE("figures are rounded to five digits") {
  FitResult fit;
  fit.models = {ReluModel(1234.5678)};
  KernelModel& model = fit.models[0];
  model.parameters[1].value = -0.000123456;
  model.parameters[2].value = 0;
  model.shared_error = 0.0987654321;
  model.own_error = 0.1999999;
  model.copy_slowdown = 1.0000001;
  model.least_work = 123456;
  model.most_work = 9.87654321e13;
  const Machine machine = ProfileFrom(Base(), fit);
  const KernelModel& rounded = machine.devices[0].models.at(0);
  CHECK(rounded.parameters == std::vector<KernelModel::Parameter>{
                                  {"latency", 1234.6}, {"bandwidth_fraction", -0.00012346}, {"cache_gain", 0}});
  CHECK(rounded.shared_error == 0.098765);
  CHECK(rounded.own_error == 0.2);
  CHECK(rounded.copy_slowdown == 1);
  CHECK(rounded.least_work == 123460);
  CHECK(rounded.most_work == 9.8765e13);
}

TEST_CASE("laws that a model now serves go, others stay") {
  Machine base = Base();
  base.devices[0].laws = {Law(OpKind::kRelu, Pass::kForward, ""), Law(OpKind::kRelu, Pass::kBackward, ""),
                          Law(OpKind::kAdd, Pass::kForward, ""), Law(OpKind::kConvolution, Pass::kForward, "3x3")};
  FitResult fit;
  fit.models = {ReluModel(4000), ReluModel(4000)};
  fit.models[1].op = OpKind::kAdd;
  fit.models[1].math = "fp16";  // fp32 launches still need the law
  const Machine machine = ProfileFrom(base, fit);
  REQUIRE(LawsOf(machine).size() == 3);
  CHECK(LawsOf(machine)[0] == base.devices[0].laws[1]);
  CHECK(LawsOf(machine)[1] == base.devices[0].laws[2]);
  CHECK(LawsOf(machine)[2] == base.devices[0].laws[3]);
}

TEST_CASE("laws stay for launches that the fitted algorithms cannot run") {
  Machine base = Base();
  base.devices[0].laws = {Law(OpKind::kConvolution, Pass::kForward, ""),
                          Law(OpKind::kConvolution, Pass::kForward, "grouped")};
  FitResult fit;
  fit.models = {ReluModel(1)};
  fit.models[0].op = OpKind::kConvolution;
  // Winograd and FFT run windows of stride 1, the explicit product no groups.
  for (const char* form : {"winograd", "winograd_nonfused", "fft", "fft_tiling", "explicit_gemm"}) {
    REQUIRE(FindKernelForm(form) != nullptr);
    fit.models[0].form = form;
    CHECK(LawsOf(ProfileFrom(base, fit)) == base.devices[0].laws);
  }
  fit.models.push_back(fit.models[0]);
  fit.models[1].form = "implicit_gemm";  // anything
  CHECK(LawsOf(ProfileFrom(base, fit)).empty());
}

TEST_CASE("what a fit had to weaken becomes notes, those of an earlier fit go") {
  FitResult fit;
  fit.warnings = {"relu forward fp32: too few layers", "another"};
  const Machine once = ProfileFrom(Base(), fit);
  CHECK(once.notes ==
        std::vector<std::string>{"kept", "kept too", "fit: relu forward fp32: too few layers", "fit: another"});
  CHECK(ProfileFrom(once, fit).notes == once.notes);
  fit.warnings.clear();
  CHECK(ProfileFrom(once, fit).notes == std::vector<std::string>{"kept", "kept too"});
}

TEST_CASE("a harness' floor is the mean of its drift") {
  FitResult fit;
  // Floor from 10,000 to 14,000 ns: 12,000. Added from 1000 to 4000 ns as the square of the place:
  // 1000 + 3000 / 3 = 2000; as its root: 1000 + 3000 / 1.5 = 3000; in proportion: 2500; steady: 1000.
  fit.floors = {{"events", OpKind::kRelu, Pass::kForward, "fp32", 10'000, 14'000, 1000, 4000, 2},
                {"events", OpKind::kRelu, Pass::kBackward, "fp32", 14'000, 10'000, 1000, 4000, 0.5},
                {"events", OpKind::kAdd, Pass::kForward, "fp32", 10'000.4, 10'001, 1000, 4000, 1},
                {"calls", OpKind::kAdd, Pass::kForward, "fp32", 0, 0, 1000, 1000, 3}};
  const std::vector<CallFloor> expected = {{"events", OpKind::kRelu, Pass::kForward, 2000, 12'000, "fp32"},
                                           {"events", OpKind::kRelu, Pass::kBackward, 3000, 12'000, "fp32"},
                                           {"events", OpKind::kAdd, Pass::kForward, 2500, 10'001, "fp32"},
                                           {"calls", OpKind::kAdd, Pass::kForward, 1000, 0, "fp32"}};
  CHECK(ProfileFrom(Base(), fit).devices[0].call_floors == expected);
}

TEST_CASE("laws that no launch reaches go, whoever taught the models") {
  Machine machine = LoadMachine("unit");
  machine.devices[0].models = {ReluModel(1)};
  machine.devices[0].laws = {Law(OpKind::kRelu, Pass::kForward, ""), Law(OpKind::kRelu, Pass::kBackward, "")};
  DropServedLaws(&machine);
  REQUIRE(LawsOf(machine).size() == 1);
  CHECK(LawsOf(machine)[0].pass == Pass::kBackward);
}

TEST_CASE("fitting the same samples again, from its own result too, gives the same profile") {
  const std::vector<Sample> samples = ReluSamples();
  Machine base = LoadMachine("unit");
  base.devices[0].memory_bandwidth = 900;
  const Machine once = ProfileFrom(base, Fit(samples, V100()));
  REQUIRE(once.devices[0].models.size() == 1);
  CHECK(MachineToYaml(ProfileFrom(base, Fit(samples, V100()))) == MachineToYaml(once));
  CHECK(MachineToYaml(ProfileFrom(once, Fit(samples, V100()))) == MachineToYaml(once));
  CHECK(ParseMachine(MachineToYaml(once), "once.yaml") == once);
  // And it is one that the cost model takes.
  CHECK(ResolveModels(once.devices[0], once.name).size() == 1);
}

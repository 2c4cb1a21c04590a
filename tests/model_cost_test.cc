// Costs by kernel models: which algorithm answers, what it says of itself, and which profiles are refused.
#include "model/model_cost.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <thread>

#include "hw/document.h"

using namespace spillway;

namespace {

constexpr Bytes kAnyWorkspace = std::numeric_limits<Bytes>::max();

// A model with the form's start values, but for those given.
KernelModel Model(const std::string& form, OpKind kind, Pass pass, const std::string& algorithm,
                  const std::vector<KernelModel::Parameter>& given) {
  const KernelForm* const found = FindKernelForm(form);
  REQUIRE(found != nullptr);
  KernelModel model;
  model.form = form;
  model.op = OpKindName(kind);
  model.pass = PassName(pass);
  model.algorithm = algorithm;
  for (const FormParameter& p : found->parameters) model.parameters.push_back({p.name, p.start});
  for (const KernelModel::Parameter& p : given) {
    const auto at = std::find_if(model.parameters.begin(), model.parameters.end(),
                                 [&](const KernelModel::Parameter& q) { return q.name == p.name; });
    REQUIRE(at != model.parameters.end());
    at->value = p.value;
  }
  model.source = {Source::Kind::kPublished, "test"};
  return model;
}

// 1000 ns and the bytes at half the bandwidth; a cache that holds them doubles the rate.
KernelModel ReluModel() {
  return Model("elementwise", OpKind::kRelu, Pass::kForward, "",
               {{"latency", 1000}, {"bandwidth_fraction", 0.5}, {"cache_gain", 1}});
}

// A convolution algorithm whose launches take `fixed` and, on the machine below, next to nothing beside it.
KernelModel ConvolutionModel(const std::string& form, double fixed) {
  return Model(form, OpKind::kConvolution, Pass::kForward, form, {{"fixed", fixed}});
}

// The unit machine with these models and a cache of 1 KiB.
Machine UnitWith(const std::vector<KernelModel>& models) {
  Machine machine = LoadMachine("unit");
  machine.devices[0].models = models;
  machine.devices[0].l2_cache = kKiB;
  return machine;
}

// The same at the rates of a real device, where small convolutions take microseconds.
Machine FastWith(const std::vector<KernelModel>& models) {
  Machine machine = UnitWith(models);
  machine.devices[0].peak_flops = 10000;
  machine.devices[0].memory_bandwidth = 500;
  machine.devices[0].multiprocessors = 80;
  machine.devices[0].l2_cache = 4 * kMiB;
  return machine;
}

// The less workspace, the slower: milliseconds apart.
std::vector<KernelModel> FourAlgorithms() {
  return {ConvolutionModel("implicit_gemm", 4e6), ConvolutionModel("implicit_precomp_gemm", 3e6),
          ConvolutionModel("winograd_nonfused", 2e6), ConvolutionModel("fft", 1e6)};
}

Launch Relu(std::int64_t elements) {
  Launch launch;
  launch.kind = OpKind::kRelu;
  launch.shape.in = launch.shape.out = Shape{1, 1, 1, 1, elements};
  return launch;
}

Launch Convolution(std::int64_t window, Bytes workspace = kAnyWorkspace) {
  Launch launch;
  launch.kind = OpKind::kConvolution;
  launch.shape.in = launch.shape.out = Shape{8, 16, 1, 12, 12};
  launch.shape.window = {1, window, window};
  launch.shape.pad = {0, window / 2, window / 2};
  launch.workspace = workspace;
  return launch;
}

std::int32_t Algorithm(const char* name) {
  const std::int32_t algorithm = AlgorithmByName(OpKind::kConvolution, Pass::kForward, name);
  REQUIRE(algorithm > 0);
  return algorithm;
}

Bytes Needs(const char* form, const Launch& launch) { return FindKernelForm(form)->workspace(launch); }

// What the model's form says, in whole nanoseconds.
Nanos TimeOf(const Machine& machine, std::size_t model, const Launch& launch) {
  const KernelModel& m = machine.devices[0].models.at(model);
  std::vector<double> parameters;
  for (const KernelModel::Parameter& p : m.parameters) parameters.push_back(p.value);
  return std::llround(FindKernelForm(m.form)->time(launch, ChipOf(machine.devices[0]), parameters));
}

bool Same(const Cost& a, const Cost& b) {
  return a.time == b.time && a.source == b.source && a.error == b.error && a.shared_error == b.shared_error &&
         a.group == b.group && std::string(a.how) == b.how && a.algorithm == b.algorithm &&
         a.workspace == b.workspace && a.copy_slowdown == b.copy_slowdown;
}

std::string Refusal(const KernelModel& model) {
  Machine machine = UnitWith({ReluModel(), model});
  try {
    const CostModel costs(machine);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST_CASE("parameters that make a kernel take for ever do not make it free") {
  KernelModel relu = ReluModel();
  for (KernelModel::Parameter& p : relu.parameters) {
    if (p.name == "bandwidth_fraction") p.value = 1e-300;
  }
  const Machine machine = UnitWith({relu});
  CHECK(CostModel(machine).Kernel(Relu(1000)).time == 1'000'000'000'000'000);  // the longest there is
}

}  // namespace

TEST_CASE("a model's answer is its form's law, with what the profile says of it") {
  KernelModel model = ReluModel();
  model.shared_error = 0.3;
  model.own_error = 0.4;
  const Machine machine = UnitWith({model});
  // 1000 elements: 4000 B in, 4000 B out, more than the cache: 1000 + 8000 / 0.5.
  const Cost cost = CostModel(machine).Kernel(Relu(1000));
  CHECK(cost.time == 17000);
  CHECK(std::string(cost.how) == "model");
  CHECK(cost.source == Source::Kind::kPublished);
  CHECK(cost.shared_error == 0.3);
  CHECK(cost.error == Approx(0.5));  // 0.3 and 0.4 are independent
  CHECK(cost.algorithm == 0);
  CHECK(cost.workspace == 0);
}

TEST_CASE("the cache of the profile counts, a usual one where it says nothing") {
  Machine machine = UnitWith({ReluModel()});
  machine.devices[0].l2_cache = 16000;  // 8000 B are half of it: twice the rate
  CHECK(CostModel(machine).Kernel(Relu(1000)).time == 1000 + 8000);
  machine.devices[0].l2_cache = 0;
  CHECK(CostModel(machine).Kernel(Relu(1000)).time == 1000 + 8000);
  // 16 MB are more than the smallest chips' few MiB.
  CHECK(CostModel(machine).Kernel(Relu(2'000'000)).time == 1000 + 32'000'000);
}

TEST_CASE("the fastest algorithm within the workspace answers, and no more workspace makes it slower") {
  const Machine machine = FastWith(FourAlgorithms());
  const CostModel costs(machine);
  const char* const names[] = {"implicit_gemm", "implicit_precomp_gemm", "winograd_nonfused", "fft"};
  std::vector<Bytes> grants = {0, kAnyWorkspace};
  for (const char* name : names) {
    const Bytes need = Needs(name, Convolution(3));
    for (const Bytes grant : {need - 1, need, need + 1}) grants.push_back(std::max<Bytes>(0, grant));
  }
  std::sort(grants.begin(), grants.end());
  Nanos before = std::numeric_limits<Nanos>::max();
  for (const Bytes grant : grants) {
    INFO(grant);
    const Launch launch = Convolution(3, grant);
    const Cost cost = costs.Kernel(launch);
    std::size_t fastest = 0;
    for (std::size_t i = 1; i < 4; ++i) {
      if (Needs(names[i], launch) <= grant && TimeOf(machine, i, launch) < TimeOf(machine, fastest, launch))
        fastest = i;
    }
    CHECK(cost.time == TimeOf(machine, fastest, launch));
    CHECK(cost.algorithm == Algorithm(names[fastest]));
    CHECK(cost.workspace == Needs(names[fastest], launch));
    CHECK(cost.workspace <= grant);
    CHECK(cost.time <= before);
    before = cost.time;
  }
  // Both ends of the ladder, so that it is one: no workspace and plenty.
  CHECK(costs.Kernel(Convolution(3, 0)).algorithm == Algorithm("implicit_gemm"));
  CHECK(costs.Kernel(Convolution(3)).algorithm == Algorithm("fft"));
  CHECK(costs.Kernel(Convolution(3, Needs("fft", Convolution(3)) - 1)).algorithm != Algorithm("fft"));
}

TEST_CASE("the order of the models in the profile does not matter") {
  std::vector<KernelModel> models = FourAlgorithms();
  const Machine machine = FastWith(models);
  const Machine reversed = FastWith({models.rbegin(), models.rend()});
  const CostModel a(machine), b(reversed);
  for (const char* form : {"implicit_gemm", "implicit_precomp_gemm", "winograd_nonfused", "fft"}) {
    const Launch launch = Convolution(3, Needs(form, Convolution(3)));
    CHECK(Same(a.Kernel(launch), b.Kernel(launch)));
  }
}

TEST_CASE("a grant below every need: the algorithm that needs least, and how much that is") {
  const Machine machine = FastWith({ConvolutionModel("winograd_nonfused", 2e6), ConvolutionModel("fft", 1e6)});
  const Bytes winograd = Needs("winograd_nonfused", Convolution(3)), fft = Needs("fft", Convolution(3));
  REQUIRE(winograd != fft);
  const Cost cost = CostModel(machine).Kernel(Convolution(3, std::min(winograd, fft) - 1));
  CHECK(cost.workspace == std::min(winograd, fft));
  CHECK(cost.algorithm == Algorithm(winograd < fft ? "winograd_nonfused" : "fft"));
}

TEST_CASE("a named algorithm answers alone, faster ones and too little workspace notwithstanding") {
  const Machine machine = FastWith(FourAlgorithms());
  const CostModel costs(machine);
  const auto named = [&](const char* name, Bytes workspace) {
    Launch launch = Convolution(3, workspace);
    launch.algorithm = Algorithm(name);
    return costs.Kernel(launch);
  };
  CHECK(named("implicit_gemm", kAnyWorkspace).algorithm == Algorithm("implicit_gemm"));
  CHECK(named("implicit_gemm", kAnyWorkspace).time == TimeOf(machine, 0, Convolution(3)));
  CHECK(named("fft", 0).algorithm == Algorithm("fft"));
  CHECK(named("fft", 0).time == TimeOf(machine, 3, Convolution(3)));
  CHECK(named("fft", 0).workspace == Needs("fft", Convolution(3)));
  // No model of it: nobody else's answer is passed off as its own.
  CHECK(named("direct", kAnyWorkspace).algorithm == 0);
  CHECK(std::string(named("direct", kAnyWorkspace).how) == "roofline");
}

TEST_CASE("the usual workspace is that of the options") {
  const Machine machine = FastWith(FourAlgorithms());
  for (const Bytes limit : {Bytes{0}, Needs("fft", Convolution(3)) - 1, kAnyWorkspace}) {
    const CostModel costs(machine, {.workspace_limit = limit});
    CHECK(Same(costs.Kernel(Convolution(3, kUsualWorkspace)), costs.Kernel(Convolution(3, limit))));
    CHECK(costs.Kernel(Convolution(3)).algorithm == Algorithm("fft"));  // granted by the launch itself
  }
  CHECK(CostModel(machine).options().workspace_limit == 8 * kMiB);
  CHECK(CostModel(machine, {.workspace_limit = 0}).Kernel(Convolution(3, kUsualWorkspace)).algorithm ==
        Algorithm("implicit_gemm"));
}

TEST_CASE("launches without a model fall back to laws, then to the roofline") {
  Machine machine = UnitWith({ReluModel(), ConvolutionModel("winograd_nonfused", 1e6)});
  CostLaw law;
  law.op = "convolution";
  law.pass = "forward";
  law.fixed = 77;
  machine.devices[0].laws = {law};
  const CostModel costs(machine);
  CHECK(std::string(costs.Kernel(Convolution(3)).how) == "model");
  // Winograd cannot run a 1x1 window.
  CHECK(std::string(costs.Kernel(Convolution(1)).how) == "law");
  CHECK(costs.Kernel(Convolution(1)).time == 77);
  Launch backward = Relu(1000);
  backward.pass = Pass::kBackward;
  CHECK(std::string(costs.Kernel(backward).how) == "roofline");
  Launch add = Relu(1000);
  add.kind = OpKind::kAdd;  // the same form, but no model of it
  add.shape.operands = 2;
  const Cost roofline = costs.Kernel(add);
  CHECK(std::string(roofline.how) == "roofline");
  CHECK(roofline.time == 12000);  // two inputs read, one written
  CHECK(roofline.source == Source::Kind::kAssumed);
}

TEST_CASE("beyond its data a model says so and is the less sure") {
  KernelModel model = ReluModel();
  model.shared_error = 0.1;
  model.own_error = 0.2;
  model.least_work = 8000;
  model.most_work = 16000;
  const Machine machine = UnitWith({model});
  const CostModel costs(machine);
  // 8000 B, 16,000 B: both ends are within.
  for (const std::int64_t elements : {1000, 2000}) {
    CHECK(std::string(costs.Kernel(Relu(elements)).how) == "model");
    CHECK(costs.Kernel(Relu(elements)).error == Approx(std::sqrt(0.01 + 0.04)));
  }
  // 128,000 B, 8 times the most: ln 8 = 2.079, 0.05 of that = 0.104 beside the model's own 0.2.
  const Cost above = costs.Kernel(Relu(16000));
  CHECK(std::string(above.how) == "model beyond its data");
  CHECK(above.error == Approx(std::sqrt(0.01 + 0.04 + 0.104 * 0.104)).epsilon(1e-3));
  CHECK(above.shared_error == 0.1);
  // 1000 B, an eighth of the least: as far on the other side.
  CHECK(costs.Kernel(Relu(125)).error == Approx(above.error));
  CHECK(std::string(costs.Kernel(Relu(125)).how) == "model beyond its data");
  CHECK(costs.Kernel(Relu(160000)).error > above.error);
  // Not known: never beyond.
  model.least_work = model.most_work = 0;
  const Machine silent = UnitWith({model});
  CHECK(std::string(CostModel(silent).Kernel(Relu(16000)).how) == "model");
}

TEST_CASE("other arithmetic than the models': their times as an assumption") {
  const Machine machine = UnitWith({ReluModel()});
  const CostModel costs(machine);
  for (const MathMode math : {MathMode::kTf32, MathMode::kFp16, MathMode::kBf16}) {
    Launch launch = Relu(1000);
    launch.math = math;
    CHECK(costs.Kernel(launch).time == 17000);
    CHECK(costs.Kernel(launch).source == Source::Kind::kAssumed);
    CHECK(costs.Kernel(launch).error >= 0.5);
  }
  Launch half = Relu(1000);
  half.type = DataType::kFp16;
  CHECK(costs.Kernel(half).time == 1000 + 8000);  // half the bytes
  CHECK(costs.Kernel(half).source == Source::Kind::kAssumed);
  CHECK(costs.Kernel(half).error >= 0.5);
}

TEST_CASE("models for the launch's own arithmetic go first and are no assumption") {
  KernelModel tensor = ReluModel(), half = ReluModel();
  tensor.math = "tf32";
  tensor.parameters[0].value = 5000;
  half.math = "fp16";
  half.parameters[0].value = 200;
  const Machine machine = UnitWith({ReluModel(), tensor, half});
  const CostModel costs(machine);
  Launch launch = Relu(1000);
  CHECK(costs.Kernel(launch).time == 17000);
  launch.math = MathMode::kTf32;  // slower, and still the one that was asked for
  CHECK(costs.Kernel(launch).time == 21000);
  CHECK(costs.Kernel(launch).source == Source::Kind::kPublished);
  CHECK(costs.Kernel(launch).error < 0.5);
  launch.math = MathMode::kFp16;  // of fp32 data: not what it was fitted to
  CHECK(costs.Kernel(launch).source == Source::Kind::kAssumed);
  launch.type = DataType::kFp16;
  CHECK(costs.Kernel(launch).time == 200 + 8000);
  CHECK(costs.Kernel(launch).source == Source::Kind::kPublished);
  CHECK(costs.Kernel(launch).error < 0.5);
  launch.math = MathMode::kFp32;  // half-precision data in fp32 arithmetic
  CHECK(costs.Kernel(launch).source == Source::Kind::kAssumed);
}

TEST_CASE("grouped and 3-D convolutions are assumptions, wrong together") {
  const Machine machine = FastWith({ConvolutionModel("implicit_gemm", 1e6)});
  const CostModel costs(machine);
  Launch grouped = Convolution(3), volume = Convolution(3);
  grouped.shape.groups = 2;
  volume.shape.in.d = volume.shape.out.d = 4;
  for (const Launch& launch : {grouped, volume}) {
    const Cost cost = costs.Kernel(launch);
    CHECK(cost.time == TimeOf(machine, 0, launch));
    CHECK(cost.source == Source::Kind::kAssumed);
    CHECK(cost.error >= 0.6);
    CHECK(cost.shared_error == cost.error);
    CHECK(std::string(cost.how) == "model beyond its data");
  }
  CHECK(costs.Kernel(Convolution(3)).source == Source::Kind::kPublished);
  CHECK(costs.Kernel(Convolution(3)).error < 0.6);
}

TEST_CASE("what a copy takes from a kernel follows from its share of the memory and the link") {
  KernelModel model = ReluModel();
  Machine machine = UnitWith({model});
  // 8000 B in 17,000 ns at 1 B/ns: 8/17 of the memory's rate. The link moves 1 B/ns, all of it.
  CHECK(CostModel(machine).Kernel(Relu(1000)).copy_slowdown == Approx(1 + 8.0 / 17));
  // Copies at 0.25 and 0.5 B/ns: the faster direction counts, at large sizes.
  machine.links[0].curves[0].points = {{1, 10}, {1000, 1009}, {2000, 5009}};
  machine.links[0].curves[1].points = {{1, 10}, {1000, 1009}, {2000, 3009}};
  CHECK(CostModel(machine).Kernel(Relu(1000)).copy_slowdown == Approx(1 + 8.0 / 17 / 2));
  std::swap(machine.links[0].curves[0], machine.links[0].curves[1]);
  CHECK(CostModel(machine).Kernel(Relu(1000)).copy_slowdown == Approx(1 + 8.0 / 17 / 2));
  // A memory four times as fast: 8000 B in 5000 ns are 0.4 of it, and the link an eighth.
  machine.devices[0].memory_bandwidth = 4;
  CHECK(CostModel(machine).Kernel(Relu(1000)).copy_slowdown == Approx(1 + 0.4 / 8));
  // Only the first link of the device counts.
  machine.links.push_back(LoadMachine("unit").links[0]);
  CHECK(CostModel(machine).Kernel(Relu(1000)).copy_slowdown == Approx(1 + 0.4 / 8));
}

TEST_CASE("a kernel cannot use more than the memory has") {
  KernelModel model = ReluModel();
  model.parameters[0].value = 1e-9;
  model.parameters[1].value = 2;  // twice the sheet's bandwidth
  const Machine machine = UnitWith({model});
  CHECK(CostModel(machine).Kernel(Relu(1000)).time == 4000);
  CHECK(CostModel(machine).Kernel(Relu(1000)).copy_slowdown == Approx(2));
}

TEST_CASE("a measured slowdown is kept") {
  KernelModel model = ReluModel();
  model.copy_slowdown = 1.3;
  const Machine machine = UnitWith({model});
  CHECK(CostModel(machine).Kernel(Relu(1000)).copy_slowdown == 1.3);
}

TEST_CASE("equal models are wrong together on whatever machine, different ones apart") {
  const Machine one = UnitWith({ReluModel()});
  Machine other = FastWith({ConvolutionModel("implicit_gemm", 1e6), ReluModel()});
  other.name = "other";
  other.devices[0].models[1].own_error = 0.4;
  other.devices[0].models[1].source.text = "another place";
  const std::uint64_t group = CostModel(one).Kernel(Relu(1000)).group;
  CHECK(group == CostModel(one).Kernel(Relu(77)).group);
  CHECK(group == CostModel(other).Kernel(Relu(1000)).group);
  CHECK(group != CostModel(other).Kernel(Convolution(3)).group);
  other.devices[0].models[1].parameters[0].value += 1;
  CHECK(group != CostModel(other).Kernel(Relu(1000)).group);
}

TEST_CASE("equal parameters of different algorithms are different models") {
  const Machine machine =
      FastWith({Model("implicit_precomp_gemm", OpKind::kConvolution, Pass::kBackwardFilter, "algo_1", {}),
                Model("implicit_precomp_gemm", OpKind::kConvolution, Pass::kBackwardFilter, "algo_3", {})});
  const std::vector<ResolvedModel> models = ResolveModels(machine.devices[0], machine.name);
  REQUIRE(models.size() == 2);
  CHECK(models[0].group != models[1].group);
  CHECK(models[0].algorithm != models[1].algorithm);
}

TEST_CASE("what this program does not know of a model is refused with machine, device and nearest name") {
  const auto refused = [](auto change) {
    KernelModel model = ReluModel();
    change(model);
    return Refusal(model);
  };
  const auto at = Catch::Contains("machine 'unit', device 'gpu0': ");
  CHECK_THAT(refused([](KernelModel& m) { m.form = "elementwize"; }),
             at && Catch::Contains("unknown kernel form 'elementwize'; did you mean 'elementwise'?"));
  CHECK_THAT(refused([](KernelModel& m) { m.op = "rely"; }),
             at && Catch::Contains("unknown op 'rely'; did you mean 'relu'?"));
  CHECK_THAT(refused([](KernelModel& m) { m.pass = "foward"; }),
             at && Catch::Contains("unknown pass 'foward'; did you mean 'forward'?"));
  CHECK_THAT(refused([](KernelModel& m) { m.math = "fp23"; }),
             at && Catch::Contains("unknown math 'fp23'; did you mean 'fp32'?"));
  CHECK_THAT(refused([](KernelModel& m) { m.parameters.erase(m.parameters.begin()); }),
             at && Catch::Contains("lacks the parameter 'latency' (nanoseconds"));
  CHECK_THAT(refused([](KernelModel& m) {
               m.parameters.push_back({"latncy", 1});
             }),
             at && Catch::Contains("no parameter 'latncy'; did you mean 'latency'?"));
  CHECK_THAT(refused([](KernelModel& m) { m.parameters[1].value = 0; }),
             at && Catch::Contains("'bandwidth_fraction'") && Catch::Contains("must be more than zero"));
  CHECK_THAT(refused([](KernelModel& m) { m.parameters[1].value = -0.5; }), Catch::Contains("more than zero"));
  CHECK_THAT(refused([](KernelModel& m) { m.op = "convolution"; }),
             at && Catch::Contains("the form has no algorithm '' for convolution forward"));
  CHECK(refused([](KernelModel&) {}) == "no error");
  KernelModel convolution = ConvolutionModel("winograd_nonfused", 1e6);
  convolution.algorithm = "winograd_nonfusd";
  CHECK_THAT(Refusal(convolution), at && Catch::Contains("did you mean 'winograd_nonfused'?"));
}

TEST_CASE("answers do not depend on what was asked before") {
  const Machine machine = FastWith(FourAlgorithms());
  Machine two = machine;
  two.devices.push_back(UnitWith({ReluModel()}).devices[0]);
  two.devices[1].memory_bandwidth = 2;
  two.links.push_back(two.links[0]);
  two.links[1].device = 1;
  const CostModel asked(two);
  // Alike but for one thing each.
  std::vector<Launch> launches = {Convolution(3), Convolution(3, 0), Convolution(3, 1000), Convolution(5), Relu(1000)};
  launches.push_back(launches[0]);
  launches.back().algorithm = Algorithm("winograd_nonfused");
  launches.push_back(launches[0]);
  launches.back().math = MathMode::kTf32;
  launches.push_back(launches[0]);
  launches.back().type = DataType::kFp16;
  launches.push_back(launches[0]);
  launches.back().layout = Layout::kNhwc;
  launches.push_back(launches[0]);
  launches.back().accumulate = true;
  launches.push_back(launches[0]);
  launches.back().pass = Pass::kBackwardData;
  for (int turn = 0; turn < 2; ++turn) {
    for (const Launch& launch : launches) {
      for (const int device : {0, 1}) {
        CHECK(Same(asked.Kernel(launch, device), CostModel(two).Kernel(launch, device)));
      }
    }
  }
  CHECK(asked.Kernel(Relu(1000), 0).time != asked.Kernel(Relu(1000), 1).time);
}

TEST_CASE("several threads may ask one model") {
  const Machine machine = FastWith(FourAlgorithms());
  const CostModel shared(machine);
  std::vector<Launch> launches;
  for (std::int64_t n = 1; n <= 100; ++n) {
    launches.push_back(Convolution(3, n * 10000));
    launches.back().shape.in.n = launches.back().shape.out.n = n;
  }
  std::vector<std::vector<Cost>> answers(4);
  std::vector<std::thread> threads;
  for (std::vector<Cost>& mine : answers) {
    threads.emplace_back([&shared, &launches, &mine] {
      for (int turn = 0; turn < 20; ++turn) {
        mine.clear();
        for (const Launch& launch : launches) mine.push_back(shared.Kernel(launch));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<Cost>& mine : answers) {
    REQUIRE(mine.size() == launches.size());
    for (std::size_t i = 0; i < launches.size(); ++i) {
      CHECK(Same(mine[i], CostModel(machine).Kernel(launches[i])));
    }
  }
}

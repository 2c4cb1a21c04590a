// Costs by kernel models: which algorithm answers, and with which time.
#include "model/cost/model_cost.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <thread>

#include "tests/kernel_models.h"

using namespace spillway;

namespace {

std::int32_t Algorithm(const char* name) {
  const std::int32_t algorithm = AlgorithmByName(OpKind::kConvolution, Pass::kForward, name);
  REQUIRE(algorithm > 0);
  return algorithm;
}

Bytes Needs(const char* form, const Launch& launch) { return FindKernelForm(form)->workspace(launch); }

bool Same(const Cost& a, const Cost& b) {
  return a.time == b.time && a.source == b.source && a.error == b.error && a.shared_error == b.shared_error &&
         a.group == b.group && std::string(a.how) == b.how && a.algorithm == b.algorithm &&
         a.workspace == b.workspace && a.copy_slowdown == b.copy_slowdown;
}

}  // namespace

TEST_CASE("parameters that make a kernel take for ever do not make it free") {
  KernelModel relu = ReluModel();
  for (KernelModel::Parameter& p : relu.parameters) {
    if (p.name == "bandwidth_fraction") p.value = 1e-300;
  }
  const Machine machine = UnitWith({relu});
  CHECK(CostModel(machine).Kernel(Relu(1000)).time == 1'000'000'000'000'000);  // the longest there is
}

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
  law.op = OpKind::kConvolution;
  law.pass = Pass::kForward;
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

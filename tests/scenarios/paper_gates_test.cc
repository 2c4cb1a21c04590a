// What the PoocH paper says across its two machines and no expectation of a scenario can: figures 17 and 18.
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <tuple>

#include "scenarios/run/run.h"

namespace spillway {
namespace {

constexpr const char* kX86 = "v100-x86-pcie3";
constexpr const char* kPower9 = "v100-power9-nvlink2";
constexpr std::array<std::int64_t, 4> kOutOfCore = {256, 384, 512, 640};

using Rows = std::map<std::tuple<std::string, std::string, std::int64_t>, ResultRow>;

const Rows& Figure17() {
  static const Rows rows = [] {
    PreparedRun run;
    Prepare(ReadScenario(LoadDocument(SPILLWAY_SOURCE_DIR "/scenarios/pooch-fig17.yaml")), {}, run);
    Rows found;
    RunPoints(run, 2, [&](const Point&, PointResult& result) {
      const ResultRow& r = result.row;
      found.emplace(std::tuple(r.machine, r.strategy, r.batch), r);
    });
    return found;
  }();
  return rows;
}

const ResultRow& At(const char* machine, const char* strategy, std::int64_t batch) {
  return Figure17().at({machine, strategy, batch});
}

TEST_CASE("ResNet-50 fits at batch 128 and not at 256") {
  for (const char* machine : {kX86, kPower9}) {
    CHECK(At(machine, "in-core", 128).feasible);
    CHECK_FALSE(At(machine, "in-core", 256).feasible);
  }
}

TEST_CASE("superneurons runs out of memory at 640 only") {
  for (const char* machine : {kX86, kPower9}) {
    for (const std::int64_t batch : {128, 256, 384, 512}) CHECK(At(machine, "superneurons", batch).feasible);
    CHECK_FALSE(At(machine, "superneurons", 640).feasible);
  }
}

TEST_CASE("behind the slower link PoocH recomputes more") {
  for (const std::int64_t batch : kOutOfCore) {
    const int x86 = At(kX86, "pooch", batch).plan.classes.recompute,
              power9 = At(kPower9, "pooch", batch).plan.classes.recompute;
    INFO("batch " << batch << ", x86 " << x86 << ", POWER9 " << power9);
    CHECK((batch == 256 ? x86 >= power9 : x86 > power9));
  }
}

TEST_CASE("behind the slower link PoocH is no faster") {
  for (const std::int64_t batch : kOutOfCore) {
    const ResultRow &x86 = At(kX86, "pooch", batch), &power9 = At(kPower9, "pooch", batch);
    INFO("batch " << batch);
    REQUIRE(x86.feasible);
    REQUIRE(power9.feasible);
    CHECK(x86.times.step >= power9.times.step);
  }
}

TEST_CASE("the plan for POWER9 is slower on x86 than the plan for x86") {
  for (const std::int64_t batch : kOutOfCore) {
    const ResultRow& moved = At(kX86, "pooch@v100-power9-nvlink2", batch);
    INFO("batch " << batch);
    CHECK((!moved.feasible || moved.times.step > At(kX86, "pooch", batch).times.step));  // the paper's runs out at 640
  }
}

}  // namespace
}  // namespace spillway

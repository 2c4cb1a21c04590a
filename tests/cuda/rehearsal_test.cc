// A rehearsal is told what it should be, is what it was told, and loads as the real plugin does.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <memory>
#include <string>

#include "calibrate/devices/cuda/load.h"
#include "hw/text/document.h"
#include "model/cost/cost_model.h"
#include "tests/cuda/rehearsal/device.h"
#include "tests/cuda/rehearsal/settings.h"

namespace spillway {
namespace {

using Catch::Contains;

std::string Complaint(const std::string& text) {
  try {
    ParseRehearsalSettings(text);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

OpCall Convolution() {
  OpCall call;
  call.launch.kind = OpKind::kConvolution;
  call.launch.shape.in = {.n = 32, .c = 64, .h = 56, .w = 56};
  call.launch.shape.out = {.n = 32, .c = 64, .h = 56, .w = 56};
  call.launch.shape.window = {1, 3, 3};
  call.launch.shape.pad = {0, 1, 1};
  return call;
}

}  // namespace

TEST_CASE("a rehearsal's settings: nothing, or words in any order") {
  const RehearsalSettings usual = ParseRehearsalSettings("");
  CHECK(usual.profile.empty());
  CHECK(usual.noise == 0.01);
  CHECK(usual.memory == 0);
  CHECK(usual.speed == 1);
  const RehearsalSettings all = ParseRehearsalSettings(" speed=10;memory = 80 GB ;noise=0; profile=hw/a b.yaml;");
  CHECK(all.profile == "hw/a b.yaml");
  CHECK(all.noise == 0);
  CHECK(all.memory == 80 * kGB);
  CHECK(all.speed == 10);
}

TEST_CASE("a rehearsal's settings: what is wrong is refused by name") {
  CHECK_THAT(Complaint("nois=1"), Contains("SPILLWAY_REHEARSAL: unknown word 'nois'") && Contains("noise, memory"));
  CHECK_THAT(Complaint("noise"), Contains("expected 'word=value', not 'noise'"));
  CHECK_THAT(Complaint("noise=1; speed= ;"), Contains("speed: there is no value"));
  CHECK_THAT(Complaint("speed=2;speed=2"), Contains("speed is there twice"));
  CHECK_THAT(Complaint("noise=2"), Contains("noise: expected a number from 0 to 1, not '2'"));
  CHECK_THAT(Complaint("speed=0"), Contains("speed: expected a number from 0.001 to 1000"));
  CHECK_THAT(Complaint("memory=80"), Contains("memory: expected an amount such as '80 GB', not '80'"));
  CHECK_THAT(Complaint("memory=0 B"), Contains("memory: expected an amount"));
}

TEST_CASE("a rehearsal takes the times of its profile's model, and says what it is") {
  const Machine profile = LoadMachine("h100-sxm");
  const StandInOptions options = RehearsalOptions(profile, {.noise = 0, .speed = 2});
  const CostModel costs(profile);
  OpCall call = Convolution();
  CHECK(options.kernel_time(call) == Approx(static_cast<double>(costs.Kernel(call.launch).time) / 2));
  CHECK(options.copy_time(kGiB, Direction::kHostToDevice) ==
        Approx(static_cast<double>(costs.Copy(kGiB, Direction::kHostToDevice).time) / 2));
  CHECK(options.memory == profile.devices[0].total_memory);
  CHECK(options.properties.name == "rehearsal of h100-sxm, no GPU");
  CHECK(options.properties.multiprocessors == profile.devices[0].multiprocessors);

  CudaStandIn cuda(options);
  const std::vector<CudaAlgorithm> algorithms = cuda.Algorithms(call);
  REQUIRE(algorithms.size() >= 2);
  double before = 0;
  for (const CudaAlgorithm& algorithm : algorithms) {
    call.launch.algorithm = algorithm.algorithm;
    call.launch.workspace = algorithm.workspace;
    CHECK(cuda.Prepare(call)->workspace() == algorithm.workspace);
    CHECK(options.kernel_time(call) >= before);  // in order
    before = options.kernel_time(call);
    if (algorithm.workspace == 0) continue;
    call.launch.workspace = algorithm.workspace - 1;
    CHECK_THROWS_AS(cuda.Prepare(call), DeviceError);
  }
}

TEST_CASE("a rehearsal's plugin loads as the CUDA plugin does") {
  const std::string plugin = SPILLWAY_TEST_REHEARSAL;
  const auto complaint = [&](int device, const char* settings) -> std::string {
    ::setenv("SPILLWAY_REHEARSAL", settings, 1);
    try {
      MakeCudaCalls(device, plugin);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  CHECK_THAT(complaint(0, ""), Contains("the rehearsal's profile is missing") && Contains("profile=FILE"));
  CHECK_THAT(complaint(0, "speed=fast"), Contains("speed: expected a number"));
  CHECK_THAT(complaint(1, ""), Contains("no CUDA device 1: a rehearsal has one, 0"));
  const std::string settings = std::string("memory=200 GB; profile=") + SPILLWAY_SOURCE_DIR + "/hw/h100-sxm.yaml";
  ::setenv("SPILLWAY_REHEARSAL", settings.c_str(), 1);
  const std::shared_ptr<CudaCalls> calls = MakeCudaCalls(0, plugin);
  CHECK(calls->Properties().name == "rehearsal of h100-sxm, no GPU");
  CHECK(calls->Memory().total == 200 * kGB);
  void* const memory = calls->Malloc(150 * kGB);
  try {
    calls->Malloc(150 * kGB);
    FAIL("there is no room for it");
  } catch (const DeviceError& error) {  // thrown there, caught here
    CHECK(error.fault() == Fault::kNoMemory);
  }
  calls->Free(memory);
}

}  // namespace spillway

// How fast a GPU computes now, as spillway validate asks it: that it comes out, what it costs, what it leaves behind.
#include "calibrate/validate/pace.h"
#include "model/profile/launch_text.h"
#include "model/step/launch.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "scenarios/file/bench_networks.h"
#include "tests/cuda/cuda_command_line.h"

namespace spillway {

#ifdef SPILLWAY_HAS_CPU_DEVICE
namespace {

std::vector<std::string> CalibrateWords(const GpuFolder& f) {
  return f.Words(f.folder().Path("tiny.yaml") + ":16", {"--protocol", "warm"});
}

}  // namespace

TEST_CASE("a GPU that is slower than when it was calibrated, by an emulated balance too") {
  const GpuFolder f;
  Gpu then;
  REQUIRE(then.Calibrate(CalibrateWords(f)).status == kExitDone);
  StandInOptions options = SlowGpu();
  options.kernel_time = [usual = options.kernel_time](const OpCall& call) { return 1.5 * usual(call); };
  Gpu now(options);
  const std::string scenario = ScenarioIn(f, "emulate: [as-is, {compute_slowdown: 4}]\n");
  const Outcome outcome = now.Validate({scenario, "--steps", "5", "--strategies", "recompute-all", "--format", "csv"});
  INFO(outcome.out << outcome.err);
  REQUIRE(outcome.status == kExitDone);
  int measured = 0;
  for (const auto& row : RowsOf(outcome.out)) {
    if (row.at("measured_s").empty()) continue;
    ++measured;
    CHECK(std::stod(row.at("products_pace")) == Approx(1.5).epsilon(0.002));
    CHECK(std::stod(row.at("others_pace")) == Approx(1.5).epsilon(0.002));
    CHECK(std::abs(std::stod(row.at("error"))) < 0.05);
    CHECK(std::stod(row.at("as_calibrated_s")) < 0.75 * std::stod(row.at("measured_s")));
  }
  CHECK(measured == 2);
  now.CheckClean();
}

TEST_CASE("a GPU's pace is that of the algorithms which its plans are offered, not of faster ones that vary") {
  const std::set<std::int32_t> varying = {3, 8};  // of each pass one that the stand-in has
  const GpuFolder f;
  const auto options = [&](double usual_pace, double varying_pace) {
    StandInOptions slow = SlowGpu();
    slow.varying = varying;
    slow.kernel_time = [=, usual = slow.kernel_time](const OpCall& call) {
      const bool varies = call.launch.kind == OpKind::kConvolution && varying.contains(call.launch.algorithm);
      return (varies ? varying_pace : usual_pace) * usual(call);
    };
    return slow;
  };
  Gpu then(options(1, 0.5));
  REQUIRE(then.Calibrate(CalibrateWords(f)).status == kExitDone);
  Gpu now(options(1.5, 4));
  const Outcome outcome =
      now.Validate({ScenarioIn(f, ""), "--steps", "5", "--strategies", "recompute-all", "--format", "csv"});
  INFO(outcome.out << outcome.err);
  REQUIRE(outcome.status == kExitDone);
  const auto rows = RowsOf(outcome.out);
  REQUIRE(!rows.empty());
  CHECK(std::stod(rows.back().at("products_pace")) == Approx(1.5).epsilon(0.002));
  CHECK(std::abs(std::stod(rows.back().at("error"))) < 0.05);
}

TEST_CASE("code of kernels is the reserve's: measured with them loaded, told beside the profile's") {
  constexpr Bytes kCode = 64 * kKiB;
  const GpuFolder f;
  Gpu then;
  REQUIRE(then.Calibrate(CalibrateWords(f)).status == kExitDone);
  const std::string scenario = ScenarioIn(f, "");
  const auto validate = [&](Bytes code, Gpu::Pace pace, const std::string& format) {
    StandInOptions options = SlowGpu();
    options.code_bytes = code;
    Gpu gpu(options);
    Outcome outcome =
        gpu.Validate({scenario, "--steps", "5", "--strategies", "recompute-all", "--format", format}, pace);
    INFO(outcome.err);
    REQUIRE(outcome.status == kExitDone);
    return outcome;
  };
  const auto row = [&](Bytes code, Gpu::Pace pace) { return RowsOf(validate(code, pace, "csv").out).back(); };
  const auto bytes = [](const auto& of, const char* column) { return std::stoll(of.at(column)); };
  const auto paced = row(kCode, Gpu::Pace::kMeasured), plain = row(kCode, Gpu::Pace::kAsProfile),
             bare = row(0, Gpu::Pace::kAsProfile);
  constexpr const char *kDevice = "measured_device_bytes", *kNow = "measured_reserve_bytes";
  CHECK(bytes(bare, kNow) == 64 * kMiB);                       // the context
  CHECK(bytes(plain, kNow) > bytes(bare, kNow) + 10 * kCode);  // so that there is something to see
  // The first ops of both libraries, which the profile's reserve is measured with.
  CHECK(bytes(paced, kNow) == bytes(plain, kNow) + 2 * kCode);
  for (const auto& measured : {paced, plain, bare}) {
    CHECK(bytes(measured, "profile_reserve_bytes") == 64 * kMiB);
    CHECK(bytes(measured, "predicted_device_bytes") == 2'450'000 + 64 * kMiB);
    // What is left is the session's own, whatever code there is.
    CHECK(bytes(measured, kDevice) - bytes(measured, kNow) == bytes(bare, kDevice) - bytes(bare, kNow));
  }
  const std::string now = FormatBytes(bytes(paced, kNow));
  CHECK_THAT(validate(kCode, Gpu::Pace::kMeasured, "table").out,
             Catch::Contains("is 67.1 MB, in predicted_device_bytes; measured: " + now +
                             " with the kernels loaded (in measured_device_bytes); timing launches again took 1.05 MB "
                             "of this memory\n"));  // sixteen of them
  CHECK_THAT(validate(0, Gpu::Pace::kMeasured, "table").out,
             Catch::Contains("67.1 MB with the kernels loaded (in measured_device_bytes)\n"));
}

TEST_CASE("software that has changed since the calibration is told before anything runs") {
  const GpuFolder f;
  Gpu then;
  REQUIRE(then.Calibrate(CalibrateWords(f)).status == kExitDone);
  const std::string scenario = ScenarioIn(f, "emulate: [as-is, {compute_slowdown: 4}]\n");
  CHECK_THAT(then.Validate({scenario, "--steps", "5"}).err, !Catch::Contains("warning"));
  StandInOptions options = SlowGpu();
  options.properties.cudnn = "9";
  Gpu now(options);
  const Outcome outcome = now.Validate({scenario, "--steps", "5", "--memory", "10 kB"});
  CHECK(outcome.status == kExitNothingFits);
  CHECK_THAT(outcome.err, Catch::StartsWith("warning: gpu: measured with other software than there is now") &&
                              Catch::Contains("cuDNN 9.9, ") && Catch::Contains("cuDNN 9, cuBLAS "));
  CHECK(outcome.err.find("warning", 1) == std::string::npos);  // once for both machines
}
#endif

TEST_CASE("asking a GPU for its pace takes sixteen launches and no second of warming up") {
  constexpr double kOverhead = 20'000, kFlopsPerNano = 50'000;
  StandInOptions options = UsualStandIn();
  options.kernel_time = [](const OpCall& call) { return kOverhead + CountWork(call.launch).flops / kFlopsPerNano; };
  const auto cuda = std::make_shared<CudaStandIn>(options);
  const auto network = MakeBenchNetwork("net", BuildZooNetwork("cifar-resnet20", {.batch = 64}), StepOptions{});
  Machine profile = LoadMachine("unit");
  for (const BenchItem& item : MakeBenchPlan({network}, {}, {.copies = {}, .host_calls = {}})) {
    if (item.group != BenchGroup::kNetworks) continue;
    profile.devices[0].measured.push_back(MeasuredOpOf(item.launch));
    profile.devices[0].measured.back().time = std::llround(kOverhead + CountWork(item.launch).flops / kFlopsPerNano);
    if (item.launch.kind == OpKind::kConvolution) profile.devices[0].measured.back().algorithm = "direct";
  }
  CudaBackend backend({}, *cuda, cuda);
  const std::unique_ptr<BenchTarget> bench = backend.Bench(profile);
  const BenchNetworks usual = BenchNetworksOf(backend.UsualNetworks());
  const Nanos begin = cuda->Now();
  const MeasuredPace pace =
      MeasurePace(profile, {network}, usual, *bench, {.launches = backend.traits().pace_launches});
  CHECK(pace.products.launches == 8);
  CHECK(pace.others.launches == 8);
  CHECK(pace.products.factor == Approx(1).epsilon(0.01));
  CHECK(cuda->Now() - begin >= 200 * kMillisecond);
  CHECK(cuda->Now() - begin < 300 * kMillisecond);
}

}  // namespace spillway

// Samples of the stand-alone measuring kit for GPUs are read, and fitted, as they are: its columns in its order, its words
// for operations, kinds and outcomes. The rows are made up.
#include <catch2/catch.hpp>

#include "calibrate/fit/transfer.h"
#include "hw/text/document.h"
#include "model/profile/machine.h"
#include "model/samples/file.h"
#include "tests/command_line.h"
#include "tests/temporary_folder.h"

namespace spillway {
namespace {

// The columns that the kit's README names, in the order of its files: identity, operation, shape, transfer, results.
const std::string kKitHeader =
    "device,driver,cuda,cudnn,op,pass,algorithm,math,precision,layout,n,c,h,w,k,r,s,pad,stride,groups,bytes,row_bytes,"
    "pitch_bytes,direction,kind,contention,workspace_bytes,deterministic,heuristic_rank,median_us,p10_us,p90_us,"
    "samples,"
    "host_us,status,sm_clock_mhz,note,date\n";
const std::string kWho = "NVIDIA H200,580.1,13.0,9.19.0,";

std::string Conv(const char* algorithm, const char* math, const char* result) {
  return kWho + "conv,forward," + algorithm + "," + math + ",fp32,nchw,64,64,56,56,64,3,3,1,1,1,,,,,cold,none," +
         result + "\n";
}

std::string CopyRow(Bytes bytes, const char* direction, const char* kind, const char* contention, double microseconds) {
  return kWho + "copy,,,,,,,,,,,,,,,," + std::to_string(bytes) + ",,," + direction + "," + kind + "," + contention +
         ",,,," + std::to_string(microseconds) + "," + std::to_string(microseconds) + "," +
         std::to_string(microseconds) + ",20,1.5,ok,1980,,2026-01-01\n";
}

std::string Relus() {
  std::string rows;
  for (int k = 0; k < 12; ++k) {
    const std::int64_t channels = 200'000 << k;
    const double time = 2 + 8e-6 * static_cast<double>(channels) / 4;
    rows += kWho + "relu,forward,,,fp32,nchw,1," + std::to_string(channels) + ",1,1,,,,,,,,,,,cold,none,,,," +
            std::to_string(time) + ",,,30,3.1,ok,1980,,2026-01-01\n";
  }
  return rows;
}

}  // namespace

TEST_CASE("the kit's columns are all known") {
  const SampleSet set =
      ParseRows(kKitHeader + Conv("implicit_precomp_gemm", "fma", "4096,1,2,250.5,249,252,30,8.1,ok,1980,,2026-01-01"),
                "samples.csv");
  CHECK(set.warnings == std::vector<std::string>{});
  REQUIRE(set.samples.size() == 1);
  const Sample& sample = set.samples[0];
  CHECK(sample.deterministic == 1);
  CHECK(sample.heuristic_rank == 2);
  CHECK(sample.sm_clock_mhz == 1980);
  CHECK(sample.workspace == 4096);
  CHECK(sample.launch.math == MathMode::kFp32);
  CHECK(sample.launch.algorithm == 2);
  // Written again they are the same.
  const SampleSet again = ParseRows(SampleHeader() + SampleLine(sample), "x.csv");
  CHECK(again.samples.at(0).deterministic == 1);
  CHECK(again.samples.at(0).heuristic_rank == 2);
  CHECK(again.samples.at(0).sm_clock_mhz == 1980);
}

TEST_CASE("what the library says of an algorithm must make sense") {
  for (const char* result : {"4096,2,2,250.5,249,252,30,8.1,ok,1980,,", "4096,1,-2,250.5,249,252,30,8.1,ok,1980,,",
                             "4096,1,2,250.5,249,252,30,8.1,ok,fast,,"}) {
    CHECK_THROWS_AS(ParseRows(kKitHeader + Conv("fft", "fma", result), "samples.csv"), UserError);
  }
}

TEST_CASE("every status of the kit is understood") {
  std::string rows = Conv("implicit_gemm", "tf32", "0,1,,250.5,249,252,30,8.1,ok,1980,,") +
                     Conv("gemm", "tf32", "77,1,,2500,,,1,,slow,1980,,");
  for (const char* status : {"not_supported", "workspace_over_limit", "too_large", "error", "crashed"}) {
    rows += Conv("fft", "fma", (std::string("99,,,,,,,,") + status + ",,,").c_str());
  }
  const SampleSet set = ParseRows(kKitHeader + rows, "samples.csv");
  CHECK(set.samples.size() == 2);
  CHECK(set.refused.size() == 5);
}

TEST_CASE("every op and kind of the kit is understood") {
  const std::string shape = ",fp32,nchw,8,16,14,14,";
  std::string rows;
  for (const char* op : {"batch_norm,forward,spatial,", "batch_norm,backward,spatial_persistent,", "relu,backward,,",
                         "lrn,forward,,", "softmax,backward,,", "dropout,forward,,", "bias,backward,,", "add,forward,,",
                         "axpy,forward,,", "scale,forward,,", "zero,forward,,"}) {
    rows += kWho + op + shape + ",,,,,,,,,,warm,none,,,,9.5,,,10,,ok,1980,,\n";
  }
  rows += kWho + "pool,forward,max," + shape + ",3,3,1,2,,,,,,cold,none,,,,9.5,,,10,,ok,1980,,\n";
  rows += kWho + "conv_bias_relu,forward,direct,fma" + shape + "16,3,3,1,1,1,,,,,cold,none,,,,9.5,,,10,,ok,1980,,\n";
  rows += kWho + "linear,backward_data,,tf32,fp32,nc,64,512,,,1000,,,,,,,,,,race,h2d+d2h,,,,9.5,,,10,,ok,1980,,\n";
  for (const char* kind : {"pinned", "pinned_synchronous", "pageable", "managed_prefetch", "managed_touch"}) {
    rows += CopyRow(kMiB, "h2d", kind, "none", 30);
  }
  rows +=
      CopyRow(kMiB, "d2d", "device", "none", 3) + CopyRow(32 * kMiB, "h2d", "pinned", "conv.forward.fma.3x3+d2h", 900);
  rows += kWho + "copy,,,,,,,,,,,,,,,,1048576,4096,8192,h2d,pitched,none,,,,40,,,10,,ok,1980,,\n";
  rows += kWho + "overhead,,launch,,,,,,,,,,,,,,,,,,,,,,,2.1,,,100,,ok,1980,,\n";
  rows += kWho + "memory,,context,,,,,,,,,,,,,,,,,,,,500000000,,,,,,,,ok,,,\n";
  const SampleSet set = ParseRows(kKitHeader + rows, "samples.csv");
  CHECK(set.warnings == std::vector<std::string>{});
  CHECK(set.samples.size() == 11 + 3 + 5 + 3 + 2);
}

TEST_CASE("spillway fit makes a profile of them, links included") {
  const TemporaryFolder folder("kit");
  std::string rows = Relus();
  for (const Bytes bytes : {256 * kKiB, kMiB, 4 * kMiB, 16 * kMiB, 64 * kMiB, 256 * kMiB}) {
    for (const char* direction : {"h2d", "d2h"}) {
      rows += CopyRow(bytes, direction, "pinned", "none", 10 + static_cast<double>(bytes) / 50e3);
    }
  }
  rows += CopyRow(64 * kMiB, "h2d", "pinned", "d2h", 20 + static_cast<double>(64 * kMiB) / 40e3);
  const std::string samples = folder.Write("samples.csv", kKitHeader + rows);
  const TransferFit fit = FitTransfers(ParseRows(kKitHeader + rows, "samples.csv").samples);
  REQUIRE(fit.links.size() == 1);
  CHECK(fit.links[0].kinds.at("pinned")[0]->curve.Rate() == Approx(50).epsilon(0.01));
  const Outcome outcome =
      Spillway({"fit", samples, "--base", "h100-sxm", "-o", folder.Path("h200.yaml"), "--device", "NVIDIA H200"});
  INFO(outcome.err);
  CHECK(outcome.status == kExitDone);
  CHECK_FALSE(LoadMachine(folder.Path("h200.yaml")).devices[0].models.empty());
}

}  // namespace spillway

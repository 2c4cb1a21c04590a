// Samples that are made up, and spillway fit run on them.
#ifndef SPILLWAY_TESTS_SCENARIOS_FIT_RUN_H_
#define SPILLWAY_TESTS_SCENARIOS_FIT_RUN_H_

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "hw/machine/chips.h"
#include "model/kernels/kernel_form.h"
#include "model/samples/sample.h"
#include "tests/command_line.h"
#include "tests/temporary_folder.h"
#include "tests/text.h"

namespace spillway {

inline bool Exists(const std::string& path) { return std::filesystem::exists(path); }

constexpr const char* kDevice = "V100-SXM2-16GB";
constexpr double kLatency = 4200, kBandwidth = 0.71, kCache = 0.3;

// Microseconds of the form with the parameters above on the device's figures.
inline double ReluMicroseconds(const std::string& device, std::int64_t channels) {
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
inline std::string ReluSamples(const std::string& device = kDevice) {
  std::string text = "device,op,pass,n,c,median_us,date\n";
  for (std::int64_t c = 10'000; c < 500'000'000; c = c * 17 / 10) {
    text += fmt::format("{},relu,forward,1,{},{:.4f},2020-01-01\n", device, c, ReluMicroseconds(device, c));
  }
  return text;
}

// Copies of `host` over its "local" link: 10 us and 10 bytes per nanosecond.
inline std::string CopySamples(const std::string& host, const std::string& device = kDevice) {
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

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SCENARIOS_FIT_RUN_H_

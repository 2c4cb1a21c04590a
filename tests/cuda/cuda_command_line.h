// spillway calibrate and validate as a user types them, on a CUDA device that is a stand-in.
//
//   const GpuFolder f;
//   Gpu gpu;
//   gpu.Calibrate(f.Tiny({}));                                  // writes f.Profile()
//   RowsOf(gpu.Validate({ScenarioIn(f, "")}).out);              // of validation.csv
//   gpu.CheckClean();
#ifndef SPILLWAY_TESTS_CUDA_CUDA_COMMAND_LINE_H_
#define SPILLWAY_TESTS_CUDA_CUDA_COMMAND_LINE_H_

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "calibrate/devices/cuda/backend.h"
#include "model/step/launch.h"
#include "scenarios/cli/calibrate_command.h"
#include "scenarios/cli/validate_command.h"
#include "tests/command_line.h"
#include "tests/cuda/cuda_bench.h"
#include "tests/temporary_folder.h"

namespace spillway {

// 2 operations and 0.4 bytes per nanosecond behind 150 us, slow enough that a timing is of one run; the link moves 0.1
// bytes per nanosecond.
inline StandInOptions SlowGpu() {
  StandInOptions options;
  options.kernel_time = [](const OpCall& call) {
    const Work work = CountWork(call.launch);
    return std::round(150'000 + work.flops / 2 + work.bytes / 0.4);
  };
  options.copy_latency = 3000;
  options.copy_rate = {0.1, 0.1};
  options.device_rate = 500;
  options.spin_gap = 500;
  options.call_cost = 500;
  options.poll_cost = 20'000;
  options.memory = 2 * kGiB;
  options.pinned = 2 * kGiB;
  options.context_bytes = 64 * kMiB;
  options.properties.name = "made-up GPU";
  options.properties.driver = "1.2";
  options.properties.runtime = "13.0";
  options.properties.cudnn = "9.9";
  options.properties.l2_cache = kMiB;
  options.properties.multiprocessors = 10;
  options.properties.total_memory = 2 * kGiB;
  return options;
}

// Four convolutions of 16 channels: maps of 64 KiB at batch 4, 256 KiB at 16.
constexpr const char* kTiny =
    "name: tiny\n"
    "input: {channels: 3, image: 16}\n"
    "layers:\n"
    "  - {name: conv1, kind: convolution, out: 16, window: 3, pad: 1, bias: true}\n"
    "  - {name: relu1, kind: relu}\n"
    "  - {name: conv2, kind: convolution, out: 16, window: 3, pad: 1, bias: true}\n"
    "  - {name: relu2, kind: relu}\n"
    "  - {name: conv3, kind: convolution, out: 16, window: 3, pad: 1, bias: true}\n"
    "  - {name: relu3, kind: relu}\n"
    "  - {name: conv4, kind: convolution, out: 16, window: 3, pad: 1, bias: true}\n"
    "  - {name: relu4, kind: relu}\n"
    "  - {name: fc, kind: linear, out: 10}\n"
    "  - {name: loss, kind: softmax_loss}\n";

class StandInBackend : public CudaBackend {
 public:
  StandInBackend(const std::shared_ptr<CudaStandIn>& cuda, bool can_bench)
      : CudaBackend(UsualBenchOptions(), *cuda, cuda), traits_(CudaBackend::traits()) {
    traits_.can_bench = can_bench;
  }
  const DeviceTraits& traits() const override { return traits_; }
  double Load() override { return -1; }  // whatever else this machine does

 private:
  DeviceTraits traits_;
};

class Gpu {
 public:
  explicit Gpu(StandInOptions options = SlowGpu()) : cuda_(std::make_shared<CudaStandIn>(std::move(options))) {}

  Outcome Calibrate(const std::vector<std::string>& words) {
    return Carry<CalibrateCommand>("calibrate", words, [&](const CalibrateAsked& asked, Console& console) {
      StandInBackend backend(cuda_, true);
      return CalibrateWith(backend, asked, console);
    });
  }
  enum class Pace { kMeasured, kAsProfile };
  Outcome Validate(const std::vector<std::string>& words, Pace pace = Pace::kMeasured) {
    return Carry<ValidateCommand>("validate", words, [&](const ValidateAsked& asked, Console& console) {
      StandInBackend backend(cuda_, pace == Pace::kMeasured);
      return ValidateWith(backend, asked, console);
    });
  }
  CudaStandIn& cuda() { return *cuda_; }
  void CheckClean() const {
    CHECK(cuda_->leaks().empty());
    CHECK(cuda_->violations() == std::vector<std::string>{});
  }

 private:
  template <typename Made, typename Action>
  static Outcome Carry(const char* name, std::vector<std::string> words, const Action& action) {
    words.insert(words.begin(), {name});
    words.insert(words.end(), {"--device", "cuda:0"});
    const Arguments arguments = ParseArguments(words);
    if (!arguments.command) return {arguments.status, "", arguments.text};
    std::ostringstream out, err;
    Console console{out, err};
    int status = kExitWrongInput;
    try {
      status = action(dynamic_cast<const Made&>(*arguments.command).asked(), console);
    } catch (const UserError& error) {
      err << error.what();
    }
    return {status, out.str(), err.str()};
  }
  std::shared_ptr<CudaStandIn> cuda_;
};

// A network, tiny.yaml, and the profile that calibrating its launches writes, gpu.yaml.
class GpuFolder {
 public:
  GpuFolder() : folder_("cuda"), network_(folder_.Write("tiny.yaml", kTiny) + ":4") {}
  std::vector<std::string> Tiny(const std::vector<std::string>& more) const { return Words(network_, more); }
  std::vector<std::string> Words(const std::string& network, const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"-o",        Profile(), "--networks", network,
                                      "--no-grid", "--quick", "--budget",   "1000000s"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::string Profile() const { return folder_.Path("gpu.yaml"); }
  std::string Journal() const { return folder_.Read("gpu.samples.csv"); }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
  std::string network_;
};

// Rows of a CSV by the names of its columns.
inline std::vector<std::map<std::string, std::string>> RowsOf(const std::string& csv) {
  std::vector<std::vector<std::string>> lines;
  std::istringstream text(csv);
  for (std::string line; std::getline(text, line);) {
    lines.push_back({""});
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') {
        quoted = !quoted;
      } else if (c == ',' && !quoted) {
        lines.back().emplace_back();
      } else {
        lines.back().back() += c;
      }
    }
  }
  std::vector<std::map<std::string, std::string>> rows;
  for (std::size_t k = 1; k < lines.size(); ++k) {
    rows.emplace_back();
    for (std::size_t c = 0; c < lines[0].size() && c < lines[k].size(); ++c) rows.back()[lines[0][c]] = lines[k][c];
  }
  return rows;
}

// The network at batch 16 within a limit where it does not fit in-core.
inline std::string ScenarioIn(const GpuFolder& f, const std::string& more) {
  return f.folder().Write("s.yaml",
                          "name: real\nnetwork: {file: tiny.yaml, batch: 16}\nmachines: gpu.yaml\nmemory: 2450 kB\n"
                          "strategies: [in-core, swap-all, recompute-all]\n" +
                              more);
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_CUDA_CUDA_COMMAND_LINE_H_

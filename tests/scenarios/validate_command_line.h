// spillway validate as a user types it, on a device in virtual time whose reality a test makes up.
//
//   const ValidateFolder f;
//   Reality reality;
//   reality.kernels = 1.25;
//   f.Run(kLimit, {"--format", "csv"}, &reality).out;
#ifndef SPILLWAY_TESTS_SCENARIOS_VALIDATE_COMMAND_LINE_H_
#define SPILLWAY_TESTS_SCENARIOS_VALIDATE_COMMAND_LINE_H_

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "model/kernels/kernel_form.h"
#include "model/profile/launch_text.h"
#include "model/profile/profile_text.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "scenarios/cli/validate_command.h"
#include "tests/command_line.h"
#include "tests/paced_target.h"
#include "tests/scripted_device.h"
#include "tests/temporary_folder.h"

namespace spillway {

// Kernels at a flop and copies at a byte per nanosecond, times what the scenario's devices take longer.
struct Reality {
  double kernels = 1, copies = 1;
  Nanos latency = 100;
  std::vector<Injection> injections{};
  std::vector<double> rates{};  // of the devices made
  double drift = 0;             // what the loss, 1 in-core, is more with any plan
  double tolerance = 0;         // of numerics
  bool bench = false;           // the device can be timed again
  int benches = 1000;           // so often; then it is lost
  bool refuses = false;         // to time any launch again
  bool aside = false;           // on a thread of its own
  // How much longer a launch takes when it is timed again, by the number of the bench, from 1; empty: `kernels`.
  std::function<double(const Launch& launch, int bench)> paces{};
  // That the device tells (BenchTarget::Waiting); `alone`: asked without launches being timed.
  std::function<double(bool alone)> waits = [](bool) { return 0.0; };
  std::function<double()> load = [] { return -1.0; };
  double room = -1;
  std::string identity = "a device";
  Bytes free = -1;  // of the device's memory; -1: it does not tell
  std::set<std::thread::id> benched_on{};
  std::set<std::string> algorithms{};  // of convolutions timed again
  std::function<void()> made = [] {};  // called when a device was made: to measure the link, then for each case
  std::function<bool()> stop = [] { return false; };
};

inline ScriptedDevice::Times TimesOf(const Reality& reality, double rate, const CostModel& costs) {
  return [&reality, rate, &costs](const Program& program) {
    std::vector<Nanos> times = Durations(program, costs);
    for (std::size_t i = 0; i < times.size(); ++i) {
      const Instruction& in = program.code[i];
      double time = reality.kernels * static_cast<double>(times[i]);
      if (in.opcode == Opcode::kCopy) {
        time = reality.copies * static_cast<double>(program.copies[in.arg].bytes) / rate + 100;
      }
      times[i] = in.opcode == Opcode::kKernel || in.opcode == Opcode::kCopy ? static_cast<Nanos>(time) : 0;
    }
    return times;
  };
}

// The clock of the device that was made last.
class LastDeviceClock : public Clock {
 public:
  Nanos Now() const override { return device == nullptr ? 0 : device->Now(); }
  const Clock* device = nullptr;
};

// Whose loss, 1 in-core, is more by `drift` with any plan: in-core trains first.
class DriftingDevice : public ScriptedDevice {
 public:
  DriftingDevice(Times times, FakeOptions options, double drift)
      : ScriptedDevice(std::move(times), std::move(options)), drift_(drift) {}
  SessionReport LastSession() const override {
    SessionReport report;
    report.losses = {sessions().size() > 1 ? 1 + drift_ : 1};
    return report;
  }

 private:
  double drift_;
};

class RealityBackend : public DeviceBackend {
 public:
  // All must outlive it. `ask`: empty = the device offers nothing.
  RealityBackend(Reality& reality, const CostModel& costs, const AskDevice& ask, LastDeviceClock& clock)
      : DeviceBackend(clock), reality_(reality), costs_(costs), ask_(ask), clock_(clock) {
    traits_.devices = "cpu";
    traits_.example = "cpu-example";
    traits_.usual_profile = "mine.yaml";
    traits_.numerics_tolerance = reality.tolerance;
    traits_.offers_algorithms = static_cast<bool>(ask);
    traits_.can_bench = reality.bench;
    traits_.bench_aside = reality.aside;
  }

  const DeviceTraits& traits() const override { return traits_; }
  void Need() override {}
  std::string Identity() override { return reality_.identity; }
  void CheckProfile(const Machine& /*profile*/) override {}
  std::vector<std::string> UsualNetworks() const override { return {}; }
  CalibrateSetup Calibrate(const CalibrateRequest& /*request*/) override { return {}; }
  std::unique_ptr<BenchTarget> Bench(const Machine& profile) override {
    ++benches_;
    reality_.benched_on.insert(std::this_thread::get_id());
    if (--reality_.benches < 0) throw UserError("the device is lost");
    auto target = std::make_unique<PacedTarget>(profile, [this, bench = benches_](const Launch& launch) {
      if (launch.kind == OpKind::kConvolution) {
        const auto index = static_cast<std::size_t>(launch.algorithm) - 1;
        reality_.algorithms.insert(AlgorithmNames(launch.kind, launch.pass)[index]);
      }
      if (reality_.paces) return reality_.paces(launch, bench);
      return reality_.refuses ? 0 : reality_.kernels;
    });
    target->waits = [this, t = target.get()] { return reality_.waits(t->measured.empty()); };
    return target;
  }
  AskDevice Offers(const Machine& /*profile*/) override { return ask_; }
  std::unique_ptr<ExecutionDevice> Open(const Machine& /*profile*/, const DeviceTerms& terms) override {
    reality_.rates.push_back(terms.link_rate);
    FakeOptions options;
    options.injections = reality_.injections;
    auto device = std::make_unique<DriftingDevice>(TimesOf(reality_, terms.link_rate, costs_), options, reality_.drift);
    clock_.device = device.get();
    reality_.made();
    return device;
  }
  double Load() override { return reality_.load(); }
  Bytes FreeBytes() override { return reality_.free; }
  double Room(const Machine& /*profile*/) override { return reality_.room; }

 private:
  Reality& reality_;
  const CostModel& costs_;
  const AskDevice& ask_;
  LastDeviceClock& clock_;
  DeviceTraits traits_;
  int benches_ = 0;
};

class ValidateFolder {
 public:
  enum class Profile { kModels, kMeasured };
  // `name`: of the scenario, as it stands between quotes.
  explicit ValidateFolder(Profile profile = Profile::kModels, std::string name = "small")
      : folder_("validate"), name_(std::move(name)) {
    // The unit machine as a processor.
    Machine unit = LoadMachine("unit");
    if (profile == Profile::kMeasured) AddMeasured(unit);
    std::string text = MachineToYaml(unit);
    for (auto at = text.find("gpu0"); at != std::string::npos; at = text.find("gpu0")) text.replace(at, 4, "cpu0");
    folder_.Write("cpu.yaml", text);
    machine_ = LoadMachine(folder_.Path("cpu.yaml"));
  }
  std::string Scenario(const std::string& more) const {
    return folder_.Write("s.yaml", "name: \"" + name_ +
                                       "\"\nnetwork: {zoo: cifar-resnet20, batch: 2}\nmachines: cpu.yaml\n"
                                       "strategies: [in-core, swap-all, recompute-all]\n" +
                                       more);
  }
  Outcome Run(const std::string& more, const std::vector<std::string>& words = {}, Reality* reality = nullptr,
              const AskDevice& ask = {}) const {
    Reality usual;
    if (reality == nullptr) reality = &usual;
    const CostModel costs(machine_);
    LastDeviceClock clock;
    RealityBackend backend(*reality, costs, ask, clock);
    std::vector<std::string> line = {"validate", Scenario(more), "--steps", "5"};
    line.insert(line.end(), words.begin(), words.end());
    const Arguments arguments = ParseArguments(line);
    REQUIRE(arguments.command);
    const auto& command = dynamic_cast<const ValidateCommand&>(*arguments.command);
    std::ostringstream out, err;
    Console console{out, err};
    const int status = ValidateWith(backend, command.asked(), console, nullptr, reality->stop);
    return {status, out.str(), err.str()};
  }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  // The network's launches, timed at what the unit machine's law says.
  static void AddMeasured(Machine& machine) {
    const CostModel costs(machine);
    std::set<std::string> known;
    std::vector<MeasuredOp> measured;
    for (const Op& op : BuildTrainingStep(BuildZooNetwork("cifar-resnet20", {.batch = 2})).ops) {
      Launch launch = LaunchOf(op);
      if (op.kind == OpKind::kConvolution) launch.algorithm = AlgorithmByName(op.kind, op.pass, "direct");
      measured.push_back(MeasuredOpOf(launch));
      measured.back().time = std::max<Nanos>(1, costs.Kernel(LaunchOf(op)).time);
      if (!known.insert(MeasuredKey(measured.back())).second) measured.pop_back();
    }
    AddFaster(measured);
    machine.devices[0].measured = std::move(measured);
    machine.devices[0].measured_source = {Source::Kind::kMeasured, "a test"};
  }

  // Another algorithm of each convolution, a nanosecond faster, which wants more than is usually granted.
  static void AddFaster(std::vector<MeasuredOp>& measured) {
    const std::vector<MeasuredOp> slower = measured;
    for (MeasuredOp op : slower) {
      if (op.op != OpKind::kConvolution) continue;
      op.algorithm = "gemm";
      op.time = std::max<Nanos>(1, op.time - 1);
      op.workspace = 16 * kMiB;
      measured.push_back(op);
    }
  }

  TemporaryFolder folder_;
  std::string name_;
  Machine machine_;
};

constexpr const char* kLimit = "memory: 5 MB\nlink: 1 GB/s\n";

inline std::size_t CountOf(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SCENARIOS_VALIDATE_COMMAND_LINE_H_

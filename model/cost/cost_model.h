// From an operation to its time on a machine, with the origin of the answer and how sure it is.
//
// Never a bare number: every answer is a Cost. In this order:
//   measured  the very launch was timed on this machine (model/profile/machine.h, MeasuredOp): the fastest of its algorithms that
//             were timed and run in the workspace granted. Others are not compared: what was timed decides
//   model     the fastest of the fitted kernel models of the profile (model/profile/machine.h, KernelModel) that can run the
//             launch in the workspace granted
//   law       a roofline with fitted fractions (CostLaw), for ops without a model
//   roofline  the chip's figures alone, `assumed`
// Copies take a curve of their link; launches cost the host what the profile says (LaunchCosts).
#ifndef SPILLWAY_MODEL_COST_COST_MODEL_H_
#define SPILLWAY_MODEL_COST_COST_MODEL_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/profile/machine.h"
#include "model/step/launch.h"

namespace spillway {

struct Cost {
  Nanos time = 0;
  Source::Kind source = Source::Kind::kAssumed;
  // Standard deviation of the logarithm of measured / predicted, but for what a whole software stack shares
  // (Device::stack_error).
  double error = 0;
  // The part of it that all launches with the same `group` share (device, software stack, algorithm).
  double shared_error = 0;
  // Identity of the model, law or curve: equal models are wrong together, on whatever machine.
  std::uint64_t group = 0;
  const char* how = "";        // "measured", "model", "model beyond its data", "law", "roofline", "curve": static
  std::int32_t algorithm = 0;  // 1 + index into AlgorithmNames, 0 where there is no choice or none is known
  // Bytes that the algorithm needs to run in that time. More than was granted only if no algorithm needs less.
  Bytes workspace = 0;
  double copy_slowdown = 1.0;  // factor on the time while a copy runs
};

// One way to run a launch, see model/cost/menu.h.
struct MenuEntry {
  std::int32_t algorithm = 0;  // to ask for, as in Launch; 0 = the library's choice, which `cost.algorithm` names
  Bytes workspace = 0;         // the least grant at which the answer is `cost`
  Cost cost;
};

// Factors on the times of kernels: how fast the device computes now, against when its figures were measured
// (calibrate/validate/pace.h).
struct KernelPace {
  double products = 1, others = 1;  // convolutions and linear; all other ops
  bool operator==(const KernelPace&) const = default;
};

struct CostOptions {
  Bytes workspace_limit = kFrameworkWorkspace;  // what kUsualWorkspace stands for
  // Every kernel takes this many times as long as on the machine, by idling after it, at least 1: what copies add to a
  // kernel stays the same in nanoseconds. Another machine's balance on this one (`emulate` of a scenario).
  double compute_slowdown = 1;
  KernelPace pace{};
};

// What issuing a launch costs the host, by op and pass, as the host costs of a profile say.
class LaunchCosts {
 public:
  explicit LaunchCosts(const HostCosts& costs);

  // False: one figure holds for every op and pass.
  bool differ() const { return differ_; }
  Nanos Of(OpKind kind, Pass pass) const { return times_[Index(kind, pass)]; }

 private:
  static constexpr std::size_t kKinds = kOpTraits.size();
  static constexpr std::size_t kPasses = static_cast<std::size_t>(Pass::kUpdate) + 1;
  static std::size_t Index(OpKind kind, Pass pass) {
    return kPasses * static_cast<std::size_t>(kind) + static_cast<std::size_t>(pass);
  }
  std::array<Nanos, kKinds * kPasses> times_{};
  bool differ_ = false;
};

// Owns nothing of the machine: it must outlive the model. Deterministic, thread-safe; answers are remembered, up to some
// ten thousand.
// Throws UserError if a kernel model, a measured launch or a launch cost of the profile names a form, parameter, op, pass
// or shape that this program does not know. A subclass may know better about kernels (calibrate/validate/device_costs.h).
class CostModel {
 public:
  explicit CostModel(const Machine& machine, const CostOptions& options = {});
  virtual ~CostModel();
  CostModel(const CostModel&) = delete;
  CostModel& operator=(const CostModel&) = delete;

  virtual Cost Kernel(const Launch& launch, int device = 0) const;
  // Every way to run a launch, whatever its algorithm and workspace say. Found anew each time, unlike Kernel's answers.
  virtual std::vector<MenuEntry> Menu(const Launch& launch, int device = 0) const;
  // `rows` > 1: a pitched copy of `rows` rows that are bytes / rows long each.
  Cost Copy(Bytes bytes, Direction direction, int device = 0, std::int64_t rows = 1) const;
  // The host's cost of issuing kernels.
  const LaunchCosts& launch_costs(int device = 0) const;
  const Machine& machine() const { return *machine_; }
  const CostOptions& options() const { return options_; }
  // The least total time, in nanoseconds, of the parts and tiles of a launch, whatever their sizes. For convolutions
  // and matrix products in fp32; 0 for any other launch. It follows from the best rate measured, and from a limit that
  // no model or law exceeds: one multiplication for each output and pair of channels at the device's peak (as if the
  // window were a single place), or five times the peak for small windows. Real times are far larger.
  virtual double LeastTime(const Launch& launch, int device = 0) const;
  // Drops the answers remembered: they are found again when asked for. For who is done with it for a while.
  void Forget() const;

 private:
  class Memo;
  class Sources;
  Cost Ask(const Launch& launch, int device) const;
  double TimeAtMostPeak(const Launch& launch, int device) const;  // 0: anything may answer
  double FactorOf(const Launch& launch) const;                    // on times, of pace and slowdown
  const Machine* machine_;
  CostOptions options_;
  std::unique_ptr<const Sources> sources_;
  std::unique_ptr<Memo> memo_;
};

}  // namespace spillway

#endif  // SPILLWAY_MODEL_COST_COST_MODEL_H_

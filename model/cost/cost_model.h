// The cost model: the time of a launch or a copy on a machine, with the source of the time and its error.
//
// Every answer is a Cost, never a bare number. The first of these sources that knows the launch answers:
//   measured  the launch was timed on this machine (MeasuredOp in model/profile/machine.h). The answer is the fastest
//             timed algorithm that fits into the workspace granted; algorithms that were not timed are not compared
//   model     the fastest fitted kernel model of the profile (KernelModel) that fits into the workspace granted
//   law       a roofline with fitted fractions (CostLaw), for ops without a model
//   roofline  the chip's figures alone, marked `assumed`
// The time of a copy comes from a curve of its link. The profile says what a launch costs the host (LaunchCosts).
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
  // Standard deviation of log(measured / predicted), without the part that a whole software stack shares
  // (Device::stack_error).
  double error = 0;
  // The part of `error` that all launches with the same `group` share: device, software stack, algorithm.
  double shared_error = 0;
  // Identity of the model, law or curve. Costs of one group have a common error, on every machine.
  std::uint64_t group = 0;
  // "measured", "model", "model beyond its data", "law", "roofline", "curve"; a literal. Of a product in other arithmetic
  // than fp32: "... of fp32" is fp32's time, "... of fp32, peak scaled" the fp32 law at the peak of that arithmetic.
  const char* how = "";
  std::int32_t algorithm = 0;  // 1 + index into AlgorithmNames, 0 where there is no choice or none is known
  // Bytes of workspace that the algorithm needs for this time. More than was granted only if no algorithm needs less.
  Bytes workspace = 0;
  double copy_slowdown = 1.0;  // factor on the time while a copy runs
  // Calls of the library. More than 1: the framework divides the launch along the batch (LargeCalls::kDivided), and time
  // and workspace are those of all parts. 0: the library refuses the launch whole (model/cost/library_limits.h). Then the
  // other figures are those of a library without that limit.
  std::int32_t calls = 1;
};

// One way to run a launch, see model/cost/menu.h.
struct MenuEntry {
  std::int32_t algorithm = 0;  // as in Launch; 0: the library's choice, which `cost.algorithm` names
  Bytes workspace = 0;         // the smallest grant with which the launch takes `cost`
  Cost cost;
};

// Factors on the times of kernels: the present time over the time at calibration (calibrate/validate/pace.h).
struct KernelPace {
  double products = 1, others = 1;  // convolutions and linear; all other ops
  bool operator==(const KernelPace&) const = default;
};

// Who deals with a convolution whose tensors go beyond the indices of the library (model/cost/library_limits.h).
enum class LargeCalls : std::uint8_t {
  kRefused,  // nobody: the library refuses it
  kDivided,  // the framework, which calls the library for parts of the batch
  kTaken,    // whoever asks: the cost is that of a whole call
};

struct CostOptions {
  Bytes workspace_limit = kFrameworkWorkspace;  // the grant in place of kUsualWorkspace
  // Factor on the time of every kernel, at least 1 (`emulate` of a scenario). The device idles after each kernel, so a
  // concurrent copy still slows the kernel by as many nanoseconds.
  double compute_slowdown = 1;
  KernelPace pace{};
  LargeCalls large_calls = LargeCalls::kRefused;
};

// The host's time to issue a launch, by op and pass, from the host costs of a profile.
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

// Refers to the machine, which must outlive the model. Deterministic and thread-safe. A cache holds up to 16,384
// answers. A subclass may override the times of kernels (calibrate/validate/device_costs.h).
class CostModel {
 public:
  // Throws UserError with all mistakes of the profile's kernel models, measured launches and launch costs. A mistake is
  // a form, parameter, op, pass or shape that this program does not know.
  explicit CostModel(const Machine& machine, const CostOptions& options = {});
  virtual ~CostModel();
  CostModel(const CostModel&) = delete;
  CostModel& operator=(const CostModel&) = delete;

  // The cost of a launch with its algorithm and workspace. `device`: index into Machine::devices.
  virtual Cost Kernel(const Launch& launch, int device = 0) const;
  // Every way to run the launch; its algorithm and workspace are ignored. Empty: the library refuses it. Not cached.
  virtual std::vector<MenuEntry> Menu(const Launch& launch, int device = 0) const;
  // Whether the workspaces in answers for this launch are the library's. False: less than what is granted may not do.
  virtual bool KnowsWorkspace(const Launch& /*launch*/) const { return true; }
  // The cost of a copy between pinned memory and the device. `rows` > 1: a pitched copy of rows of bytes / rows bytes.
  Cost Copy(Bytes bytes, Direction direction, int device = 0, std::int64_t rows = 1) const;
  const LaunchCosts& launch_costs(int device = 0) const;
  const Machine& machine() const { return *machine_; }
  const CostOptions& options() const { return options_; }
  // A lower bound, in nanoseconds, on the total time of any parts and tiles of an fp32 convolution or matrix product. 0
  // for other launches. The bound is the lesser of two times for the launch's operations:
  //   measured  at the best rate of the launches that were timed
  //   peak      at the device's peak times the places of the window, or times five for small windows. No model and no
  //             law answers less
  virtual double LeastTime(const Launch& asked, int device = 0) const;
  // Empties the cache, to free its memory while the model is not in use.
  void Forget() const;

 private:
  class Memo;
  class Sources;
  Cost Ask(const Launch& asked, int device) const;
  Cost AskWhole(const Launch& launch, int device) const;  // as if the library had no limits
  Cost AskInParts(const Launch& launch, std::int64_t samples, int device) const;
  double TimeAtMostPeak(const Launch& launch, int device) const;  // nanoseconds; 0: no bound by the peak
  double FactorOf(const Launch& launch) const;                    // on the launch's time: pace times slowdown
  const Machine* machine_;
  CostOptions options_;
  std::unique_ptr<const Sources> sources_;
  std::unique_ptr<Memo> memo_;
};

}  // namespace spillway

#endif  // SPILLWAY_MODEL_COST_COST_MODEL_H_

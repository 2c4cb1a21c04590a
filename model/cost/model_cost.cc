#include "model/cost/model_cost.h"

#include <algorithm>
#include <cmath>

#include "hw/text/lists.h"
#include "model/step/launch.h"

namespace spillway {
namespace {

// Beyond its data a model's own error grows by this for every factor e: what the fits showed for batches 8 times beyond
// and for networks left out is of this order.
constexpr double kErrorPerFactorBeyond = 0.05;
// Least error of a model used for other number formats than it was fitted to.
constexpr double kOtherFormatError = 0.5;
// Grouped, dilated and 3-D convolutions: the forms' arithmetic (for groups also what conv_launch.h assumes of kernels without
// tiles), but no measurement of either was found.
constexpr double kUnmeasuredError = 0.6;
constexpr double kLongest = 1e15;  // ns, eleven days: what a profile's parameters may say at most
// L2 of a device whose profile does not say: of the smallest chips modelled.
constexpr double kUsualL2 = 3.0 * kMiB;

double LogBeyond(const KernelModel& model, const Work& work) {
  if (model.most_work <= 0) return 0;
  const double amount = work.flops > work.bytes ? work.flops : work.bytes;
  if (amount > model.most_work) return std::log(amount / model.most_work);
  if (amount > 0 && amount < model.least_work) return std::log(model.least_work / amount);
  return 0;
}

// A model fitted in fp32 answers for other formats too, if none was fitted to them, and says how little that is worth.
bool Serves(const ResolvedModel& m, const Launch& launch) {
  return m.model->op == launch.kind && m.model->pass == launch.pass &&
         (launch.algorithm == 0 || m.algorithm == launch.algorithm) && m.form->Applies(launch);
}

bool IsUnmeasured(const Launch& launch) {
  const OpShape& s = launch.shape;
  return launch.kind == OpKind::kConvolution && (s.groups > 1 || s.in.d > 1 || s.Dilated());
}

// Models for fp32 and tf32 are fitted to fp32 data, those for fp16 and bf16 to data of that format.
bool FittedTo(MathMode math, const Launch& launch) {
  const bool wide = math == MathMode::kFp32 || math == MathMode::kTf32;
  return math == launch.math && wide == (launch.type == DataType::kFp32);
}

// A product for whose arithmetic there is no model: the fp32 model's answer, at the peak of that arithmetic if stated.
bool IsCarried(MathMode math, const Launch& launch) { return IsProduct(launch.kind) && math != launch.math; }

Chip CarriedTo(MathMode math, const Chip& chip) {
  Chip carried = chip;
  if (chip.math_peaks.Of(math) > 0) carried.peak_flops = chip.math_peaks.Of(math);
  return carried;
}

const char* HowOf(const ResolvedModel& m, const Chip& chip, const Launch& launch, double beyond) {
  if (beyond > 0 || IsUnmeasured(launch)) return "model beyond its data";
  if (!IsCarried(m.math, launch)) return "model";
  return chip.math_peaks.Of(launch.math) > 0 ? "model of fp32, peak scaled" : "model of fp32";
}

Cost CostOf(const ResolvedModel& m, const Chip& chip, const Launch& launch, double time, Bytes workspace) {
  const double beyond = LogBeyond(*m.model, CountWork(launch));
  const double own = std::hypot(m.model->own_error, kErrorPerFactorBeyond * beyond);
  Cost cost;
  cost.time = std::llround(std::clamp(time, 0.0, kLongest));
  cost.source = m.model->source.kind;
  cost.shared_error = m.model->shared_error;
  cost.error = std::hypot(m.model->shared_error, own);
  cost.group = m.group;
  cost.how = HowOf(m, chip, launch, beyond);
  cost.algorithm = m.algorithm;
  cost.workspace = workspace;
  cost.copy_slowdown = m.model->copy_slowdown;
  if (!FittedTo(m.math, launch)) {
    cost.source = Source::Kind::kAssumed;
    cost.error = std::max(cost.error, kOtherFormatError);
  }
  if (IsUnmeasured(launch)) {
    cost.source = Source::Kind::kAssumed;
    cost.error = std::max(cost.error, kUnmeasuredError);
    cost.shared_error = cost.error;  // what is wrong about one of them is wrong about all
  }
  return cost;
}

// The models for the launch's arithmetic if there are any, else those for fp32.
MathMode ArithmeticFor(const std::vector<ResolvedModel>& models, const Launch& launch) {
  const bool known = std::any_of(models.begin(), models.end(),
                                 [&](const ResolvedModel& m) { return m.math == launch.math && Serves(m, launch); });
  return known ? launch.math : MathMode::kFp32;
}

struct Choice {
  const ResolvedModel* model = nullptr;
  double time = 0;
  Bytes workspace = 0;
};

// Within the grant the faster one, otherwise the one that wants less.
bool Better(const Choice& a, const Choice& b, Bytes granted) {
  if (b.model == nullptr) return true;
  const bool a_fits = a.workspace <= granted, b_fits = b.workspace <= granted;
  if (a_fits != b_fits) return a_fits;
  return a_fits ? a.time < b.time : a.workspace < b.workspace;
}

}  // namespace

Chip ChipOf(const Device& device) {
  return {.peak_flops = device.peak_flops,
          .memory_bandwidth = device.memory_bandwidth,
          .multiprocessors = static_cast<double>(device.multiprocessors),
          .l2_bytes = device.l2_cache > 0 ? static_cast<double>(device.l2_cache) : kUsualL2,
          .math_peaks = device.math_peaks};
}

Platform PlatformOf(const Device& device) {
  for (const KernelModel& model : device.models) {
    if (const KernelForm* form = FindKernelForm(model.form)) return form->platform;
  }
  return Platform::kGpu;
}

std::optional<Cost> CostByModels(const std::vector<ResolvedModel>& models, const Chip& chip, const Launch& launch,
                                 std::span<const std::int32_t> except) {
  const MathMode math = ArithmeticFor(models, launch);
  const Chip at = IsCarried(math, launch) ? CarriedTo(launch.math, chip) : chip;
  Choice best;
  for (const ResolvedModel& m : models) {
    if (m.math != math || !Serves(m, launch)) continue;
    if (Contains(except, m.algorithm)) continue;
    const Choice choice{&m, m.form->time(launch, at, m.parameters), m.form->workspace(launch)};
    if (Better(choice, best, launch.workspace)) best = choice;
  }
  if (best.model == nullptr) return std::nullopt;
  return CostOf(*best.model, chip, launch, best.time, best.workspace);
}

}  // namespace spillway

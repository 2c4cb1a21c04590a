#include <fmt/format.h>

#include <algorithm>

#include "model/cost/library_limits.h"
#include "model/cost/op_tiles.h"
#include "model/kernels/kernel_form.h"
#include "sim/evaluate/compile.h"
#include "sim/plan/parts.h"

namespace spillway {

namespace {

class LaunchRefusals {
 public:
  LaunchRefusals(const Plan& plan, const StepTables& tables, const CostModel& costs)
      : plan_(plan), tables_(tables), step_(*tables.step), device_(tables.device), costs_(costs) {}

  // A library refuses to run an algorithm in less workspace than it asks for; it picks another one where it may.
  std::string First() {
    for (const OpDecision& decision : plan_.ops) {
      if (!Suffices(decision)) return std::move(reason_);
    }
    for (const OpId op : tables_.refused) {
      const bool divided = std::any_of(plan_.ops.begin(), plan_.ops.end(), [op](const OpDecision& decision) {
        return decision.op == op && !decision.parts.empty();
      });
      if (!divided) return Refusal(op, LaunchOf(step_.ops[Index(op)]));
    }
    return "";
  }

 private:
  // Of a launch that is too large for the library.
  std::string Refusal(OpId id, const Launch& launch) const {
    const Device& device = costs_.machine().devices[Index(device_)];
    const Op& op = step_.ops[Index(id)];
    return LargeTensorRefusal(launch, CudnnVersion(device), op.name + PartText(op, launch));
  }

  bool Suffices(const OpDecision& decision) {
    const Launch whole = LaunchOf(step_.ops[Index(decision.op)]),
                 again = RecomputationOf(step_.ops[Index(decision.op)]);
    if (decision.parts.empty() && !Suffices(decision.op, whole, decision.algorithm, decision.workspace)) return false;
    if (!PartsSuffice(decision)) return false;
    return std::all_of(decision.again.begin(), decision.again.end(),
                       [&](const OpAgain& way) { return Suffices(decision.op, again, way.algorithm, way.workspace); });
  }

  bool PartsSuffice(const OpDecision& decision) {
    if (decision.parts.empty()) return true;
    const auto launches = LaunchesOfParts(decision, step_.ops[Index(decision.op)]);
    for (std::size_t k = 0; k < launches.size(); ++k) {
      const OpPart& part = decision.parts[k];
      if (k > 1 && part == decision.parts[k - 1]) continue;  // the first one of a sum is another launch
      for (const Launch& launch : launches[k]) {
        if (!Suffices(decision.op, launch, part.algorithm, part.workspace)) return false;
      }
    }
    return true;
  }

  bool Suffices(OpId id, Launch launch, std::int32_t algorithm, Bytes granted) {
    launch.algorithm = algorithm;
    launch.workspace = granted;
    const Cost cost = costs_.Kernel(launch, device_);
    if (cost.calls == 0) {
      reason_ = Refusal(id, launch);
      return false;
    }
    if (algorithm != 0 && cost.algorithm != algorithm) return UnknownAlgorithm(id, launch);
    if (granted >= cost.workspace) return true;
    const Op& op = step_.ops[Index(id)];
    const auto [wants, has] = FormatBytesApart(cost.workspace, granted);
    reason_ = fmt::format("workspace: {}{} wants {} and is granted {}", op.name, PartText(op, launch), wants, has);
    return false;
  }

  // Of a sum the first part writes and later ones add: they may want different workspaces.
  static std::string PartText(const Op& op, const Launch& launch) {
    const bool later = launch.accumulate && !op.accumulate;
    const bool tile = launch.shape.in.c != op.shape.in.c || launch.shape.out.c != op.shape.out.c ||
                      launch.shape.out.h != op.shape.out.h;
    if (tile) {
      return fmt::format(" in a tile of {} -> {}{}", ShapeText(launch.shape.in), ShapeText(launch.shape.out),
                         later ? " that adds to those before" : "");
    }
    if (launch.shape.in.n == op.shape.in.n) return "";
    return fmt::format(" in a part of {} samples{}", launch.shape.in.n, later ? " that adds to those before" : "");
  }

  // The profile has no time for it.
  bool UnknownAlgorithm(OpId id, const Launch& launch) {
    const Op& op = step_.ops[Index(id)];
    const auto name = [&op](std::int32_t a) { return AlgorithmName(op.kind, op.pass, a); };
    std::string known;
    for (const MenuEntry& entry : costs_.Menu(launch, device_)) {
      if (entry.algorithm != 0) known += fmt::format("{}{}", known.empty() ? "" : ", ", name(entry.algorithm));
    }
    reason_ = fmt::format("algorithm: {} knows no time of {} for {}; it knows those of {}", costs_.machine().name,
                          name(launch.algorithm), op.name + PartText(op, launch), known.empty() ? "none" : known);
    return false;
  }

  const Plan& plan_;
  const StepTables& tables_;
  const TrainingStep& step_;
  const int device_;
  const CostModel& costs_;
  std::string reason_;
};

}  // namespace

std::string UnsupportedLaunch(const Plan& plan, const StepTables& tables, const CostModel& costs) {
  return LaunchRefusals(plan, tables, costs).First();
}

}  // namespace spillway

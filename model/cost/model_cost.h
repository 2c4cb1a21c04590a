// Costs by the fitted kernel models of a profile: the fastest algorithm that can run within the workspace granted.
#ifndef SPILLWAY_MODEL_COST_MODEL_COST_H_
#define SPILLWAY_MODEL_COST_MODEL_COST_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/cost/cost_model.h"
#include "model/kernels/kernel_form.h"

namespace spillway {

Chip ChipOf(const Device& device);
// Whose forms its models have; of a device without models a GPU's.
Platform PlatformOf(const Device& device);

// A KernelModel with its form found and its parameters in the form's order.
struct ResolvedModel {
  const KernelModel* model = nullptr;
  const KernelForm* form = nullptr;
  MathMode math = MathMode::kFp32;
  std::int32_t algorithm = 0;
  std::uint64_t group = 0;  // identity: form, op, pass, algorithm and parameters
  std::vector<double> parameters;
};

// Throws UserError with all mistakes of models that a program made: each with machine, device and the nearest known name.
// Those of a file are told where it is read. The device must outlive what is returned.
std::vector<ResolvedModel> ResolveModels(const Device& device, const std::string& machine);

// `launch.workspace` must be a number of bytes. nullopt: no model can run it (the laws answer then). Where every
// algorithm wants more than is granted, the one that wants least. Algorithms of `except` are not considered.
std::optional<Cost> CostByModels(const std::vector<ResolvedModel>& models, const Chip& chip, const Launch& launch,
                                 std::span<const std::int32_t> except = {});

// Costs by the laws of a profile, and by the chip's figures where there is none.
// The errors of one law's answers add up: what is wrong about it is wrong for all of its kernels.
Cost CostByLaw(const Device& device, const Launch& launch);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_COST_MODEL_COST_H_

#include <algorithm>
#include <bit>
#include <cmath>

#include "model/step/launch.h"
#include "model/step/work_hash.h"
#include "model/util/hash.h"
#include "sim/uncertainty/drawn_error.h"

namespace spillway {
namespace {

std::uint64_t BitsOf(double value) { return std::bit_cast<std::uint64_t>(value); }

std::uint64_t StackOf(const Device& device) {
  Hasher hash;
  for (const KernelModel& model : device.models) {
    hash.Add(model.form).Add(OpKindName(model.op)).Add(PassName(model.pass));
    for (const KernelModel::Parameter& parameter : model.parameters) hash.Add(BitsOf(parameter.value));
  }
  if (!device.models.empty()) return hash.Value();
  for (const CostLaw& law : device.laws) {
    hash.Add(OpKindName(law.op)).Add(PassName(law.pass)).Add(law.window);
    hash.Add(BitsOf(law.flop_fraction)).Add(BitsOf(law.bandwidth_fraction));
  }
  return hash.Add(BitsOf(device.peak_flops)).Add(BitsOf(device.memory_bandwidth)).Value();
}

}  // namespace

Errors ErrorsOf(const Cost& cost, const ErrorPart& all, std::uint64_t work, std::uint64_t seed) {
  const double own = std::sqrt(std::max(0.0, cost.error * cost.error - cost.shared_error * cost.shared_error));
  return {
      .stack = all, .shared = {cost.shared_error, KeyOfModel(seed, cost.group)}, .own = {own, KeyOfWork(seed, work)}};
}

ErrorPart StackErrorOf(const Device& device, std::uint64_t seed) {
  return {device.stack_error, KeyOfStack(seed, StackOf(device))};
}

Errors ErrorsOfKernel(const CostModel& costs, const Launch& launch, std::uint64_t seed, int device) {
  const ErrorPart stack = StackErrorOf(costs.machine().devices[Index(device)], seed);
  return ErrorsOf(costs.Kernel(launch, device), stack, HashOfWork(launch), seed);
}

}  // namespace spillway

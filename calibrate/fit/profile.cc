#include "calibrate/fit/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "model/kernels/kernel_form.h"
#include "model/step/op_kind.h"

namespace spillway {
namespace {

// The mean over the samples: another call has no place in their order. That of first + (last - first) u^p is
// first + (last - first) / (p + 1).
CallFloor FloorOf(const HarnessFloor& floor) {
  const double added = floor.first_added_ns + (floor.last_added_ns - floor.first_added_ns) / (floor.added_power + 1);
  const double time = (floor.first_ns + floor.last_ns) / 2;
  return {floor.harness, floor.op, floor.pass, std::llround(added), std::llround(time), floor.math};
}

KernelModel Rounded(KernelModel model) {
  for (KernelModel::Parameter& p : model.parameters) p.value = Digits(5, p.value);
  for (double* figure :
       {&model.shared_error, &model.own_error, &model.copy_slowdown, &model.least_work, &model.most_work}) {
    *figure = Digits(5, *figure);
  }
  return model;
}

SoftwareStack Rounded(SoftwareStack stack) {
  for (double* factor : {&stack.arithmetic, &stack.memory, &stack.special}) *factor = Digits(5, *factor);
  return stack;
}

// Whether the model's algorithm runs every launch of its op and pass: the most awkward one, if it is a convolution.
bool RunsAll(const KernelModel& model) {
  const KernelForm* const form = FindKernelForm(model.form);
  if (form == nullptr) return false;
  Launch launch;
  launch.kind = model.op;
  launch.pass = model.pass;
  launch.layout = Layout::kNhwc;
  launch.shape.in = {.n = 2, .c = 4, .d = 8, .h = 8, .w = 8};
  launch.shape.out = {.n = 2, .c = 4, .d = 4, .h = 4, .w = 4};
  launch.shape.window = launch.shape.stride = {2, 2, 2};
  launch.shape.groups = 2;
  return form->Applies(launch);
}

// A law that no launch would reach any more.
bool IsServed(const CostLaw& law, const std::vector<KernelModel>& models) {
  return std::any_of(models.begin(), models.end(), [&](const KernelModel& model) {
    return model.op == law.op && model.pass == law.pass && model.math == "fp32" && RunsAll(model);
  });
}

}  // namespace

double Digits(int digits, double value) { return std::stod(fmt::format("{:.{}g}", value, digits)); }

void DropServedLaws(Machine* machine) {
  Device& device = machine->devices.at(0);
  std::erase_if(device.laws, [&](const CostLaw& law) { return IsServed(law, device.models); });
}

Machine ProfileFrom(Machine base, const FitResult& fit) {
  Device& device = base.devices.at(0);
  device.models.clear();
  for (const KernelModel& model : fit.models) device.models.push_back(Rounded(model));
  DropServedLaws(&base);
  device.call_floors.clear();
  for (const HarnessFloor& floor : fit.floors) device.call_floors.push_back(FloorOf(floor));
  device.stacks.clear();
  for (const SoftwareStack& stack : fit.stacks) device.stacks.push_back(Rounded(stack));
  std::erase_if(base.notes, [](const std::string& note) { return note.starts_with(kFitNote); });
  for (const std::string& warning : fit.warnings) base.notes.push_back(kFitNote + warning);
  return base;
}

}  // namespace spillway

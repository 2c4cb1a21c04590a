// Kernel models, machines that have them, and launches to ask about: for tests of costs by models.
#ifndef SPILLWAY_TESTS_KERNEL_MODELS_H_
#define SPILLWAY_TESTS_KERNEL_MODELS_H_

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "model/cost/model_cost.h"
#include "model/kernels/kernel_form.h"

namespace spillway {

constexpr Bytes kAnyWorkspace = std::numeric_limits<Bytes>::max();

// A model with the form's start values, but for those given.
inline KernelModel Model(const std::string& form, OpKind kind, Pass pass, const std::string& algorithm,
                         const std::vector<KernelModel::Parameter>& given) {
  const KernelForm* const found = FindKernelForm(form);
  REQUIRE(found != nullptr);
  KernelModel model;
  model.form = form;
  model.op = kind;
  model.pass = pass;
  model.algorithm = algorithm;
  for (const FormParameter& p : found->parameters) model.parameters.push_back({p.name, p.start});
  for (const KernelModel::Parameter& p : given) {
    const auto at = std::find_if(model.parameters.begin(), model.parameters.end(),
                                 [&](const KernelModel::Parameter& q) { return q.name == p.name; });
    REQUIRE(at != model.parameters.end());
    at->value = p.value;
  }
  model.source = {Source::Kind::kPublished, "test"};
  return model;
}

// 1000 ns and the bytes at half the bandwidth; a cache that holds them doubles the rate.
inline KernelModel ReluModel() {
  return Model("elementwise", OpKind::kRelu, Pass::kForward, "",
               {{"latency", 1000}, {"bandwidth_fraction", 0.5}, {"cache_gain", 1}});
}

// A convolution algorithm whose launches take `fixed` and, on the machine below, next to nothing beside it.
inline KernelModel ConvolutionModel(const std::string& form, double fixed) {
  return Model(form, OpKind::kConvolution, Pass::kForward, form, {{"fixed", fixed}});
}

// The unit machine with these models and a cache of 1 KiB.
inline Machine UnitWith(const std::vector<KernelModel>& models) {
  Machine machine = LoadMachine("unit");
  machine.devices[0].models = models;
  machine.devices[0].l2_cache = kKiB;
  return machine;
}

// The same at the rates of a real device, where small convolutions take microseconds.
inline Machine FastWith(const std::vector<KernelModel>& models) {
  Machine machine = UnitWith(models);
  machine.devices[0].peak_flops = 10000;
  machine.devices[0].memory_bandwidth = 500;
  machine.devices[0].multiprocessors = 80;
  machine.devices[0].l2_cache = 4 * kMiB;
  return machine;
}

// The less workspace, the slower: milliseconds apart.
inline std::vector<KernelModel> FourAlgorithms() {
  return {ConvolutionModel("implicit_gemm", 4e6), ConvolutionModel("implicit_precomp_gemm", 3e6),
          ConvolutionModel("winograd_nonfused", 2e6), ConvolutionModel("fft", 1e6)};
}

inline Launch Relu(std::int64_t elements) {
  Launch launch;
  launch.kind = OpKind::kRelu;
  launch.shape.in = launch.shape.out = Shape{1, 1, 1, 1, elements};
  return launch;
}

inline Launch Convolution(std::int64_t window, Bytes workspace = kAnyWorkspace) {
  Launch launch;
  launch.kind = OpKind::kConvolution;
  launch.shape.in = launch.shape.out = Shape{8, 16, 1, 12, 12};
  launch.shape.window = {1, window, window};
  launch.shape.pad = {0, window / 2, window / 2};
  launch.workspace = workspace;
  return launch;
}

// What the model's form says, in whole nanoseconds.
inline Nanos TimeOf(const Machine& machine, std::size_t model, const Launch& launch) {
  const KernelModel& m = machine.devices[0].models.at(model);
  std::vector<double> parameters;
  for (const KernelModel::Parameter& p : m.parameters) parameters.push_back(p.value);
  return std::llround(FindKernelForm(m.form)->time(launch, ChipOf(machine.devices[0]), parameters));
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_KERNEL_MODELS_H_

// Steps of small networks as lines of text: what each op reads and writes.
#ifndef SPILLWAY_TESTS_MODEL_STEP_LINES_H_
#define SPILLWAY_TESTS_MODEL_STEP_LINES_H_

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "model/network/network.h"
#include "model/step/training_step.h"
#include "model/unroll/unroll.h"
#include "model/zoo/network_builder.h"

namespace spillway {

constexpr Shape kSmallImage{.n = 2, .c = 4, .h = 4, .w = 4};

inline std::vector<std::string> TensorNames(const TrainingStep& step, const std::vector<TensorId>& ids) {
  std::vector<std::string> names;
  for (const TensorId id : ids) names.push_back(step.tensors[static_cast<std::size_t>(id)].name);
  return names;
}

// "name: reads -> writes" of the ops from `first` on whose name contains `part`.
inline std::vector<std::string> OpLines(const TrainingStep& step, OpId first, const std::string& part = "") {
  std::vector<std::string> lines;
  for (std::size_t i = static_cast<std::size_t>(first); i < step.ops.size(); ++i) {
    const Op& op = step.ops[i];
    if (op.name.find(part) == std::string::npos) continue;
    std::string line = op.name + ":";
    for (const std::string& name : TensorNames(step, op.reads)) line += " " + name;
    line += " ->";
    for (const std::string& name : TensorNames(step, op.writes)) line += " " + name;
    lines.push_back(line + (op.accumulate ? " +" : ""));
  }
  return lines;
}

using StepLines = std::vector<std::string>;

inline const Op& OpCalled(const TrainingStep& step, const std::string& name) {
  for (const Op& op : step.ops) {
    if (op.name == name) return op;
  }
  FAIL("no op " << name);
  return step.ops[0];
}

inline bool HasOp(const TrainingStep& step, const std::string& name) {
  return std::any_of(step.ops.begin(), step.ops.end(), [&](const Op& op) { return op.name == name; });
}

inline Network WithLoss(NetworkBuilder& b, LayerId from) { return b.Loss(b.Linear("fc", from, 3)); }

inline StepOptions OptionsWith(bool StepOptions::*flag, bool value = true) {
  StepOptions options;
  options.*flag = value;
  return options;
}

// conv -> bn -> relu -> fc
inline Network NormChainNetwork() {
  NetworkBuilder b("chain", kSmallImage);
  return WithLoss(b, b.ConvolutionNormRelu("conv", kNetworkInput, Square(4, 1)));
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_MODEL_STEP_LINES_H_

#include "sim/plan/check_op.h"

#include <fmt/format.h>

#include "model/cost/kernel_form.h"
#include "model/cost/op_parts.h"

namespace spillway {

namespace {

// `where`: the op, or a part of it.
void CheckLaunch(const Op& op, const std::string& where, std::int32_t algorithm, Bytes workspace,
                 std::vector<std::string>& mistakes) {
  const auto known = static_cast<std::int32_t>(AlgorithmNames(op.kind, op.pass).size());
  if ((algorithm < 0 || algorithm > known) && known == 0) {
    mistakes.push_back(fmt::format("op '{}' has no choice of algorithm", op.name));
  } else if (algorithm < 0 || algorithm > known) {
    mistakes.push_back(
        fmt::format("{}: no algorithm {}; it has {}, and 0 is the library's choice", where, algorithm, known));
  }
  if (workspace < 0) mistakes.push_back(fmt::format("{}: workspace must not be negative", where));
  if (workspace > kMostWorkspace) mistakes.push_back(fmt::format("{}: workspace must be at most 1 TB", where));
}

void CheckParts(const Op& op, const OpDecision& decision, std::vector<std::string>& mistakes) {
  if (!HasSampleParts(op.kind)) {
    mistakes.push_back(fmt::format("op '{}': parts are of convolutions, this is {}", op.name, OpKindName(op.kind)));
    return;
  }
  if (decision.algorithm != 0 || decision.workspace != 0) {
    mistakes.push_back(
        fmt::format("op '{}': expected algorithm and workspace in its parts, found them beside parts", op.name));
  }
  std::int64_t samples = 0;
  bool positive = true;
  for (std::size_t k = 0; k < decision.parts.size(); ++k) {
    const OpPart& part = decision.parts[k];
    CheckLaunch(op, fmt::format("op '{}', part {}", op.name, k), part.algorithm, part.workspace, mistakes);
    // No sum of parts that are each within the batch overflows before it is beyond it.
    positive = positive && part.samples > 0 && part.samples <= op.shape.in.n && samples <= op.shape.in.n;
    if (positive) samples += part.samples;
  }
  if (!positive || samples != op.shape.in.n) {
    mistakes.push_back(positive ? fmt::format("op '{}': expected parts of {} samples in all, found {}", op.name,
                                              op.shape.in.n, samples)
                                : fmt::format("op '{}': expected parts of 1 to {} samples that are as many in all",
                                              op.name, op.shape.in.n));
  }
}

}  // namespace

std::vector<std::string> OpMistakes(const OpDecision& decision, const TrainingStep& step) {
  std::vector<std::string> mistakes;
  const Op& op = step.ops[Index(decision.op)];
  CheckLaunch(op, fmt::format("op '{}'", op.name), decision.algorithm, decision.workspace, mistakes);
  if (!decision.parts.empty()) CheckParts(op, decision, mistakes);
  return mistakes;
}

}  // namespace spillway

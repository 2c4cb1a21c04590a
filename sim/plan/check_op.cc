#include "sim/plan/check_op.h"

#include <fmt/format.h>

#include <algorithm>

#include "hw/text/lists.h"
#include "model/cost/op_tiles.h"
#include "model/kernels/kernel_form.h"

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

void CheckAgain(const Op& op, const std::vector<OpAgain>& again, std::vector<std::string>& mistakes) {
  for (std::size_t k = 0; k < again.size(); ++k) {
    const std::string which = again.size() == 1 ? "" : fmt::format("[{}]", k);
    CheckLaunch(op, fmt::format("op '{}', again{}", op.name, which), again[k].algorithm, again[k].workspace, mistakes);
  }
  if (op.pass == Pass::kForward || again.empty()) return;
  mistakes.push_back(fmt::format("op '{}' does not run again: only forward ops are recomputed", op.name));
}

void CheckParts(const Op& op, const OpDecision& decision, std::vector<std::string>& mistakes) {
  if (!HasSampleParts(op)) {
    mistakes.push_back(fmt::format("op '{}': an op of kind {} runs whole only", op.name, OpKindName(op.kind)));
    return;
  }
  if (!HasAlgorithms(op.kind) && decision.streamed.empty()) {
    mistakes.push_back(fmt::format("op '{}': expected what it streams beside its parts, as of any {}, found nothing",
                                   op.name, OpKindName(op.kind)));
  }
  if (decision.algorithm != 0 || decision.workspace != 0) {
    mistakes.push_back(
        fmt::format("op '{}': expected algorithm and workspace in its parts, found them beside parts", op.name));
  }
  std::int64_t samples = 0;
  bool positive = true;
  for (std::size_t k = 0; k < decision.parts.size(); ++k) {
    const OpPart& part = decision.parts[k];
    if (k == 0 || !(part == decision.parts[k - 1])) {  // of a row of equal ones the first says it for all
      CheckLaunch(op, fmt::format("op '{}', part {}", op.name, k), part.algorithm, part.workspace, mistakes);
    }
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

// One axis; returns whether it is right.
bool CheckRanges(const Op& op, const char* axis, std::int64_t count, std::int64_t most,
                 std::vector<std::string>& mistakes) {
  if (count >= 1 && count <= most) return true;
  mistakes.push_back(
      most == 1 ? fmt::format("op '{}': {}: this op is not divided along them, found {} ranges", op.name, axis, count)
                : fmt::format("op '{}': {}: expected 1 to {} ranges, found {}", op.name, axis, most, count));
  return false;
}

void CheckTiles(const Op& op, const OpDecision& decision, std::vector<std::string>& mistakes) {
  const TileCounts &tiles = decision.tiles, most = MostRanges(LaunchOf(op));
  if (decision.parts.empty()) {
    mistakes.push_back(fmt::format("op '{}': expected parts beside tiles, found none", op.name));
  }
  const bool in = CheckRanges(op, "in_channels", tiles.in_channels, most.in_channels, mistakes);
  const bool out = CheckRanges(op, "out_channels", tiles.out_channels, most.out_channels, mistakes);
  const bool rows = CheckRanges(op, "rows", tiles.rows, most.rows, mistakes);
  if (!in || !out || !rows) return;
  // Step by step: no product overflows before it is beyond the limit.
  std::int64_t all = static_cast<std::int64_t>(decision.parts.size());
  for (const std::int64_t count : {tiles.in_channels, tiles.out_channels, tiles.rows}) {
    all = all > kMostTiles / count ? kMostTiles + 1 : all * count;
  }
  if (all > kMostTiles) {
    mistakes.push_back(fmt::format("op '{}': expected at most {} tiles in all, found more", op.name, kMostTiles));
  }
}

void CheckStreamed(const Op& op, const OpDecision& decision, const TrainingStep& step,
                   std::vector<std::string>& mistakes) {
  if (decision.parts.empty()) {
    mistakes.push_back(fmt::format("op '{}': expected parts beside what it streams, found none", op.name));
  }
  for (std::size_t k = 0; k < decision.streamed.size(); ++k) {
    const TensorId t = decision.streamed[k];
    if (t < 0 || Index(t) >= step.tensors.size()) {
      mistakes.push_back(fmt::format("op '{}': it streams no such tensor", op.name));
      continue;
    }
    const Tensor& tensor = step.tensors[Index(t)];
    if (!Contains(op.reads, t) && !Contains(op.writes, t)) {
      mistakes.push_back(fmt::format("op '{}' does not use tensor '{}', which it is to stream", op.name, tensor.name));
    } else if (!MayStream(tensor)) {
      mistakes.push_back(
          fmt::format("op '{}' cannot stream tensor '{}', which is {}: only what has samples is streamed", op.name,
                      tensor.name, TensorClassName(tensor.use)));
    }
    const auto here = decision.streamed.begin() + static_cast<std::ptrdiff_t>(k);
    if (std::find(decision.streamed.begin(), here, t) != here) {
      mistakes.push_back(fmt::format("op '{}' streams tensor '{}' twice", op.name, tensor.name));
    }
  }
}

void CheckDepth(const Op& op, const OpDecision& decision, std::vector<std::string>& mistakes) {
  if (decision.depth < 1 || decision.depth > kMostTilesDeep) {
    mistakes.push_back(
        fmt::format("op '{}': depth must be from 1 to {}, found {}", op.name, kMostTilesDeep, decision.depth));
  } else if (decision.streamed.empty() && decision.depth != kTilesDeep) {
    mistakes.push_back(fmt::format("op '{}': depth belongs to what it streams, which is nothing", op.name));
  }
}

}  // namespace

std::vector<std::string> OpMistakes(const OpDecision& decision, const TrainingStep& step) {
  std::vector<std::string> mistakes;
  const Op& op = step.ops[Index(decision.op)];
  CheckLaunch(op, fmt::format("op '{}'", op.name), decision.algorithm, decision.workspace, mistakes);
  if (!decision.parts.empty()) CheckParts(op, decision, mistakes);
  CheckAgain(op, decision.again, mistakes);
  if (decision.tiles != TileCounts{}) CheckTiles(op, decision, mistakes);
  if (!decision.streamed.empty()) CheckStreamed(op, decision, step, mistakes);
  CheckDepth(op, decision, mistakes);
  return mistakes;
}

}  // namespace spillway

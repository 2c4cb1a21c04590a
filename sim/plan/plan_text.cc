// Plans as text: names in place of indices, one decision a line.
#include <fmt/format.h>

#include "model/kernels/kernel_form.h"
#include "sim/plan/plan.h"
#include "sim/plan/plan_keys.h"

namespace spillway {

namespace {

// Letters, digits, '_', '-' and '.', starting with a letter, and none of YAML's words: safe without quotes.
bool IsPlain(const std::string& text) {
  static const std::vector<std::string> kWords{"true", "false", "null", "yes", "no", "on", "off", "y", "n"};
  std::string lower;
  for (char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool other = (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
    if (!letter && (!other || lower.empty())) return false;
    lower += static_cast<char>(letter ? c | 0x20 : c);
  }
  for (const std::string& word : kWords) {
    if (lower == word) return false;
  }
  return !text.empty();
}

std::string Quoted(const std::string& text) {
  if (IsPlain(text)) return text;
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string OpName(const TrainingStep& step, OpId op) {
  return op == kNoOp ? kPlanStart : Quoted(step.ops[Index(op)].name);
}

// The fields that most runtimes leave alone, where this one does not.
std::string RareFields(const Runtime& runtime) {
  std::string out;
  if (runtime.pool != PoolKind::kBytes) out += ", pool: addresses";
  if (runtime.blocking_copies != BlockingCopies::kNone) {
    out += fmt::format(", blocking_copies: {}", RuntimeWord(runtime, "blocking_copies"));
  }
  if (runtime.swap_in_waits != SwapInWaits::kKernel) {
    out += fmt::format(", swap_in_waits: {}", RuntimeWord(runtime, "swap_in_waits"));
  }
  if (runtime.collection_time != 0) {
    out += fmt::format(", collection_time: {}", FormatDurationExact(runtime.collection_time));
  }
  if (runtime.backward_units != BackwardUnits::kLayers) {
    out += fmt::format(", backward_units: {}", RuntimeWord(runtime, "backward_units"));
  }
  if (runtime.part_waits != PartWaits::kNone) out += ", part_waits: " + RuntimeWord(runtime, "part_waits");
  if (runtime.workspaces != Workspaces::kPerOp) out += ", workspaces: " + RuntimeWord(runtime, "workspaces");
  if (runtime.gaps != CarriedGaps::kAny) out += ", gaps: " + RuntimeWord(runtime, "gaps");
  if (runtime.host_percent != 100) out += fmt::format(", host_percent: {}", runtime.host_percent);
  return out;
}

std::string Head(const Plan& plan) {
  std::string out;
  const auto text = [&out](const char* key, const std::string& value) {
    if (!value.empty()) out += fmt::format("{}: {}\n", key, Quoted(value));
  };
  text("strategy", plan.strategy);
  text("network", plan.network);
  out += fmt::format("batch: {}\n", plan.batch);
  if (plan.accumulate != 1) out += fmt::format("accumulate: {}\n", plan.accumulate);
  text("machine", plan.machine);
  out += fmt::format("capacity: {}\n", FormatBytesExact(plan.capacity));
  text("search", plan.search);
  if (plan.evaluations != 0) out += fmt::format("evaluations: {}\n", plan.evaluations);
  const Runtime& runtime = plan.runtime;
  out += fmt::format(
      "runtime: {{copy_streams: {}, memory: {}, barrier: {}, host_syncs: {}, framework_time: {}, copy_chunk: "
      "{}{}}}\n",
      runtime.copy_streams, RuntimeWord(runtime, "memory"), RuntimeWord(runtime, "barrier"),
      RuntimeWord(runtime, "host_syncs"), FormatDurationExact(runtime.framework_time),
      FormatBytesExact(runtime.copy_chunk), RareFields(runtime));
  return out;
}

std::string LeavesAfter(OpId op, const TrainingStep& step) {
  return op == kNoOp ? "" : ", leaves_after: " + OpName(step, op);
}

std::string EndName(const GapDecision& gap, const TrainingStep& step) {
  if (gap.EndsInNextStep()) return kPlanNextStep;
  return gap.IsOpen() ? kPlanNone : OpName(step, gap.before);
}

std::string Line(const GapDecision& gap, const TrainingStep& step) {
  std::string line =
      fmt::format("  - {{tensor: {}, action: {}, after: {}, before: {}", Quoted(step.tensors[Index(gap.tensor)].name),
                  GapActionNames()[static_cast<std::size_t>(gap.action)], OpName(step, gap.after), EndName(gap, step));
  if (gap.action == GapAction::kSwap) {
    if (gap.out_after != gap.after) line += ", out_after: " + OpName(step, gap.out_after);
    const OpId usual = gap.EndsInNextStep() ? FirstUse(step, gap.tensor) : gap.before;
    if (gap.in_at != usual) line += ", in_at: " + OpName(step, gap.in_at);
  }
  if (!gap.keep_result) line += ", keep_result: false";
  if (!gap.keep_passed) line += ", keep_passed: false";
  line += LeavesAfter(gap.leaves_after, step);
  if (!gap.samples.IsWhole()) line += fmt::format(", samples: [{}, {}]", gap.samples.begin, gap.samples.end);
  if (!gap.reason.empty()) line += ", reason: " + Quoted(gap.reason);
  return line + "}\n";
}

// "algorithm: winograd, workspace: 8 MiB"
std::string Way(const Op& op, std::int32_t algorithm, Bytes workspace) {
  const std::string name = AlgorithmName(op.kind, op.pass, algorithm);
  return fmt::format("{}{}{}workspace: {}", name.empty() ? "" : "algorithm: ", name, name.empty() ? "" : ", ",
                     FormatBytesExact(workspace));
}

// ", again: {workspace: 8 MiB}" or ", again: [{workspace: 8 MiB}, {workspace: 0 B}]"
std::string Again(const Op& op, const std::vector<OpAgain>& again) {
  std::vector<std::string> ways;
  for (const OpAgain& way : again) ways.push_back(fmt::format("{{{}}}", Way(op, way.algorithm, way.workspace)));
  if (ways.empty()) return "";
  return ", again: " + (ways.size() == 1 ? ways.front() : fmt::format("[{}]", fmt::join(ways, ", ")));
}

// Equal parts in a row are written once.
std::string Parts(const Op& op, const std::vector<OpPart>& parts) {
  std::string out;
  for (std::size_t k = 0, times = 0; k < parts.size(); k += times) {
    times = 1;
    while (k + times < parts.size() && parts[k + times] == parts[k]) ++times;
    out += fmt::format("{}{{samples: {}, {}{}}}", k == 0 ? "" : ", ", parts[k].samples,
                       Way(op, parts[k].algorithm, parts[k].workspace),
                       times > 1 ? fmt::format(", times: {}", times) : "");
  }
  return out;
}

// ", streamed: [conv1, relu1], depth: 2, fused: true"
std::string Streamed(const OpDecision& decision, const TrainingStep& step) {
  std::vector<std::string> names;
  for (const TensorId t : decision.streamed) names.push_back(Quoted(step.tensors[Index(t)].name));
  if (names.empty()) return "";
  const std::string depth = decision.depth == kTilesDeep ? "" : fmt::format(", depth: {}", decision.depth);
  return fmt::format(", streamed: [{}]{}{}", fmt::join(names, ", "), depth, decision.fused ? ", fused: true" : "");
}

// ", tiles: {out_channels: 2, rows: 8}"
std::string Tiles(const TileCounts& tiles) {
  std::vector<std::string> counts;
  if (tiles.in_channels > 1) counts.push_back(fmt::format("in_channels: {}", tiles.in_channels));
  if (tiles.out_channels > 1) counts.push_back(fmt::format("out_channels: {}", tiles.out_channels));
  if (tiles.rows > 1) counts.push_back(fmt::format("rows: {}", tiles.rows));
  return counts.empty() ? "" : fmt::format(", tiles: {{{}}}", fmt::join(counts, ", "));
}

std::string Line(const OpDecision& decision, const TrainingStep& step) {
  const Op& op = step.ops[Index(decision.op)];
  const std::string how = decision.parts.empty() ? Way(op, decision.algorithm, decision.workspace)
                                                 : fmt::format("parts: [{}]", Parts(op, decision.parts));
  return fmt::format("  - {{op: {}, {}{}{}{}}}\n", OpName(step, decision.op), how, Again(op, decision.again),
                     Tiles(decision.tiles), Streamed(decision, step));
}

std::string Line(const Recomputation& entry, const TrainingStep& step) {
  return fmt::format("  - {{before: {}, run: {}{}{}}}\n", OpName(step, entry.before), OpName(step, entry.run),
                     entry.keep ? "" : ", keep: false", LeavesAfter(entry.leaves_after, step));
}

template <typename Decision>
std::string List(const char* key, const std::vector<Decision>& decisions, const TrainingStep& step) {
  std::string out = decisions.empty() ? "" : fmt::format("{}:\n", key);
  for (const Decision& decision : decisions) out += Line(decision, step);
  return out;
}

}  // namespace

std::string PlanToYaml(const Plan& plan, const TrainingStep& step) {
  return Head(plan) + List("gaps", plan.gaps, step) + List("ops", plan.ops, step) +
         List("recompute", plan.recompute, step);
}

}  // namespace spillway

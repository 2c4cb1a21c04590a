// spillway show step: whether a recorded step fits, and what binds.
#include <fmt/format.h>

#include <algorithm>

#include "model/recorded/footprint.h"
#include "model/recorded/recorded_machine.h"
#include "reports/tables/text.h"
#include "scenarios/cli/show.h"
#include "scenarios/cli/step_helps.h"
#include "scenarios/run/recorded_plan.h"

namespace spillway {

namespace {

constexpr std::size_t kLargestTensors = 5, kLargestModules = 8;
constexpr double kMargin = 0.1;

std::string OpText(const RecordedStep& recorded, OpId op) {
  const RecordedCall& call = recorded.calls[Index(op)];
  std::string text =
      fmt::format("{} ({}", recorded.step.ops[Index(op)].name, PassName(recorded.step.ops[Index(op)].pass));
  if (!call.module.empty()) text += ", in " + call.module;
  return text + ")";
}

std::string Share(Bytes part, Bytes all) {
  return fmt::format("{:.0f} %", 100 * static_cast<double>(part) / static_cast<double>(std::max<Bytes>(1, all)));
}

Bytes OperandBytes(const RecordedStep& recorded, OpId op) {
  const Op& o = recorded.step.ops[Index(op)];
  Bytes bytes = 0;
  for (const TensorId t : o.reads) bytes += recorded.step.tensors[Index(t)].bytes;
  for (const TensorId t : o.writes) {
    const bool read_too = std::find(o.reads.begin(), o.reads.end(), t) != o.reads.end();
    if (!read_too) bytes += recorded.step.tensors[Index(t)].bytes;
  }
  return bytes;
}

std::string HeadText(const RecordedStep& recorded, const Footprint& footprint) {
  const RecordedAbout& about = recorded.about;
  const std::string where = about.device_type.empty()
                                ? "a device that the recording does not name"
                                : fmt::format("{} ({})", RecordedDeviceName(recorded), about.precision);
  return fmt::format(
      "{} at batch {}, {} calls, recorded on {}\n\n"
      "peak with everything on the device: {} at {}\n"
      "the least that any plan can need:   {} at {}, whose operands alone take {}\n",
      recorded.step.network, recorded.step.batch, recorded.step.ops.size(), where, FormatBytes(footprint.PeakBytes()),
      OpText(recorded, footprint.peak), FormatBytes(footprint.LeastBytes()), OpText(recorded, footprint.least),
      FormatBytes(OperandBytes(recorded, footprint.least)));
}

std::string UsesText(const Present& at_peak, Bytes peak) {
  TextTable table({"<at the peak", "bytes", "share"});
  for (std::size_t use = 0; use < kRecordedUses; ++use) {
    if (at_peak.by_use[use] == 0) continue;
    table.Row({RecordedUseName(static_cast<RecordedUse>(use)), FormatBytes(at_peak.by_use[use]),
               Share(at_peak.by_use[use], peak)});
  }
  if (at_peak.held > 0) table.Row({"held by variables", FormatBytes(at_peak.held), Share(at_peak.held, peak)});
  if (at_peak.workspace > 0) table.Row({"workspace", FormatBytes(at_peak.workspace), Share(at_peak.workspace, peak)});
  return table.Text();
}

std::string ModulesText(const Present& at_peak, Bytes peak) {
  if (at_peak.by_module.size() < 2) return "";
  TextTable table({"<module", "bytes", "share"});
  Bytes others = 0;
  for (std::size_t k = 0; k < at_peak.by_module.size(); ++k) {
    const auto& [module, bytes] = at_peak.by_module[k];
    if (k >= kLargestModules) others += bytes;
    if (k < kLargestModules) table.Row({module.empty() ? "(none)" : module, FormatBytes(bytes), Share(bytes, peak)});
  }
  if (others > 0) {
    table.Row({fmt::format("{} others", at_peak.by_module.size() - kLargestModules), FormatBytes(others),
               Share(others, peak)});
  }
  return "\n" + table.Text();
}

std::string TensorsText(const RecordedStep& recorded, const Present& present, OpId op, Bytes all) {
  TextTable table({"<largest tensors at " + recorded.step.ops[Index(op)].name, "bytes", "share", "<class", "<made by"});
  for (std::size_t k = 0; k < std::min(kLargestTensors, present.tensors.size()); ++k) {
    const TensorId t = present.tensors[k];
    const Tensor& tensor = recorded.step.tensors[Index(t)];
    const OpId maker = recorded.makers[Index(t)];
    table.Row({tensor.name, FormatBytes(tensor.bytes), Share(tensor.bytes, all),
               RecordedUseName(recorded.uses[Index(t)]), maker == kNoOp ? "before the step" : OpText(recorded, maker)});
  }
  return "\n" + table.Text();
}

// The operands of the op that needs the most by itself, as if nothing else were there.
Present OperandsOf(const RecordedStep& recorded, OpId op) {
  Present present = PresentAt(recorded, op);
  const Op& o = recorded.step.ops[Index(op)];
  std::erase_if(present.tensors, [&](TensorId t) {
    return std::find(o.reads.begin(), o.reads.end(), t) == o.reads.end() &&
           std::find(o.writes.begin(), o.writes.end(), t) == o.writes.end();
  });
  return present;
}

std::string CardAnswer(const RecordedStep& recorded, const Footprint& footprint, const std::string& memory) {
  const CardMemory card = CardMemoryOf(memory, kMargin, MachineOfRecording(recorded, 0), recorded, false);
  const Bytes left = card.Left();
  const char* fits = "no plan fits";
  if (footprint.LeastBytes() <= left) fits = "it does not fit as it is; a plan may: spillway plan";
  if (footprint.PeakBytes() <= left) fits = "it fits as it is";
  std::string text = fmt::format("\n{}: {}\n", CardText(card), fits);
  Bytes fixed = 0;
  for (const Tensor& tensor : recorded.step.tensors) fixed += tensor.Traits().resident ? tensor.bytes : 0;
  if (fixed > left) text += fmt::format("weights, states and the like alone take {}\n", FormatBytes(fixed));
  return text;
}

// Where the calls differ, from the two peaks alone.
std::string BatchText(const std::vector<Bytes>& a, std::int64_t batch_a, const std::vector<Bytes>& b,
                      std::int64_t batch_b, Bytes limit) {
  const auto peak = [](const std::vector<Bytes>& by_op) {
    return std::vector<Bytes>{*std::max_element(by_op.begin(), by_op.end())};
  };
  const bool alike = a.size() == b.size();
  const auto batch =
      alike ? LargestBatch(a, batch_a, b, batch_b, limit) : LargestBatch(peak(a), batch_a, peak(b), batch_b, limit);
  return batch ? fmt::format("{}{}", alike ? "" : "about ", *batch) : "any";
}

std::string BatchAnswer(const RecordedStep& a, const RecordedStep& b, const std::string& memory) {
  if (a.step.batch == b.step.batch) {
    throw UserError(
        fmt::format("show step: both recordings have batch {}; expected the same step at two batches", a.step.batch));
  }
  const Bytes left = CardMemoryOf(memory, kMargin, MachineOfRecording(a, 0), a, false).Left();
  const Footprint of_a = FootprintOf(a), of_b = FootprintOf(b);
  const auto largest = [&](const std::vector<Bytes>& by_a, const std::vector<Bytes>& by_b) {
    return BatchText(by_a, a.step.batch, by_b, b.step.batch, left);
  };
  return fmt::format(
      "\nfrom batches {} and {}, the largest batch there: {} with everything on the device, at most {} by any plan\n",
      a.step.batch, b.step.batch, largest(of_a.in_core, of_b.in_core), largest(of_a.alone, of_b.alone));
}

}  // namespace

std::string ShowStep(const ShowAsked& asked) {
  const auto recorded = LoadRecordedStep(asked.name);
  const Footprint footprint = FootprintOf(*recorded);
  const Present at_peak = PresentAt(*recorded, footprint.peak);
  std::string text = HeadText(*recorded, footprint) + "\n" + UsesText(at_peak, footprint.PeakBytes()) +
                     ModulesText(at_peak, footprint.PeakBytes()) +
                     TensorsText(*recorded, at_peak, footprint.peak, footprint.PeakBytes());
  if (footprint.least != footprint.peak) {
    const Present alone = OperandsOf(*recorded, footprint.least);
    text += TensorsText(*recorded, alone, footprint.least, footprint.LeastBytes());
  }
  if (!asked.memory.empty()) text += CardAnswer(*recorded, footprint, asked.memory);
  if (!asked.other.empty()) {
    if (asked.memory.empty() && recorded->about.memory == 0) {
      throw UserError("show step: the largest batch needs a card: --memory 11GB");
    }
    text += BatchAnswer(*recorded, *LoadRecordedStep(asked.other), asked.memory);
  }
  return text + StepHelpsText(*recorded, footprint);
}

}  // namespace spillway

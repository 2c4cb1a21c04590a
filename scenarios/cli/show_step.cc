// spillway show step: whether a recorded step fits, and what binds.
#include <fmt/format.h>

#include <algorithm>

#include "model/recorded/footprint.h"
#include "model/recorded/gpu_differences.h"
#include "model/recorded/module_memory.h"
#include "model/recorded/recorded_machine.h"
#include "reports/html/memory_page.h"
#include "reports/tables/text.h"
#include "scenarios/cli/show.h"
#include "scenarios/cli/step_helps.h"
#include "scenarios/cli/step_on_machine.h"
#include "scenarios/run/recorded_plan.h"

namespace spillway {

namespace {

constexpr std::size_t kLargestTensors = 5;
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
      "the least that any plan with parameters and states on the device can need: {} at {}, whose operands alone take "
      "{}\n",
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

std::string ModuleName(const ModuleMemory::Row& row) {
  if (row.summed > 0) return fmt::format("{} others", row.summed);
  return row.module.empty() ? "(none)" : row.module;
}

std::string ModulesText(const ModuleMemory& memory, OpId peak, Bytes all) {
  TextTable table({"<module", "bytes", "share"});
  int shown = 0;
  for (const ModuleMemory::Row& row : memory.rows) {
    const Bytes bytes = row.bytes[Index(peak)];
    if (bytes == 0) continue;
    ++shown;
    table.Row({ModuleName(row), FormatBytes(bytes), Share(bytes, all)});
  }
  return shown < 2 ? "" : "\n" + table.Text();
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

bool HasCard(const ShowAsked& asked) { return !asked.memory.empty() || !asked.machine.empty(); }

// That of the machine asked about, or of the recording's own.
CardMemory CardFor(const RecordedStep& recorded, const ShowAsked& asked) {
  const bool profile = !asked.machine.empty();
  const Machine machine = profile ? LoadMachine(asked.machine) : MachineOfRecording(recorded, 0);
  return CardMemoryOf(asked.memory, kMargin, machine, recorded, profile);
}

std::string CardAnswer(const RecordedStep& recorded, const Footprint& footprint, const ShowAsked& asked) {
  const CardMemory card = CardFor(recorded, asked);
  const Bytes left = card.Left();
  const char* fits = "no plan with parameters and states on the device fits";
  if (footprint.LeastBytes() <= left) fits = "it does not fit as it is; a plan may: spillway plan";
  if (footprint.PeakBytes() <= left) fits = "it fits as it is";
  const Bytes highest = PeakOnGpu(recorded, footprint).high - card.workspace;
  if (footprint.PeakBytes() <= left && highest > left) fits = "it fits as it was recorded, and may not on a GPU";
  std::string text = fmt::format("\n{}: {}\n", CardText(card), fits);
  Bytes fixed = 0;
  for (const Tensor& tensor : recorded.step.tensors) fixed += tensor.Traits().resident ? tensor.bytes : 0;
  if (fixed > left) text += fmt::format("weights, states and the like alone take {}\n", FormatBytes(fixed));
  return text;
}

std::string BytesOr(Bytes bytes) { return bytes > 0 ? FormatBytes(bytes) : "-"; }

// Of a recording of a CPU: its peak on a GPU is only known within limits.
std::string OnGpuText(const RecordedStep& recorded, const Footprint& footprint) {
  const std::vector<GpuDifference> differences = DifferencesOnGpu(recorded);
  if (differences.empty()) return "";
  TextTable table({"<on a GPU", "more", "at updates", "perhaps more", "perhaps less", "<source"});
  for (const GpuDifference& d : differences) {
    table.Row({d.what, BytesOr(d.whole_step), BytesOr(d.update), BytesOr(d.maybe), BytesOr(d.less), d.source});
  }
  const GpuPeak peak = PeakOnGpu(recorded, footprint);
  return fmt::format("\n{}peak there by these assumptions: about {} to {}; {} are recorded\n", table.Text(),
                     FormatBytes(peak.low), FormatBytes(peak.high), FormatBytes(footprint.PeakBytes()));
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

std::string BatchAnswer(const RecordedStep& a, const RecordedStep& b, const ShowAsked& asked) {
  if (a.step.batch == b.step.batch) {
    throw UserError(
        fmt::format("show step: both recordings have batch {}; expected the same step at two batches", a.step.batch));
  }
  const Bytes left = CardFor(a, asked).Left();
  const Footprint of_a = FootprintOf(a), of_b = FootprintOf(b);
  const auto largest = [&](const std::vector<Bytes>& by_a, const std::vector<Bytes>& by_b) {
    return BatchText(by_a, a.step.batch, by_b, b.step.batch, left);
  };
  return fmt::format(
      "\nfrom batches {} and {}, the largest batch there: {} with everything on the device, at most {} by any plan "
      "with parameters and states there\n",
      a.step.batch, b.step.batch, largest(of_a.in_core, of_b.in_core), largest(of_a.alone, of_b.alone));
}

}  // namespace

std::string StepPage(const ShowAsked& asked) {
  const auto recorded = LoadRecordedStep(asked.name);
  return MemoryPage(*recorded, HasCard(asked) ? CardFor(*recorded, asked).Left() : 0);
}

std::string ShowStep(const ShowAsked& asked) {
  const auto recorded = LoadRecordedStep(asked.name);
  const Footprint footprint = FootprintOf(*recorded);
  const Present at_peak = PresentAt(*recorded, footprint.peak);
  std::string text = HeadText(*recorded, footprint) + "\n" + UsesText(at_peak, footprint.PeakBytes()) +
                     ModulesText(MemoryByModule(*recorded, footprint.peak), footprint.peak, footprint.PeakBytes()) +
                     TensorsText(*recorded, at_peak, footprint.peak, footprint.PeakBytes());
  if (footprint.least != footprint.peak) {
    const Present alone = OperandsOf(*recorded, footprint.least);
    text += TensorsText(*recorded, alone, footprint.least, footprint.LeastBytes());
  }
  if (HasCard(asked)) {
    text += CardAnswer(*recorded, footprint, asked) + OnGpuText(*recorded, footprint);
  }
  if (!asked.machine.empty()) text += StepOnMachineText(asked);
  if (!asked.other.empty()) {
    if (!HasCard(asked) && recorded->about.memory == 0) {
      throw UserError("show step: the largest batch needs a card: --memory 11GB");
    }
    text += BatchAnswer(*recorded, *LoadRecordedStep(asked.other), asked);
  }
  return text + StepHelpsText(*recorded, footprint);
}

}  // namespace spillway

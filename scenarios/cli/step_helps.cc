#include "scenarios/cli/step_helps.h"

#include <algorithm>
#include <string_view>

#include "reports/tables/text.h"

namespace spillway {

namespace {

bool Has(const RecordedCall& call, std::string_view part) { return call.op.find(part) != std::string::npos; }

bool HasCall(const RecordedStep& recorded, std::string_view part, Pass pass) {
  for (std::size_t op = 0; op < recorded.calls.size(); ++op) {
    if (recorded.step.ops[op].pass == pass && Has(recorded.calls[op], part)) return true;
  }
  return false;
}

// Of tensors at the peak that a softmax of forward made; the one of a loss is no attention.
Bytes ScoresOf(const RecordedStep& recorded, const Present& present) {
  Bytes bytes = 0;
  for (const TensorId t : present.tensors) {
    const OpId maker = recorded.makers[Index(t)];
    if (maker == kNoOp) continue;
    const RecordedCall& call = recorded.calls[Index(maker)];
    const bool scores = Has(call, "softmax") && !Has(call, "log_softmax") && !Has(call, "backward");
    if (scores) bytes += recorded.step.tensors[Index(t)].bytes;
  }
  return bytes;
}

// Calls of forward that run again in backward: the user's own checkpointing.
bool RunsForwardAgain(const RecordedStep& recorded) {
  for (const char* name : {"layer_norm", "batch_norm", "gelu", "silu", "softmax"}) {
    for (std::size_t op = 0; op < recorded.calls.size(); ++op) {
      if (recorded.step.ops[op].pass != Pass::kBackward) continue;
      if (Has(recorded.calls[op], name) && !Has(recorded.calls[op], "backward")) return true;
    }
  }
  return false;
}

Bytes Of(const Present& present, RecordedUse use) { return present.by_use[static_cast<std::size_t>(use)]; }

struct Help {
  const char* change;
  Bytes bytes;  // at the peak; 0: not known
  const char* source;
};

std::vector<Help> HelpsOf(const RecordedStep& recorded, const Footprint& footprint) {
  const Present at_peak = PresentAt(recorded, footprint.peak);
  const bool in_update = recorded.step.ops[Index(footprint.peak)].pass == Pass::kUpdate;
  const bool in_forward = recorded.step.IsForward(footprint.peak);
  std::vector<Help> helps;
  if (in_update && HasCall(recorded, "_foreach", Pass::kUpdate)) {
    const Bytes temporaries = Of(at_peak, RecordedUse::kTemporaries);
    helps.push_back(
        {"optimizer with foreach=False", temporaries, "torch.optim: foreach takes memory for lists of results"});
    helps.push_back({"optimizer with fused=True", temporaries, "torch.optim: one kernel, no lists of results"});
  }
  if (const Bytes scores = ScoresOf(recorded, at_peak); scores > 0) {
    helps.push_back({"fused attention (scaled_dot_product_attention), where the softmax is of attention", scores,
                     "torch.nn.functional.scaled_dot_product_attention: saves no scores"});
  }
  if (RunsForwardAgain(recorded)) {
    helps.push_back({"own checkpointing off, so that plans choose what runs again", 0,
                     "torch.utils.checkpoint: keeps the inputs of whole regions"});
  }
  if (const Bytes gradients = Of(at_peak, RecordedUse::kGradients); in_forward && gradients > 0) {
    helps.push_back({"zero_grad(set_to_none=True) before forward", gradients, "torch.optim.Optimizer.zero_grad"});
  }
  if (at_peak.held > 0) {
    helps.push_back({"variables deleted once they are not needed", at_peak.held, "this recording: held_until"});
  }
  if (const Bytes saved = Of(at_peak, RecordedUse::kSaved); 2 * saved > footprint.PeakBytes()) {
    helps.push_back({"a smaller patch or batch", saved, "this recording: what backward reads grows with both"});
  }
  return helps;
}

}  // namespace

std::string StepHelpsText(const RecordedStep& recorded, const Footprint& footprint) {
  const std::vector<Help> helps = HelpsOf(recorded, footprint);
  if (helps.empty()) return "";
  TextTable table({"<what would help at the peak", "of", "<source"});
  for (const Help& help : helps) table.Row({help.change, help.bytes > 0 ? FormatBytes(help.bytes) : "-", help.source});
  return "\n" + table.Text();
}

}  // namespace spillway

#include "sim/strategies/vdnn/offload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "hw/text/lists.h"
#include "model/step/launch.h"

namespace spillway::vdnn {
namespace {

struct VdnnLayer {
  OpId first_forward = kNoOp, first_backward = kNoOp;  // kNoOp: it has none
  bool convolution = false, classifier = false;
  std::vector<TensorId> inputs{};  // maps that it reads and does not overwrite
};

// A linear layer of whole samples; one of each position is as much a feature extractor as a convolution is.
bool IsClassifier(const Op& op) { return op.kind == OpKind::kLinear && op.shape.out.Spatial() == 1; }

void AddForward(const TrainingStep& step, OpId op, VdnnLayer& layer) {
  const Op& o = step.ops[Index(op)];
  if (step.OnParameters(o)) return;
  const bool first = layer.first_forward == kNoOp;
  if (first) layer.first_forward = op;
  layer.convolution = layer.convolution || AsConvolution(LaunchOf(o)).kind == OpKind::kConvolution;
  layer.classifier = layer.classifier || IsClassifier(o) || TraitsOf(o.kind).loss;
  for (const TensorId t : o.reads) {
    if (first && Contains(step.maps, t) && !Contains(o.writes, t)) layer.inputs.push_back(t);
  }
}

// In the order of forward, by layer of the network.
std::vector<VdnnLayer> LayersOf(const TrainingStep& step) {
  std::vector<VdnnLayer> layers(step.layer_names.size());
  for (OpId op = 0; op < static_cast<OpId>(step.ops.size()); ++op) {
    VdnnLayer& layer = layers[Index(step.ops[Index(op)].layer)];
    if (op < step.first_backward) {
      AddForward(step, op, layer);
    } else if (op < step.first_update && layer.first_backward == kNoOp) {
      layer.first_backward = op;
    }
  }
  std::erase_if(layers, [](const VdnnLayer& layer) { return layer.first_forward == kNoOp; });
  std::stable_sort(layers.begin(), layers.end(),
                   [](const VdnnLayer& a, const VdnnLayer& b) { return a.first_forward < b.first_forward; });
  return layers;
}

// Layers before the classifier; where only the loss ends the network, without the layer before it.
std::size_t ManagedLayers(const TrainingStep& step, const std::vector<VdnnLayer>& layers) {
  const auto first =
      std::find_if(layers.begin(), layers.end(), [](const VdnnLayer& layer) { return layer.classifier; });
  const auto count = static_cast<std::size_t>(first - layers.begin());
  const bool loss = first != layers.end() && !IsClassifier(step.ops[Index(first->first_forward)]);
  return loss && count > 0 ? count - 1 : count;
}

const std::string& LayerName(const TrainingStep& step, OpId op) {
  return step.layer_names[Index(step.ops[Index(op)].layer)];
}

class Planner {
 public:
  Planner(const TrainingStep& step, Offload offload)
      : step_(step), uses_(step), layers_(LayersOf(step)), decision_(step.tensors.size()) {
    const std::size_t managed = ManagedLayers(step, layers_);
    const OpId end = managed < layers_.size() ? layers_[managed].first_forward : step.first_backward;
    for (std::size_t n = 0; n < managed; ++n) {
      if (offload == Offload::kConvolutions && !layers_[n].convolution) continue;
      for (const TensorId t : layers_[n].inputs) Leave(t, end);
    }
  }

  std::vector<GapDecision> Decisions() {
    for (std::size_t n = layers_.size(); n-- > 0;) {
      const OpId begins = layers_[n].first_backward;
      if (begins == kNoOp) continue;
      Fetch(layers_[n], begins);
      Prefetch(n, begins);
    }
    return std::move(found_);
  }

 private:
  // It stays if a layer that is not managed, at `end` or behind, reads it too.
  void Leave(TensorId map, OpId end) {
    const MapGap gap = ForwardBackwardGap(step_, uses_, map);
    if (gap.before == kNoOp || gap.after == kNoOp || gap.after >= end) return;
    const LayerId reader = step_.ops[Index(gap.after)].layer;
    OpId begins = gap.after;
    while (begins > 0 && step_.ops[Index(begins - 1)].layer == reader) --begins;
    const std::vector<OpId>& writers = uses_.writers[Index(map)];
    const OpId complete = writers.empty() ? kNoOp : writers.back();
    decision_[Index(map)] = {
        .tensor = map,
        .after = gap.after,
        .before = gap.before,
        .action = GapAction::kSwap,
        .out_after = step_.tensors[Index(map)].Traits().on_host ? gap.after : std::max(complete, begins - 1),
        .reason = ""};
  }

  // Whether anything of the layer was still on the host.
  bool Fetch(const VdnnLayer& layer, OpId at) {
    bool any = false;
    for (const TensorId t : layer.inputs) {
      GapDecision& decision = decision_[Index(t)];
      if (decision.tensor == kNoTensor) continue;
      decision.in_at = std::min(at, decision.before);
      decision.reason = fmt::format("input of {}, fetched with the backward pass of {}",
                                    LayerName(step_, decision.after), LayerName(step_, at));
      found_.push_back(decision);
      decision.tensor = kNoTensor;
      any = true;
    }
    return any;
  }

  void Prefetch(std::size_t n, OpId at) {
    while (n-- > 0) {
      if (Fetch(layers_[n], at) || layers_[n].convolution) return;
    }
  }

  const TrainingStep& step_;
  Uses uses_;
  std::vector<VdnnLayer> layers_;
  std::vector<GapDecision> decision_;  // by tensor; kNoTensor: it stays, or was fetched
  std::vector<GapDecision> found_;
};

}  // namespace

std::vector<GapDecision> OffloadDecisions(const TrainingStep& step, Offload offload) {
  if (offload == Offload::kNone || step.inference) return {};
  return Planner(step, offload).Decisions();
}

}  // namespace spillway::vdnn

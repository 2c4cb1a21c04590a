// From a RecordedGraph to a TrainingStep: which tensor each id is, and what may run again.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "hw/text/lists.h"
#include "model/recorded/recorded_graph.h"

namespace spillway {

namespace {

constexpr int kMostHints = 20;  // looking for the nearest of fifty thousand names takes time

// What an id stands for. In-place results end the ids of earlier versions.
struct NamedTensor {
  Mark mark;
  std::int32_t node = -1;  // that makes it; -1: it is there before the step
  TensorId tensor = kNoTensor;
  std::int32_t version = 0;
};

class GraphUnroller {
 public:
  GraphUnroller(const RecordedGraph& graph, Diagnostics& diagnostics) : graph_(graph), diagnostics_(diagnostics) {}

  UnrolledGraph Unroll() {
    step_.network = graph_.name;
    step_.batch = graph_.samples;
    AddValues();
    DeclareResults();
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) AddNode(graph_.nodes[n], static_cast<std::int32_t>(n));
    FindPasses();
    Classify();
    KeepUnseen();
    for (const RecordedName& node : graph_.varying) NodeOf(node);
    FindHolds();
    return {std::move(step_), std::move(holds_), std::move(result_uses_), std::move(makers_)};
  }

 private:
  void Say(Mark mark, const std::string& message) { diagnostics_.Error(mark, message); }

  TensorId NewTensor(const std::string& name, Bytes bytes, TensorClass use) {
    step_.tensors.push_back({.name = name, .shape = {}, .use = use, .bytes = std::max<Bytes>(1, bytes)});
    version_.push_back(0);
    last_reader_.push_back(-1);
    result_uses_.push_back(-1);
    makers_.push_back(kNoOp);
    return static_cast<TensorId>(step_.tensors.size()) - 1;
  }

  NamedTensor* Declare(const RecordedName& name, std::int32_t node) {
    const auto [known, is_new] = ids_.try_emplace(name.id, NamedTensor{.mark = name.mark, .node = node});
    if (is_new) return &known->second;
    Say(name.mark, fmt::format("a second '{}'; the first is in line {}", name.id, known->second.mark.line));
    return nullptr;
  }

  void AddValues() {
    if (graph_.fixed_bytes > 0) NewTensor("fixed bytes", graph_.fixed_bytes, TensorClass::kParameter);
    for (const RecordedValue& value : graph_.values) {
      const TensorId t =
          NewTensor(value.name.id, value.bytes, value.on_host ? TensorClass::kInput : ResidentClass(value));
      if (value.on_host) step_.maps.push_back(t);
      if (NamedTensor* named = Declare(value.name, -1)) named->tensor = t;
    }
  }

  static TensorClass ResidentClass(const RecordedValue& value) {
    const auto& names = GraphValueClassNames();
    const bool state = value.use >= 0 && names[static_cast<std::size_t>(value.use)] == "state";
    return state ? TensorClass::kOptimizerState : TensorClass::kParameter;
  }

  // The index of the node; kNoOp, and a mistake, where there is none.
  OpId NodeOf(const RecordedName& name) {
    const auto known = nodes_.find(name.id);
    if (known != nodes_.end()) return known->second.index;
    std::vector<std::string> names;
    for (const RecordedNode& node : graph_.nodes) names.push_back(node.name.id);
    Say(name.mark,
        fmt::format("unknown node '{}'{}", name.id, ++hints_ > kMostHints ? "" : DidYouMean(name.id, names)));
    return kNoOp;
  }

  // Run again, a maker would leave out what another call, which the recording does not have, wrote into its result.
  void KeepUnseen() {
    for (const RecordedName& name : graph_.unseen) {
      const auto known = ids_.find(name.id);
      if (known == ids_.end()) {
        Say(name.mark, fmt::format("unknown id '{}'{}", name.id, Hint(name.id)));
      } else if (known->second.node >= 0) {
        step_.ops[Index(known->second.node)].once = true;
      }
    }
  }

  void FindHolds() {
    const auto last = static_cast<OpId>(step_.ops.size()) - 1;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const RecordedResult& result : graph_.nodes[n].results) {
        if (result.held_until.id.empty()) continue;
        const OpId until = result.held_until.id == "end" ? last : NodeOf(result.held_until);
        if (until != kNoOp && Index(until) < n) {
          Say(result.held_until.mark,
              fmt::format("held_until: '{}' runs before '{}' is made", result.held_until.id, result.name.id));
        }
        const auto known = ids_.find(result.name.id);
        if (known != ids_.end() && known->second.tensor != kNoTensor) holds_.push_back({known->second.tensor, until});
      }
    }
  }

  void DeclareResults() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const RecordedResult& result : graph_.nodes[n].results) Declare(result.name, static_cast<std::int32_t>(n));
    }
  }

  // What `name` stands for when node `n` reads it; nullptr, and a mistake, where it cannot.
  const NamedTensor* Find(const RecordedName& name, std::int32_t n) {
    const auto known = ids_.find(name.id);
    if (known == ids_.end()) {
      Say(name.mark, fmt::format("unknown id '{}'{}", name.id, Hint(name.id)));
      return nullptr;
    }
    const NamedTensor& named = known->second;
    if (named.tensor == kNoTensor) {
      const std::string maker = graph_.nodes[Index(named.node)].name.id;
      Say(name.mark, named.node == n ? fmt::format("'{}' is made by this very node", name.id)
                                     : fmt::format("'{}' is made later, by '{}' in line {}: nodes are listed in the "
                                                   "order in which they run",
                                                   name.id, maker, named.mark.line));
      return nullptr;
    }
    if (named.version == version_[Index(named.tensor)]) return &named;
    Say(name.mark, fmt::format("'{}' has been overwritten by then: name what took its place", name.id));
    return nullptr;
  }

  std::string Hint(const std::string& id) {
    if (++hints_ > kMostHints) return "";
    std::vector<std::string> names;
    for (const RecordedValue& value : graph_.values) names.push_back(value.name.id);
    for (const RecordedNode& node : graph_.nodes) {
      for (const RecordedResult& result : node.results) names.push_back(result.name.id);
    }
    return DidYouMean(id, names);
  }

  LayerId LayerOf(const RecordedNode& node) {
    if (!node.layer.empty()) {
      const auto [known, is_new] = layers_.try_emplace(node.layer, static_cast<LayerId>(step_.layer_names.size()));
      if (!is_new) return known->second;
    }
    step_.layer_names.push_back(node.layer.empty() ? node.name.id : node.layer);
    return static_cast<LayerId>(step_.layer_names.size()) - 1;
  }

  void Read(TensorId tensor, std::int32_t n, Op& op) {
    if (std::exchange(last_reader_[Index(tensor)], n) != n) op.reads.push_back(tensor);
  }

  void AddNode(const RecordedNode& node, std::int32_t n) {
    const auto [known, is_new] = nodes_.try_emplace(node.name.id, NodePlace{node.name.mark, n});
    if (!is_new) {
      Say(node.name.mark,
          fmt::format("a second node '{}'; the first is in line {}", node.name.id, known->second.mark.line));
    }
    Op op;
    op.name = node.name.id;
    op.kind = OpKind::kRecorded;
    op.pass = node.pass;
    op.layer = LayerOf(node);
    op.shape.recorded = n + 1;
    op.once = !node.recompute;
    op.recompute_differs = node.recompute_differs;
    for (const auto* names : {&node.deps, &node.also}) {
      for (const RecordedName& name : *names) {
        if (const NamedTensor* named = Find(name, n)) Read(named->tensor, n, op);
      }
    }
    for (const RecordedResult& result : node.results) AddResult(result, n, op);
    step_.ops.push_back(std::move(op));
  }

  void AddResult(const RecordedResult& result, std::int32_t n, Op& op) {
    TensorId tensor = kNoTensor;
    if (result.kind == ResultKind::kOwn) {
      tensor = NewTensor(result.name.id, result.bytes, TensorClass::kTransient);
      op.writes.push_back(tensor);
      result_uses_[Index(tensor)] = result.use;
      makers_[Index(tensor)] = n;
    } else if (const NamedTensor* named = Find(result.of, n)) {
      tensor = named->tensor;
      if (named->node != n) Read(tensor, n, op);
      if (result.kind == ResultKind::kInPlace && named->node == n) {
        Say(result.of.mark,
            fmt::format("'{}' is made by this very node: expected one that is there before", result.of.id));
      }
      if (result.kind == ResultKind::kInPlace) Overwrite(result, tensor, op);
    }
    const auto known = ids_.find(result.name.id);
    if (tensor == kNoTensor || known->second.node != n) return;
    known->second.tensor = tensor;
    known->second.version = version_[Index(tensor)];
  }

  void Overwrite(const RecordedResult& result, TensorId tensor, Op& op) {
    if (step_.tensors[Index(tensor)].Traits().on_host) {
      Say(result.of.mark, fmt::format("'{}' lies on the host, which a step does not change", result.of.id));
    }
    ++version_[Index(tensor)];
    if (!Contains(op.writes, tensor)) op.writes.push_back(tensor);
  }

  void FindPasses() {
    const auto count = static_cast<OpId>(step_.ops.size());
    step_.first_backward = step_.first_update = count;
    Pass latest = Pass::kForward;
    for (OpId op = 0; op < count; ++op) {
      const Pass pass = step_.ops[Index(op)].pass;
      if (pass < latest) {
        Say(graph_.nodes[Index(op)].name.mark,
            fmt::format("a {} node behind a {} one: expected forward, then backward, then update", PassName(pass),
                        PassName(latest)));
      }
      latest = std::max(latest, pass);
      if (pass != Pass::kForward) step_.first_backward = std::min(step_.first_backward, op);
      if (pass == Pass::kUpdate) step_.first_update = std::min(step_.first_update, op);
    }
    step_.inference = step_.first_backward == count;
  }

  // What forward makes and backward reads is a map, all else that forward makes is gone by then; backward makes gradients.
  void Classify() {
    std::vector<TensorId> made;
    for (const Op& op : step_.ops) {
      for (const TensorId t : op.writes) {
        Tensor& tensor = step_.tensors[Index(t)];
        if (tensor.Traits().resident || Contains(op.reads, t)) continue;
        if (op.pass == Pass::kForward) made.push_back(t);
        if (op.pass != Pass::kForward) tensor.use = TensorClass::kGradient;
      }
      if (op.pass == Pass::kForward) continue;
      for (const TensorId t : op.reads) {
        Tensor& tensor = step_.tensors[Index(t)];
        if (tensor.use == TensorClass::kTransient) tensor.use = TensorClass::kFeatureMap;
      }
    }
    for (const TensorId t : made) {
      if (step_.tensors[Index(t)].use == TensorClass::kFeatureMap) step_.maps.push_back(t);
    }
  }

  const RecordedGraph& graph_;
  Diagnostics& diagnostics_;
  TrainingStep step_;
  std::unordered_map<std::string_view, NamedTensor> ids_;
  struct NodePlace {
    Mark mark;
    OpId index = kNoOp;
  };
  std::unordered_map<std::string_view, NodePlace> nodes_;
  std::unordered_map<std::string_view, LayerId> layers_;
  std::vector<std::int32_t> version_;      // by tensor: in-place results so far
  std::vector<std::int32_t> last_reader_;  // by tensor: the node that read it last
  std::vector<RecordedHold> holds_;
  std::vector<int> result_uses_;  // by tensor, as in UnrolledGraph
  std::vector<OpId> makers_;
  int hints_ = 0;
};

}  // namespace

UnrolledGraph StepOfGraph(const RecordedGraph& graph, Diagnostics& diagnostics) {
  return GraphUnroller(graph, diagnostics).Unroll();
}

}  // namespace spillway

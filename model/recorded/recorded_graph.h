// A recorded training step in the file's own terms: the stage between the document (YAML or JSON) and the TrainingStep.
//
// Reading goes in two stages. ReadRecordedGraph checks each key by itself; names are still text. StepOfGraph resolves
// names and checks how nodes fit together. The format: recorded_step.h and model/recorded/README.md. Private to
// model/recorded/.
#ifndef SPILLWAY_MODEL_RECORDED_RECORDED_GRAPH_H_
#define SPILLWAY_MODEL_RECORDED_RECORDED_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "hw/text/keys.h"
#include "model/recorded/call_launches.h"
#include "model/recorded/recorded_step.h"

namespace spillway {

struct RecordedName {
  std::string id;
  Mark mark;  // where the id stands in the file, for messages
};

// A tensor that exists before the step.
struct RecordedValue {
  RecordedName name;
  Bytes bytes = 0;
  bool on_host = false;  // true: an input of the step, on the host; false: on the device throughout, as a parameter
  int use = -1;          // index into GraphValueClassNames; -1: not said
};

// kOwn: a new tensor. kAlias: another name of the tensor RecordedResult::of. kInPlace: a new version of the tensor
// `of`, which overwrites the version before.
enum class ResultKind : std::uint8_t { kOwn, kAlias, kInPlace };

struct RecordedResult {
  RecordedName name;
  ResultKind kind = ResultKind::kOwn;
  Bytes bytes = 0;            // kOwn only
  RecordedName of{};          // kAlias and kInPlace only
  RecordedName held_until{};  // "": not held; "end", or a node
  int use = -1;               // index into GraphResultClassNames; -1: not said
};

// One op, in the order in which ops ran.
struct RecordedNode {
  RecordedName name;
  std::string layer;  // "": the op is a layer by itself
  Pass pass = Pass::kForward;
  bool recompute = true;             // false: the op must not run again (Op::once)
  bool recompute_differs = false;    // some way has a time of its own for that
  std::vector<RecordedWay> ways;     // how the op may run: time and workspace of each
  std::vector<RecordedName> deps;    // the tensors that the op reads
  std::vector<RecordedName> also{};  // further ones that are on the device while it runs
  std::vector<RecordedResult> results;
  RecordedCall call{};
};

struct RecordedGraph {
  std::string name;
  std::int64_t samples = 1;            // in the batch that was recorded
  Source source;                       // where the times come from
  double error = 0, shared_error = 0;  // relative errors of all times, and the part that they share (as in Cost)
  Bytes fixed_bytes = 0;               // bytes on the device throughout, besides `values`
  std::vector<RecordedValue> values;
  std::vector<RecordedNode> nodes;
  RecordedAbout about{};
  std::vector<RecordedName> unseen{};   // values and results
  std::vector<RecordedName> varying{};  // nodes
};

// A tensor that an op's results made, and up to when it is held. `op`: index of the node, ops.size() - 1 for "end".
struct RecordedHold {
  TensorId tensor = kNoTensor;
  OpId until = kNoOp;
};

// What StepOfGraph makes of a graph.
struct UnrolledGraph {
  TrainingStep step;
  std::vector<RecordedHold> holds{};
  std::vector<int> result_uses{};  // by tensor: RecordedResult::use of its maker, -1 where not said
  std::vector<OpId> makers{};      // by tensor; kNoOp: there before the step
};

// Of products, convolutions and fused attention, by name ("aten.convolution.default") and shapes; 0 of any other op.
double FlopsOf(const std::string& op, const std::vector<RecordedOperand>& inputs,
               const std::vector<RecordedOperand>& outputs);

// Bytes of an element by the framework's name of its type, "bfloat16"; 0: not known.
Bytes ElementBytes(const std::string& type);

// Reads the keys that say how, where and on what the step was recorded, of the root of the file.
RecordedAbout ReadRecordedAbout(MapReader& reader, Diagnostics& diagnostics);

// Keeps in `step` what is held (recorded_step.h), and adds workspace to the nodes in between.
void ApplyHolds(const std::vector<RecordedHold>& holds, TrainingStep& step, std::vector<RecordedNode>& nodes);

// TrainingStep::blocks: what repeats is a module by a number that has parts of its own, as layers.3 of layers.3.attention,
// the outermost such; there are two of them or more.
std::vector<std::int32_t> BlocksOfModules(const std::vector<RecordedCall>& calls);

// Reads every key and reports mistakes of single keys to `diagnostics`. Does not resolve references between nodes.
RecordedGraph ReadRecordedGraph(const Node& root, Diagnostics& diagnostics);

// Makes tensors and ops from the names. Reports to `diagnostics`: ids that come twice; deps that are unknown, made
// later or already overwritten; passes out of order. The step returned is meaningful only without such errors.
UnrolledGraph StepOfGraph(const RecordedGraph& graph, Diagnostics& diagnostics);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_RECORDED_RECORDED_GRAPH_H_

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
};

// kOwn: a new tensor. kAlias: another name of the tensor RecordedResult::of. kInPlace: a new version of the tensor
// `of`, which overwrites the version before.
enum class ResultKind : std::uint8_t { kOwn, kAlias, kInPlace };

struct RecordedResult {
  RecordedName name;
  ResultKind kind = ResultKind::kOwn;
  Bytes bytes = 0;    // kOwn only
  RecordedName of{};  // kAlias and kInPlace only
};

// One op, in the order in which ops ran.
struct RecordedNode {
  RecordedName name;
  std::string layer;  // "": the op is a layer by itself
  Pass pass = Pass::kForward;
  bool recompute = true;           // false: the op must not run again (Op::once)
  std::vector<RecordedWay> ways;   // how the op may run: time and workspace of each
  std::vector<RecordedName> deps;  // the tensors that the op reads
  std::vector<RecordedResult> results;
};

struct RecordedGraph {
  std::string name;
  std::int64_t samples = 1;            // in the batch that was recorded
  Source source;                       // where the times come from
  double error = 0, shared_error = 0;  // relative errors of all times, and the part that they share (as in Cost)
  Bytes fixed_bytes = 0;               // bytes on the device throughout, besides `values`
  std::vector<RecordedValue> values;
  std::vector<RecordedNode> nodes;
};

// Reads every key and reports mistakes of single keys to `diagnostics`. Does not resolve references between nodes.
RecordedGraph ReadRecordedGraph(const Node& root, Diagnostics& diagnostics);

// Makes tensors and ops from the names. Reports to `diagnostics`: ids that come twice; deps that are unknown, made
// later or already overwritten; passes out of order. The step returned is meaningful only without such errors.
TrainingStep StepOfGraph(const RecordedGraph& graph, Diagnostics& diagnostics);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_RECORDED_RECORDED_GRAPH_H_

// A recording as it stands in the file, read and checked by itself: between the document and the TrainingStep. Private to
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
  Mark mark;
};

struct RecordedValue {
  RecordedName name;
  Bytes bytes = 0;
  bool on_host = false;  // else on the device throughout
};

enum class ResultKind : std::uint8_t { kOwn, kAlias, kInPlace };

struct RecordedResult {
  RecordedName name;
  ResultKind kind = ResultKind::kOwn;
  Bytes bytes = 0;    // kOwn
  RecordedName of{};  // kAlias, kInPlace: what it is another name or a new version of
};

struct RecordedNode {
  RecordedName name;
  std::string layer;  // "": one of its own
  Pass pass = Pass::kForward;
  bool recompute = true;
  std::vector<RecordedWay> ways;
  std::vector<RecordedName> deps;
  std::vector<RecordedResult> results;
};

struct RecordedGraph {
  std::string name;
  std::int64_t samples = 1;
  Source source;
  double error = 0, shared_error = 0;
  Bytes fixed_bytes = 0;
  std::vector<RecordedValue> values;
  std::vector<RecordedNode> nodes;
};

// Reads every key. What refers to something else in the file is not looked at.
RecordedGraph ReadRecordedGraph(const Node& root, Diagnostics& diagnostics);

// Unrolls it: names become tensors and ops. Reports names that come twice, what is unknown, later or overwritten, passes
// out of order.
TrainingStep StepOfGraph(const RecordedGraph& graph, Diagnostics& diagnostics);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_RECORDED_RECORDED_GRAPH_H_

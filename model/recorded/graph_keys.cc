#include "model/profile/profile_text.h"
#include "model/recorded/recorded_step.h"
#include "model/step/launch.h"

namespace spillway {

namespace {

constexpr const char* kRequiredOrWays = "required, unless `ways` is given";
constexpr const char* kSizeOrOther = "required, unless `alias` or `in_place` is given";
const std::string& BytesValue() {
  static const std::string kText = WholeNumberFrom(0, kMostRecordedBytes);
  return kText;
}
std::string TimeValue() { return NumberFrom(0, static_cast<double>(kMostRecordedTime)); }
std::string WorkspaceValue() { return WholeNumberFrom(0, kMostWorkspace); }

}  // namespace

const std::vector<std::string>& GraphPassNames() {
  static const std::vector<std::string> kNames = {"forward", "backward", "update"};
  return kNames;
}

const std::vector<std::string>& GraphPlaceNames() {
  static const std::vector<std::string> kNames = {"device", "host"};
  return kNames;
}

const std::vector<std::string>& GraphValueClassNames() {
  static const std::vector<std::string> kNames = {"weight", "gradient", "state", "buffer", "batch"};
  return kNames;
}

const std::vector<std::string>& GraphResultClassNames() {
  static const std::vector<std::string> kNames = {"saved", "temporary", "gradient", "state"};
  return kNames;
}

const KeyTable& GraphValueKeys() {
  static const KeyTable kTable{
      .title = "value of a recorded step",
      .keys = {{"id", kAnyText, "required", "the id that deps use"},
               {"bytes", BytesValue(), "required", "its size"},
               {"where", OneOf(GraphPlaceNames()), "device",
                "device: on the device for the whole step, such as parameters; host: the "
                "batch, copied to the device in each step"},
               {"class", OneOf(GraphValueClassNames()), "weight; batch on the host", "what the value is for"},
               {"name", kAnyText, "\"\"", "the framework's name of it, for readers"}},
      .note = "What is there before the step."};
  return kTable;
}

const KeyTable& GraphWayKeys() {
  static const KeyTable kTable{.title = "way of a node",
                               .keys = {{"algorithm", kAnyText, "\"\"",
                                         "its name, for readers; plans say way1, way2, ..., in the order of the list"},
                                        {"ns", TimeValue(), "required", "time in nanoseconds"},
                                        {"workspace", WorkspaceValue(), "0", "bytes besides operands and results"},
                                        {"recompute_ns", TimeValue(), "as `ns`", "time of a second run in the step"}},
                               .note = "The library's own choice is the fastest that fits into the workspace granted."};
  return kTable;
}

const KeyTable& GraphResultKeys() {
  static const KeyTable kTable{
      .title = "result of a node",
      .keys =
          {{"id", kAnyText, "required", "the id that deps use; unique among values and results"},
           {"bytes", BytesValue(), kSizeOrOther, "its size"},
           {"alias", kAnyText, "none", "an id: this is another name for the same bytes, as a view is"},
           {"in_place", kAnyText, "none",
            "an id whose place this result takes; no later node reads that id or another name of it"},
           {"held_until", "an id of a node, or end", "its last reader",
            "the node up to which the bytes stay alive because something else holds them, such as a variable of the "
            "program; end: to the end of the step"},
           {"class", OneOf(GraphResultClassNames()), "by its readers", "what the result is for"}},
      .note = "Exactly one of bytes, alias and in_place."};
  return kTable;
}

const KeyTable& GraphNodeKeys() {
  static const KeyTable kTable{
      .title = "node of a recorded step",
      .keys = {{"id", kAnyText, "required", "unique; plans and traces call the op so"},
               {"op", kAnyText, "required", "name of the operation, for readers"},
               {"pass", OneOf(GraphPassNames()), "forward", "first come all forward nodes, then backward, then update"},
               {"layer", kAnyText, "a layer of its own",
                "consecutive nodes of one pass with the same layer form one layer: values for all of them are brought "
                "back before the first"},
               {"ns", TimeValue(), kRequiredOrWays, "time in nanoseconds"},
               {"workspace", WorkspaceValue(), "0", "bytes besides operands and results; with `ns`"},
               {"recompute_ns", TimeValue(), "as `ns`",
                "time of each further run in the step, such as batch norm's with known statistics; with `ns`"},
               {"ways", "a list of maps", "none", "at most 32, in place of `ns`", {&GraphWayKeys()}},
               {"deps", "a list of ids", "none", "values, and results of nodes listed earlier, that it reads"},
               {"also", "a list of ids", "none",
                "further values and results that are on the device while it runs, though it does not read them"},
               {"results", "a list of maps", "none", "what it makes", {&GraphResultKeys()}},
               {"recompute", kTrueOrFalse, "true", "false: the node must not run twice in a step"},
               {"module", kAnyText, "\"\"", "the module that made the call (encoder.stages.2.conv1), for readers"},
               {"inputs", "a list of maps", "none", "shapes of the tensors that it was given", {&GraphOperandKeys()}},
               {"outputs", "a list of maps", "none", "shapes of the tensors that it returned", {&GraphOperandKeys()}},
               {"scalars", "a list", "none", "its other arguments"},
               {"random", kTrueOrFalse, "false",
                "true: it draws random numbers, so that it must not run twice unless `replay` is true"},
               {"replay", kTrueOrFalse, "false", "true: run again, it can draw the same numbers; with `random`"}},
      .note = "Ids have up to 200 characters: letters, digits and _ . : / + @ # - [ ]."};
  return kTable;
}

const KeyTable& GraphKeys() {
  static const KeyTable kTable{
      .title = "recorded step",
      .keys =
          {{"graph", kAnyText, "required", "the step's name in results: the characters of ids, and spaces"},
           {"samples", WholeNumberFrom(1, 1'000'000'000), "1", "number of samples in the step, for samples per second"},
           {"source", "a map", "required", "the origin of the times", {&SourceKeys()}},
           {"error", NumberFrom(0, 10), "required", "relative error of the times, one standard deviation"},
           {"shared_error", NumberFrom(0, 10), "0", "the part of `error` that all times of the file share"},
           {"format", OneOf({kGraphFormat}), "none, as in version 1", "the kind of file"},
           {"version", WholeNumberFrom(1, kGraphVersion), "1", "of the format; given with `format`"},
           {"made", "a map", "not known", "how the recording was made", {&GraphMadeKeys()}},
           {"device", "a map", "not known", "the device that ran the step", {&GraphDeviceKeys()}},
           {"machine", "a map", "not known", "memory and copies of that machine", {&GraphMachineKeys()}},
           {"allocator_peak_bytes", BytesValue(), "not known", "the peak that the framework counted"},
           {"unseen", "a list of ids", "none",
            "values and results that a node reads before any recorded node wrote them: a call that the recorder did "
            "not see wrote them; who makes them must not run twice"},
           {"varies", "a list of maps", "none", "arguments that differ between steps", {&GraphVaryingKeys()}},
           {"fixed_bytes", BytesValue(), "0", "bytes on the device for the whole step, besides the values there"},
           {"more", "a list of maps", "none",
            "other kinds of the step, each with these keys; `plan --for torch` plans all"},
           {"values", "a list of maps", "none", "what is there before the step", {&GraphValueKeys()}},
           {"nodes", "a list of maps", "required", "in the order in which they run", {&GraphNodeKeys()}}},
      .note = "A file that `network: {graph: ...}` of a scenario names; model/recorded/README.md says what it means."};
  return kTable;
}

}  // namespace spillway

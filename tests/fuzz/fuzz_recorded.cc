// Any text is either refused with UserError or becomes a step with costs whose sums do not overflow, and whose tensors and
// ops refer to one another.
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "hw/text/document.h"
#include "model/recorded/recorded_step.h"
#include "tests/fuzz/fuzz.h"

std::vector<std::string> spillway::fuzz::Seeds() {
  std::ifstream file(std::string(SPILLWAY_SOURCE_DIR) + "/model/recorded/example.json", std::ios::binary);
  const std::string example{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return {
      example,
      R"({graph: g, samples: 2, source: {measured: m}, error: 0.1, shared_error: 0.1, fixed_bytes: 9,
values: [{id: x, bytes: 8, where: host}, {id: w, bytes: 16}], nodes: [
{id: a, op: o, layer: l, deps: [x, w], ways: [{ns: 1}, {algorithm: f, ns: 0.5, workspace: 7}], results: [{id: y, bytes: 4}, {id: v, alias: x}]},
{id: b, op: o, ns: 3, workspace: 2, recompute: false, deps: [y, v], results: [{id: y2, in_place: y}, {id: z, bytes: 0}]},
{id: c, op: o, pass: backward, ns: 2, deps: [y2, z], results: [{id: g, bytes: 16}]},
{id: u, op: o, pass: update, ns: 1, deps: [g], results: [{id: w2, in_place: w}]}]}
)",
      R"({format: spillway-step, version: 2, graph: g, source: {measured: m}, error: 0.1, unseen: [y], varies: [{node: b, argument: 1, values: [1]}],
device: {type: cuda, name: d}, machine: {memory_bytes: 9, copy_in_bytes_per_s: 1, copy_out_bytes_per_s: 1}, made: {how: calls, times: calls},
values: [{id: x, bytes: 8, class: batch}, {id: w, bytes: 16, class: state, name: n}], nodes: [
{id: a, op: aten.mm.default, module: m, ns: 1, deps: [x, w], inputs: [{shape: [2, 2], stride: [2, 1], type: t}, {shape: [2, 2]}], outputs: [{shape: [2, 2]}], results: [{id: y, bytes: 4, held_until: b, class: saved}]},
{id: b, op: o, ns: 3, random: true, replay: true, scalars: [1], also: [y], results: [{id: z, bytes: 4, held_until: end}]},
{id: c, op: aten.convolution_backward.default, pass: backward, ns: 2, deps: [y], inputs: [{shape: [2, 4, 5, 5]}, {shape: [2, 2, 5, 5]}, {shape: [4, 2, 3, 3]}], scalars: [0, 1, 1, 1, 1, 1, 1, false, 0, 0, 1, true, true, false]}]}
)"};
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto recorded =
        spillway::ReadRecordedStep(spillway::ParseDocument(spillway::fuzz::Text(data, size), "fuzz.json"));
    const spillway::TrainingStep& step = recorded->step;
    if (recorded->ways.size() != step.ops.size() || step.ops.empty()) std::abort();
    spillway::Bytes bytes = 0;
    for (const spillway::Tensor& tensor : step.tensors) bytes += tensor.bytes;
    if (bytes < 0 || bytes > spillway::kMostRecordedBytes || step.MapBytes() > bytes) std::abort();
    for (const spillway::Op& op : step.ops) {
      for (const auto* tensors : {&op.reads, &op.writes}) {
        for (const spillway::TensorId t : *tensors) {
          if (t < 0 || spillway::Index(t) >= step.tensors.size()) std::abort();
        }
      }
    }
    if (step.again_until.size() != step.tensors.size()) std::abort();
    static const spillway::Machine machine = spillway::LoadMachine("unit");
    const spillway::RecordedCosts costs(machine, {}, recorded);
    spillway::Nanos time = 0;
    for (const spillway::Op& op : step.ops) time += costs.Kernel(spillway::LaunchOf(op)).time;
    if (time < 0) std::abort();
  } catch (const spillway::UserError&) {
  }
  return 0;
}

#include <array>

#include "reports/dump/dump_json.h"
#include "sim/program/step_tables.h"

namespace spillway {

namespace {

DumpObject ShapeObject(const Shape& s) { return DumpObject::array({s.n, s.c, s.d, s.h, s.w}); }

DumpObject AxesObject(const std::array<std::int64_t, 3>& axes) {
  return DumpObject::array({axes[0], axes[1], axes[2]});
}

DumpObject TensorObject(const StepTables& tables, const CostModel& costs, std::size_t id) {
  const Tensor& t = tables.step->tensors[id];
  return {{"id", id},
          {"name", t.name},
          {"use", TensorClassName(t.use)},
          {"persistent", static_cast<bool>(tables.persistent[id])},
          {"shape", ShapeObject(t.shape)},
          {"type", DataTypeName(t.type)},
          {"layout", LayoutName(t.layout)},
          {"bytes", t.bytes},
          {"buffer_bytes", tables.bytes[id]},
          {"copy_in_ns", costs.Copy(t.bytes, Direction::kHostToDevice).time},
          {"copy_out_ns", costs.Copy(t.bytes, Direction::kDeviceToHost).time}};
}

DumpObject OpShapeObject(const OpShape& shape) {
  DumpObject object = {{"in", ShapeObject(shape.in)},         {"out", ShapeObject(shape.out)},
                       {"window", AxesObject(shape.window)},  {"stride", AxesObject(shape.stride)},
                       {"pad", AxesObject(shape.PadBegin())}, {"groups", shape.groups},
                       {"operands", shape.operands}};
  if (shape.Dilated()) object["dilation"] = AxesObject(shape.dilation);
  if (shape.PadEnd() != shape.PadBegin()) object["pad_end"] = AxesObject(shape.PadEnd());
  return object;
}

DumpObject OpObject(const TrainingStep& step, const CostModel& costs, std::size_t id) {
  const Op& op = step.ops[id];
  const Launch launch = LaunchOf(op), again = RecomputationOf(op);
  DumpObject object = {{"id", id},
                       {"name", op.name},
                       {"kind", OpKindName(op.kind)},
                       {"pass", PassName(op.pass)},
                       {"layer", op.layer < 0 ? DumpObject(nullptr) : DumpObject(step.layer_names[Index(op.layer)])},
                       {"reads", op.reads},
                       {"writes", op.writes},
                       {"accumulate", op.accumulate},
                       {"side_effect", op.side_effect},
                       {"shape", OpShapeObject(op.shape)},
                       {"type", DataTypeName(op.type)},
                       {"layout", LayoutName(op.layout)},
                       {"math", MathModeName(op.math)},
                       {"flops", op.work.flops},
                       {"bytes", op.work.bytes},
                       {"cost", CostObject(launch, costs.Kernel(launch))}};
  if (op.recompute_differs) object["recompute_cost"] = CostObject(again, costs.Kernel(again));
  return object;
}

}  // namespace

std::string StepJson(const TrainingStep& step, const CostModel& costs, const DumpedPoint& point) {
  const StepTables tables(step, costs);
  DumpObject document = DumpHead("step", point.network, step.batch, point.machine);
  document["capacity_bytes"] = point.capacity;
  document["duplex_factor"] = costs.machine().links[tables.link].duplex_factor;  // by Direction
  document["inference"] = step.inference;
  document["accumulate"] = step.parts;
  document["first_backward"] = step.first_backward;
  document["first_update"] = step.first_update;
  document["maps"] = step.maps;
  DumpObject& tensors = document["tensors"] = DumpObject::array();
  for (std::size_t t = 0; t < step.tensors.size(); ++t) tensors.push_back(TensorObject(tables, costs, t));
  DumpObject& ops = document["ops"] = DumpObject::array();
  for (std::size_t i = 0; i < step.ops.size(); ++i) ops.push_back(OpObject(step, costs, i));
  return DumpText(document);
}

}  // namespace spillway

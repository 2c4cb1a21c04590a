#include "model/step/accumulate.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "hw/text/lists.h"
#include "model/step/launch.h"

namespace spillway {

namespace {

class Repeater {
 public:
  Repeater(const TrainingStep& part, std::int64_t parts) : part_(part), parts_(parts) {}

  AccumulatedStep Run() {
    out_.step = part_;
    out_.step.batch = part_.batch * parts_;
    out_.step.parts = parts_;
    out_.step.ops.clear();
    out_.step.maps.clear();
    for (index_ = 0; index_ < parts_; ++index_) RepeatPart();
    out_.step.first_update = static_cast<OpId>(out_.step.ops.size() - part_.ops.size()) + part_.first_update;
    return std::move(out_);
  }

 private:
  bool First() const { return index_ == 0; }
  bool Last() const { return index_ + 1 == parts_; }
  std::string Named(const std::string& name) const {
    return First() ? name : name + ":part" + std::to_string(index_ + 1);
  }
  const Tensor& PartTensor(TensorId t) const { return part_.tensors[static_cast<std::size_t>(t)]; }

  void RepeatPart() {
    out_.tensors.emplace_back();
    out_.ops.emplace_back();
    for (TensorId t = 0; t < static_cast<TensorId>(part_.tensors.size()); ++t) {
      out_.tensors.back().push_back(First() || PartTensor(t).Traits().of_parameters ? t : Copied(t));
    }
    for (const Op& op : part_.ops) {
      const bool runs = op.pass != Pass::kUpdate || Last();
      out_.ops.back().push_back(runs ? static_cast<OpId>(out_.step.ops.size()) : kNoOp);
      if (runs) RepeatOp(op);
    }
    for (const TensorId map : part_.maps) out_.step.maps.push_back(Here(map));
  }

  TensorId Here(TensorId t) const { return out_.tensors.back()[static_cast<std::size_t>(t)]; }

  TensorId Copied(TensorId t) {
    Tensor tensor = PartTensor(t);
    tensor.name = Named(tensor.name);
    if (tensor.Traits().on_host) tensor.first_sample = FirstSample();
    out_.step.tensors.push_back(std::move(tensor));
    return static_cast<TensorId>(out_.step.tensors.size() - 1);
  }

  std::int64_t FirstSample() const { return part_.batch * index_; }

  // What an op makes of the parameters' gradients goes into those of the parts before: by itself, where that is all it
  // makes, else by additions behind it.
  void RepeatOp(const Op& of_part) {
    Op op = of_part;
    op.name = op.pass == Pass::kUpdate ? op.name : Named(op.name);
    op.first_sample = FirstSample();
    if (TraitsOf(op.kind).labels && parts_ > 1) op.details.mean_over = out_.step.batch;
    for (TensorId& t : op.reads) t = Here(t);
    for (TensorId& t : op.writes) t = Here(t);
    std::vector<Op> additions;
    if (!First() && op.pass != Pass::kUpdate) AddUp(of_part, op, additions);
    Emit(std::move(op));
    for (Op& addition : additions) Emit(std::move(addition));
  }

  void AddUp(const Op& of_part, Op& op, std::vector<Op>& additions) {
    for (std::size_t k = 0; k < of_part.writes.size(); ++k) {
      const TensorId sum = op.writes[k];
      if (out_.step.tensors[static_cast<std::size_t>(sum)].use != TensorClass::kParameterGradient) continue;
      if (op.writes.size() == 1) {
        op.accumulate = true;
        AddOnce(op.reads, sum);
      } else {
        op.writes[k] = Copied(of_part.writes[k]);
        additions.push_back(Addition(of_part, op.writes[k], of_part.writes[k]));
      }
    }
  }

  Op Addition(const Op& of_part, TensorId summand, TensorId sum) const {
    const Shape& shape = PartTensor(sum).shape;
    return {.name = Named(PartTensor(sum).name + ":add"),
            .kind = OpKind::kAdd,
            .pass = Pass::kBackward,
            .layer = of_part.layer,
            .shape = {.in = shape, .out = shape},
            .type = of_part.type,
            .layout = of_part.layout,
            .math = of_part.math,
            .reads = {summand, sum},
            .writes = {sum},
            .accumulate = true,
            .details = {.slices = {{0, WholeOf(shape)}}},
            .work = {}};
  }

  void Emit(Op op) {
    op.work = CountWork(LaunchOf(op));
    out_.step.ops.push_back(std::move(op));
  }

  const TrainingStep& part_;
  const std::int64_t parts_;
  std::int64_t index_ = 0;  // of the part that is being repeated
  AccumulatedStep out_;
};

}  // namespace

AccumulatedStep Accumulated(const TrainingStep& part, std::int64_t parts) {
  assert(parts >= 1 && !part.inference && part.parts == 1);
  return Repeater(part, parts).Run();
}

const char* AccumulatedNumbersName(AccumulatedNumbers numbers) {
  constexpr const char* kNames[] = {"same", "redrawn", "changed"};
  return kNames[static_cast<std::size_t>(numbers)];
}

AccumulatedNumbers NumbersOf(const TrainingStep& step) {
  AccumulatedNumbers numbers = AccumulatedNumbers::kSame;
  if (step.parts == 1) return numbers;
  for (const Op& op : step.ops) {
    if (!op.side_effect) continue;
    const bool redraws = op.kind == OpKind::kDropout;
    numbers = std::max(numbers, redraws ? AccumulatedNumbers::kRedrawn : AccumulatedNumbers::kChanged);
  }
  return numbers;
}

const StepsInParts::InParts& StepsInParts::In(std::int64_t parts) {
  assert(parts >= 1 && batch_ % parts == 0);
  return made_.Ref(parts, [&] {
    TrainingStep part = make_(batch_ / parts);
    AccumulatedStep all = Accumulated(part, parts);
    return InParts{std::move(part), std::move(all)};
  });
}

std::vector<std::int64_t> PartsOf(std::int64_t batch) {
  std::vector<std::int64_t> parts, large;
  for (std::int64_t small = 1; small * small <= batch; ++small) {
    if (batch % small != 0) continue;
    parts.push_back(small);
    if (small * small != batch) large.push_back(batch / small);
  }
  parts.insert(parts.end(), large.rbegin(), large.rend());
  return parts;
}

}  // namespace spillway

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
  Repeater(const TrainingStep& large, std::int64_t larger, const TrainingStep& small, std::int64_t parts)
      : large_(large), larger_(larger), small_(small), parts_(parts) {}

  AccumulatedStep Run() {
    out_.step = large_;
    out_.step.batch = FirstSampleOf(parts_);
    out_.step.parts = parts_;
    out_.step.ops.clear();
    out_.step.maps.clear();
    for (index_ = 0; index_ < parts_; ++index_) RepeatPart();
    out_.step.first_update = static_cast<OpId>(out_.step.ops.size() - large_.ops.size()) + large_.first_update;
    return std::move(out_);
  }

 private:
  bool First() const { return index_ == 0; }
  bool Last() const { return index_ + 1 == parts_; }
  std::string Named(const std::string& name) const {
    return First() ? name : name + ":part" + std::to_string(index_ + 1);
  }
  const TrainingStep& Part() const { return index_ < larger_ ? large_ : small_; }
  const Tensor& PartTensor(TensorId t) const { return Part().tensors[static_cast<std::size_t>(t)]; }

  void RepeatPart() {
    out_.tensors.emplace_back();
    out_.ops.emplace_back();
    for (TensorId t = 0; t < static_cast<TensorId>(Part().tensors.size()); ++t) {
      const TensorTraits& traits = PartTensor(t).Traits();
      const bool shared = traits.of_parameters && !traits.of_part;
      out_.tensors.back().push_back(First() || shared ? t : Copied(t));
    }
    for (const Op& op : Part().ops) {
      const bool runs = op.pass != Pass::kUpdate || Last();
      out_.ops.back().push_back(runs ? static_cast<OpId>(out_.step.ops.size()) : kNoOp);
      if (runs) RepeatOp(op);
    }
    for (const TensorId map : Part().maps) out_.step.maps.push_back(Here(map));
  }

  TensorId Here(TensorId t) const { return out_.tensors.back()[static_cast<std::size_t>(t)]; }

  TensorId Copied(TensorId t) {
    Tensor tensor = PartTensor(t);
    tensor.name = Named(tensor.name);
    if (tensor.Traits().on_host) tensor.first_sample = FirstSample();
    out_.step.tensors.push_back(std::move(tensor));
    return static_cast<TensorId>(out_.step.tensors.size() - 1);
  }

  std::int64_t FirstSampleOf(std::int64_t index) const {
    const std::int64_t of_large = std::min(index, larger_);
    return of_large * large_.batch + (index - of_large) * small_.batch;
  }
  std::int64_t FirstSample() const { return FirstSampleOf(index_); }

  // What an op makes of the parameters' gradients goes into those of the parts before: by itself, where that is all it
  // makes, else by additions behind it.
  void RepeatOp(const Op& of_part) {
    Op op = of_part;
    op.name = op.pass == Pass::kUpdate ? op.name : Named(op.name);
    op.first_sample = FirstSample();
    if (TraitsOf(op.kind).loss && parts_ > 1) op.details.mean_over = out_.step.batch;
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
            .type = PartTensor(sum).type,
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

  const TrainingStep& large_;
  const std::int64_t larger_;
  const TrainingStep& small_;
  const std::int64_t parts_;
  std::int64_t index_ = 0;  // of the part that is being repeated
  AccumulatedStep out_;
};

}  // namespace

AccumulatedStep Accumulated(const TrainingStep& part, std::int64_t parts) {
  return Accumulated(part, parts, part, parts);
}

AccumulatedStep Accumulated(const TrainingStep& large, std::int64_t larger, const TrainingStep& small,
                            std::int64_t parts) {
  assert(parts >= larger && larger >= 1 && !large.inference && large.parts == 1);
  assert(large.ops.size() == small.ops.size() && large.tensors.size() == small.tensors.size());
  return Repeater(large, larger, small, parts).Run();
}

PartSizes SizesOfParts(std::int64_t batch, std::int64_t parts) {
  const std::int64_t more = batch % parts;
  return {batch / parts + (more > 0 ? 1 : 0), more > 0 ? more : parts};
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
    const bool redraws = op.kind == OpKind::kDropout || op.kind == OpKind::kAttention;
    numbers = std::max(numbers, redraws ? AccumulatedNumbers::kRedrawn : AccumulatedNumbers::kChanged);
  }
  return numbers;
}

const StepsInParts::InParts& StepsInParts::In(std::int64_t parts) {
  assert(parts >= 1 && parts <= batch_);
  return made_.Ref(parts, [&] {
    const PartSizes sizes = SizesOfParts(batch_, parts);
    TrainingStep part = make_(sizes.samples), small;
    if (sizes.larger < parts) small = make_(sizes.samples - 1);
    AccumulatedStep all = Accumulated(part, sizes.larger, sizes.larger < parts ? small : part, parts);
    return InParts{std::move(part), std::move(small), std::move(all)};
  });
}

std::vector<std::int64_t> PartsOf(std::int64_t batch, std::int64_t most) {
  const std::int64_t end = std::min(batch, most);
  std::vector<std::int64_t> parts{1};
  const auto next = [&parts] { return parts.back() + (parts.back() + 3) / 4; };
  for (std::int64_t divisor = 2; divisor <= end; ++divisor) {
    if (batch % divisor != 0) continue;
    while (3 * divisor >= 5 * next()) parts.push_back(next());
    parts.push_back(divisor);
  }
  while (next() <= end) parts.push_back(next());
  return parts;
}

}  // namespace spillway

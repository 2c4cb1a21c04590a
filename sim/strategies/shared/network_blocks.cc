#include "sim/strategies/shared/network_blocks.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>

#include "hw/text/lists.h"
#include "sim/strategies/shared/blocks_by_size.h"
#include "sim/strategies/shared/forward_values.h"

namespace spillway {

namespace {

constexpr std::size_t kMostStretches = 16;  // of one block

struct Stretch {  // ops [begin, end)
  OpId begin = 0, end = 0;
  TensorId input = kNoTensor;  // the one result that goes on in front of it; kNoTensor: there is none
  bool joins = false;
};

using Stretches = std::vector<Stretch>;

// What a stretch consists of, if halves of blocks are compared: not how much, nor what only some of the blocks have.
struct Form {
  std::set<OpKind> kinds{};
  std::size_t inputs = 0;  // results from elsewhere
  bool joins = false;
  bool weighted = false;
  bool operator==(const Form&) const = default;
};

bool IsOptional(OpKind kind) { return kind == OpKind::kCast || kind == OpKind::kDropout; }

Form FormOf(const TrainingStep& step, const Stretch& stretch) {
  Form form{.joins = stretch.joins};
  std::set<TensorId> outside, inside;
  for (OpId id = stretch.begin; id < stretch.end; ++id) {
    const Op& op = step.ops[Index(id)];
    if (!IsOptional(op.kind)) form.kinds.insert(op.kind);
    form.weighted = form.weighted || TraitsOf(op.kind).weights;
    for (const TensorId t : op.reads) {
      if (!step.tensors[Index(t)].Traits().of_parameters && !inside.contains(t)) outside.insert(t);
    }
    inside.insert(op.writes.begin(), op.writes.end());
  }
  form.inputs = outside.size();
  return form;
}

class Cutter {
 public:
  explicit Cutter(const TrainingStep& step) : step_(step) {
    for (const ForwardValue& value : ForwardValuesOf(step)) {
      if (!value.IsInput() && !step.tensors[Index(value.tensor)].Traits().of_parameters) values_.push_back(value);
    }
  }

  Stretches Cut() { return Cut({.begin = 0, .end = step_.first_backward}); }

 private:
  // Reads results of two paths: an add, a product, attention.
  bool Joins(OpId id) const {
    const Op& op = step_.ops[Index(id)];
    const auto result = [this](TensorId t) { return !step_.tensors[Index(t)].Traits().of_parameters; };
    return std::count_if(op.reads.begin(), op.reads.end(), result) > 1;
  }

  bool AnyOf(const Stretch& stretch, bool (Cutter::*holds)(OpId) const) const {
    for (OpId op = stretch.begin; op < stretch.end; ++op) {
      if ((this->*holds)(op)) return true;
    }
    return false;
  }

  bool EndsLayer(OpId op) const { return step_.ops[Index(op)].layer != step_.ops[Index(op + 1)].layer; }

  bool Reads(const Stretch& stretch, TensorId tensor) const {
    const auto first = step_.ops.begin() + stretch.begin, end = step_.ops.begin() + stretch.end;
    return std::any_of(first, end, [tensor](const Op& op) { return Contains(op.reads, tensor); });
  }

  Stretch Made(OpId begin, OpId end, TensorId input) const {
    Stretch stretch{.begin = begin, .end = end, .input = input};
    stretch.joins = AnyOf(stretch, &Cutter::Joins);
    return stretch;
  }

  // The stretch at the cuts within it; in turn those in which paths join, with what they read as a memory.
  Stretches Cut(const Stretch& whole) {
    Stretches all;
    for (const Stretch& stretch : AtCuts(whole)) {
      const Stretches inner = BesideMemory(stretch);
      all.insert(all.end(), inner.begin(), inner.end());
    }
    return all;
  }

  Stretches BesideMemory(const Stretch& stretch) {
    if (!stretch.joins || stretch.input == kNoTensor || !memories_.insert(stretch.input).second) return {stretch};
    Stretches inner = Cut(stretch);
    std::vector<Form> readers;
    bool alike = false;
    for (const Stretch& one : inner) {
      if (!one.joins || !Reads(one, stretch.input)) continue;
      readers.push_back(FormOf(step_, one));
      alike = alike || std::find(readers.begin(), readers.end() - 1, readers.back()) != readers.end() - 1;
    }
    memories_.erase(stretch.input);
    return alike ? inner : Stretches{stretch};
  }

  Stretches AtCuts(const Stretch& whole) const {
    const auto length = static_cast<std::size_t>(whole.end - whole.begin);
    std::vector<int> alive(length + 1, 0);  // behind op begin + k
    const auto place = [&](OpId op) {
      return static_cast<std::size_t>(std::clamp(op - whole.begin, 0, whole.end - whole.begin));
    };
    for (const ForwardValue& value : values_) {
      if (memories_.contains(value.tensor) || value.last <= whole.begin || value.first >= whole.end) continue;
      ++alive[place(value.first)];
      --alive[place(value.last)];
    }
    for (std::size_t k = 1; k <= length; ++k) alive[k] += alive[k - 1];
    Stretches cut;
    OpId begin = whole.begin;
    TensorId input = whole.input;
    for (const ForwardValue& value : values_) {
      const bool inside = value.complete >= begin && value.complete + 1 < whole.end && value.last > value.complete;
      if (!inside || !EndsLayer(value.complete) || memories_.contains(value.tensor) ||
          alive[place(value.complete)] != 1)
        continue;
      cut.push_back(Made(begin, value.complete + 1, input));
      begin = value.complete + 1, input = value.tensor;
    }
    cut.push_back(Made(begin, whole.end, input));
    return cut;
  }

  const TrainingStep& step_;
  std::vector<ForwardValue> values_;
  std::set<TensorId> memories_;
};

// Of a block: begins with a join, no half is there twice, and layers with weights are within its halves.
bool MayBeBlock(const std::vector<Form>& forms, std::size_t begin, std::size_t count) {
  for (std::size_t k = begin; k < begin + count; ++k) {
    if (!forms[k].joins && forms[k].weighted) return false;
    for (std::size_t j = begin; j < k; ++j) {
      if (forms[k].joins && forms[j] == forms[k]) return false;
    }
  }
  return forms[begin].joins;
}

// The least number of stretches from `begin` on that come a second time behind themselves; 1: none does.
std::size_t Period(const std::vector<Form>& forms, std::size_t begin) {
  for (std::size_t count = 1; count <= kMostStretches && begin + 2 * count <= forms.size(); ++count) {
    if (!MayBeBlock(forms, begin, count)) continue;
    const auto first = forms.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto second = first + static_cast<std::ptrdiff_t>(count);
    if (std::equal(first, second, second)) return count;
  }
  return 1;
}

// How many times the `count` stretches from `begin` on come in a row.
std::size_t Times(const std::vector<Form>& forms, std::size_t begin, std::size_t count) {
  std::size_t end = begin + count;
  while (end < forms.size() && forms[end] == forms[end - count]) ++end;
  return (end - begin) / count;
}

bool MakesVectors(const TrainingStep& step, const Stretch& stretch) {
  const auto first = step.ops.begin() + stretch.begin, end = step.ops.begin() + stretch.end;
  return std::any_of(first, end, [](const Op& op) { return op.kind == OpKind::kEmbedding; });
}

Blocks BetweenCuts(const TrainingStep& step, const Stretches& stretches) {
  Blocks blocks{.of = std::vector<std::int32_t>(Index(step.first_backward), -1),
                .rule = "a block lies between two maps that every path goes through"};
  std::vector<Form> forms;
  for (const Stretch& stretch : stretches) forms.push_back(FormOf(step, stretch));
  std::int32_t next = 0;
  for (std::size_t at = 0; at < stretches.size();) {
    if (!stretches[at].joins || MakesVectors(step, stretches[at])) {
      ++at;
      continue;
    }
    const std::size_t count = Period(forms, at);
    for (std::size_t times = Times(forms, at, count); times > 0; --times, at += count) {
      const OpId begin = stretches[at].begin, end = stretches[at + count - 1].end;
      std::fill(blocks.of.begin() + begin, blocks.of.begin() + end, next++);
    }
  }
  return blocks;
}

bool MakesLarger(const Op& op) {
  const bool shuffles = op.kind == OpKind::kRearrange && op.details.rearrangement.form == RearrangementForm::kPixelsOut;
  return shuffles || op.kind == OpKind::kTransposedConvolution || op.kind == OpKind::kResize;
}

// As a U-Net does: in front of a join of paths maps grow.
bool SamplesUpAgain(const TrainingStep& step, const Stretch& stretch) {
  bool up = false;
  for (OpId id = stretch.begin; id < stretch.end; ++id) {
    const Op& op = step.ops[Index(id)];
    if (MakesLarger(op)) up = true;
    const bool joins = op.kind == OpKind::kConcat || op.kind == OpKind::kAdd || op.kind == OpKind::kPlaneAdd;
    if (up && joins) return true;
  }
  return false;
}

}  // namespace

std::int32_t Blocks::Count() const {
  return static_cast<std::int32_t>(std::set<std::int32_t>(of.begin(), of.end()).size()) - (Contains(of, -1) ? 1 : 0);
}

Blocks BlocksOfNetwork(const TrainingStep& step) {
  const Stretches stretches = Cutter(step).Cut();
  const auto up = [&step](const Stretch& stretch) { return stretch.joins && SamplesUpAgain(step, stretch); };
  if (std::any_of(stretches.begin(), stretches.end(), up)) return BlocksBySize(step);
  Blocks blocks = BetweenCuts(step, stretches);
  return blocks.Count() > 0 ? blocks : BlocksBySize(step);
}

}  // namespace spillway

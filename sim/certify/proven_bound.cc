// What one instant proves, from the step and the costs alone.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "hw/text/lists.h"
#include "model/cost/op_tiles.h"
#include "sim/certify/certificate.h"
#include "sim/certify/flow.h"
#include "sim/certify/readings.h"

namespace spillway {

namespace certifying {

namespace {

constexpr double kEndless = 1e30;  // capacity of arcs that no least cut takes
constexpr double kNothing = 1e-3;  // nanoseconds: flows below are left out, which lowers the bound

constexpr double kEngines = 1e-6;     // nanoseconds that an engine's rounding may take off a kernel beside copies
constexpr double kMostProven = 1e18;  // nanoseconds
constexpr double kMostRuns = 17;      // of every op, on average

class Proof {
 public:
  Proof(const TrainingStep& step, const CostModel& costs, const BoundCertificate& c, int device)
      : step_(step),
        costs_(costs),
        c_(c),
        device_(device),
        streamed_(c.scope.parts == PartScope::kStreamed),
        in_sections_(c.scope.parts == PartScope::kBatch && c.scope.copy_chunk > 0),
        ways_(costs, c_.scope, device),
        histories_(step.tensors.size()),
        piece_(streamed_ ? LeastTile(step, c_.scope) : c_.scope.copy_chunk) {
    // What is streamed need not be there.
    const std::vector<Bytes> taken =
        streamed_ ? std::vector<Bytes>(step.ops.size(), 0) : TakenBytes(step, c.scope.states_leave);
    for (std::size_t op = 0; op < step.ops.size(); ++op) {
      const Op& o = step.ops[op];
      least_.emplace_back(ways_.Of(o, c.capacity - taken[op]));
      if (o.recompute_differs) {
        least_again_.emplace(static_cast<OpId>(op), ways_.Again(o, c.capacity - taken[op]));
      }
      AddUses(static_cast<OpId>(op));
    }
  }

  // Every op once, behind the upload that the first one waits for, where it does not stream it.
  Nanos Work() const { return static_cast<Nanos>(Head() + Compute(0, static_cast<OpId>(step_.ops.size()))); }

  // What the instant says: nothing where ops on both sides of it may take turns.
  Nanos Bound() {
    if (InTurns(c_.op) || BeginsEarly(c_.op)) return 0;
    for (std::size_t t = 0; t < step_.tensors.size(); ++t) Look(static_cast<TensorId>(t));
    for (const auto& [t, bytes] : needed_) flow_.AddArc(Flow::kSource, NodeOf(t, bytes), kEndless);
    for (std::size_t k = 0; k < open_.size(); ++k) AddRecomputation(open_[k]);
    if (needed_.empty() || made_ == kNoOp) return 0;
    const double cut = flow_.Maximum(kNothing), way = BestWay();
    const double proven = Times() + cut + way;
    const double sure = std::ceil(proven - 1e-9 * std::abs(proven) - Lost(cut, way) - OffKernels(proven));
    return static_cast<Nanos>(std::clamp(sure, 0.0, kMostProven));  // any price proves much where no plan fits
  }

 private:
  const Tensor& TensorOf(TensorId t) const { return step_.tensors[Index(t)]; }
  double Compute(OpId from, OpId to) const {
    double sum = 0;
    for (OpId op = from; op < to; ++op) sum += static_cast<double>(least_[Index(op)].alone);
    return sum;
  }
  double BesideCopies(OpId from, OpId to, double weight) const {
    double sum = 0;
    for (OpId op = from; op < to; ++op) sum += least_[Index(op)].At(weight);
    return sum;
  }

  void AddUses(OpId op) {
    const Op& o = step_.ops[Index(op)];
    const auto use = [&](TensorId t, bool reads) {
      History& history = histories_[Index(t)];
      if (!history.uses.empty() && history.uses.back() == op) {
        history.writes.back() = history.writes.back() || !reads;
      } else {
        history.uses.push_back(op);
        history.reads.push_back(reads);
        history.writes.push_back(!reads);
      }
      if (!reads && step_.IsForward(op)) history.forward_writers.push_back(op);
    };
    for (const TensorId t : o.reads) use(t, true);
    for (const TensorId t : o.writes) use(t, false);
  }

  // Whether the op finds the tensor in tiles, perhaps.
  bool MayBeInTiles(TensorId t, OpId op) const {
    return streamed_ && HasSampleParts(step_.ops[Index(op)]) && MayStream(TensorOf(t));
  }
  // Whether the op and the one before it may run on one part of the batch after another, together.
  bool InTurns(OpId op) const {
    if (!streamed_ || op <= 0 || step_.IsForward(op) != step_.IsForward(op - 1)) return false;
    return HasSampleParts(step_.ops[Index(op - 1)]) && HasSampleParts(step_.ops[Index(op)]);
  }

  // Whether the op may begin, in parts, before all that it reads is there.
  bool BeginsEarly(OpId op) const { return in_sections_ && HasAlgorithms(step_.ops[Index(op)].kind); }

  // What double precision may lose of two large numbers whose sum is small: what is pushed through an arc is off by so much
  // of its capacity each time.
  double Lost(double cut, double way) const {
    const double roundings = static_cast<double>(flow_.pushes()) + 16;
    return std::numeric_limits<double>::epsilon() * roundings * (std::abs(cut) + std::abs(way));
  }
  double OffKernels(double time) const {
    const bool whole = c_.scope.parts == PartScope::kNone;
    const double kernels = whole ? kMostRuns * static_cast<double>(step_.ops.size()) : std::max(1.0, time);
    return kEngines * kernels;  // parts of a nanosecond each, at most
  }

  // Whether the tensor is needed from the instant on, or lies there whatever the plan: an operand, what never moves, what
  // forward is still making on the device.
  void Look(TensorId t) {
    const History& history = histories_[Index(t)];
    const Tensor& tensor = TensorOf(t);
    const bool leaves = c_.scope.states_leave && !history.uses.empty() && history.reads.front();
    if (tensor.Traits().resident && !leaves) {
      fixed_ += tensor.bytes;
      return;
    }
    if (history.uses.empty()) return;
    const bool operand = history.At(c_.op) && !MayBeInTiles(t, c_.op);
    const bool alive = history.uses.front() <= c_.op && history.uses.back() >= c_.op;
    const bool making = !history.forward_writers.empty() && history.forward_writers.back() >= c_.op;
    if (operand || (alive && (!tensor.Traits().may_move || (making && !streamed_)))) {
      fixed_ += tensor.bytes;
      return;
    }
    const std::size_t next = history.From(c_.op);
    if (!alive || making || history.uses.front() == c_.op || !history.reads[next]) return;
    needed_.push_back({t, BytesRead(step_.ops[Index(history.uses[next])], t, tensor.bytes, c_.scope)});
    awaited_ = std::max(awaited_, history.uses[next]);
  }

  // Whether a value that something is computed from costs nothing: see Look; and what comes back by an op that writes it
  // anew.
  bool CostsNothing(TensorId t) const {
    const History& history = histories_[Index(t)];
    if (!TensorOf(t).Traits().may_move) return true;
    if (history.At(c_.op) && !MayBeInTiles(t, c_.op)) return true;
    for (std::size_t k = history.From(c_.op); k < history.uses.size(); ++k) {
      if (!history.reads[k]) return true;
    }
    return !history.forward_writers.empty() && history.forward_writers.back() >= c_.op;
  }

  bool MayRunAgain(TensorId t) const {
    const History& history = histories_[Index(t)];
    if (history.forward_writers.empty() || history.forward_writers.front() > history.Before(c_.op)) return false;
    return std::none_of(history.forward_writers.begin(), history.forward_writers.end(),
                        [&](OpId op) { return step_.ops[Index(op)].once; });
  }

  // The node of a value: cut off from what computes it again where it is kept or copied.
  std::size_t NodeOf(TensorId t, Bytes bytes) {
    const auto known = values_.find(t);
    if (known != values_.end()) return known->second;
    const std::size_t node = flow_.AddNode();
    values_.emplace(t, node);
    const Tensor& tensor = TensorOf(t);
    const History& history = histories_[Index(t)];
    const bool on_host = tensor.Traits().on_host;
    const double in = LeastCopy(costs_, Direction::kHostToDevice, bytes, piece_, device_);
    const double out = on_host ? 0 : LeastCopy(costs_, Direction::kDeviceToHost, bytes, piece_, device_);
    double held = c_.price * static_cast<double>(bytes);
    if (c_.scope.copy_streams > 0 || on_host) held = std::min(held, (1 - c_.before) * out + (1 - c_.after) * in);
    const std::size_t again = flow_.AddNode();
    flow_.AddArc(node, again, held);
    if (!MayRunAgain(t)) {
      flow_.AddArc(again, Flow::kSink, kEndless);
    } else {
      open_.push_back({t, again});
    }
    if (!on_host) {
      const OpId first = history.forward_writers.empty() ? history.uses.front() : history.forward_writers.front();
      made_ = made_ == kNoOp ? first : std::min(made_, first);
    }
    return node;
  }

  struct Open {
    TensorId tensor;
    std::size_t node;
  };

  // All writers run again. Of several, one with other results may run for their sake alone, which leaves the value
  // unfinished, and no rule forbids that: then that one is counted, or none where there are two of them.
  void AddRecomputation(Open open) {
    const std::vector<OpId>& writers = histories_[Index(open.tensor)].forward_writers;
    std::vector<OpId> counted, with_others;
    for (const OpId op : writers) {
      int moving = 0;
      for (const TensorId t : step_.ops[Index(op)].writes) moving += TensorOf(t).Traits().may_move ? 1 : 0;
      if (moving > 1) with_others.push_back(op);
    }
    if (writers.size() == 1 || with_others.empty()) counted = writers;
    if (writers.size() > 1 && with_others.size() == 1) counted = with_others;
    if (counted.empty()) flow_.AddArc(open.node, flow_.AddNode(), 0);
    for (const OpId op : counted) flow_.AddArc(open.node, RunOf(op), kEndless);
  }

  std::size_t RunOf(OpId op) {
    const auto known = runs_.find(op);
    if (known != runs_.end()) return known->second;
    const std::size_t node = flow_.AddNode();
    runs_.emplace(op, node);
    const Op& o = step_.ops[Index(op)];
    const auto own = least_again_.find(op);
    flow_.AddArc(node, Flow::kSink, (own == least_again_.end() ? least_[Index(op)] : own->second).At(c_.after));
    for (const TensorId t : o.reads) {
      if (!Contains(o.writes, t) && !CostsNothing(t)) flow_.AddArc(node, NodeOf(t, TensorOf(t).bytes), kEndless);
    }
    return node;
  }

  // The upload that the first op waits for, unless it may stream that.
  double Head() const {
    double head = 0;
    if (streamed_ || BeginsEarly(0)) return head;
    for (std::size_t t = 0; t < step_.tensors.size(); ++t) {
      if (!step_.tensors[t].Traits().on_host || histories_[t].uses.empty() || histories_[t].uses.front() > 0) continue;
      head += LeastCopy(costs_, Direction::kHostToDevice, step_.tensors[t].bytes, c_.scope.copy_chunk, device_);
    }
    return std::floor(head);
  }

  // The parts of the bound that depend on no choice, but for the op's own time. Copies of some samples begin, and are
  // awaited, inside an op in parts, and anywhere in a group of ops that take turns.
  double Times() const {
    const OpId inside = c_.scope.parts == PartScope::kNone ? 0 : 1;
    const auto ops = static_cast<OpId>(step_.ops.size());
    OpId first = made_, last = awaited_;
    while (InTurns(first)) --first;
    while (last + 1 < ops && InTurns(last + 1)) ++last;
    const OpId out = first + 1 - inside, in = std::min(last + inside, ops);
    return Head() + Compute(0, out) + BesideCopies(out, c_.op, c_.before) + BesideCopies(c_.op + 1, in, c_.after) +
           Compute(in, ops);
  }

  // Of the op's ways the one that costs least, by its time and by the room that it leaves.
  double BestWay() {
    double best = std::numeric_limits<double>::max();
    for (const Way& way : ways_.Of(step_.ops[Index(c_.op)], kAnyRoom)) {
      const double room = static_cast<double>(c_.capacity - fixed_ - way.workspace);
      if (room < 0) continue;  // it does not run at all
      const double time = std::min(static_cast<double>(way.time), c_.after * way.slowed);
      best = std::min(best, time - c_.price * room);
    }
    return best == std::numeric_limits<double>::max() ? -kEndless : best;
  }

  const TrainingStep& step_;
  const CostModel& costs_;
  const BoundCertificate& c_;
  const int device_;
  const bool streamed_;
  const bool in_sections_;  // what runs in parts may begin when the first section of what it reads is there
  Ways ways_;
  std::vector<History> histories_;         // by tensor
  const Bytes piece_;                      // no copy has less of a tensor, but the last one
  std::vector<LeastTime> least_;           // by op
  std::map<OpId, LeastTime> least_again_;  // of ops whose recomputation differs
  std::vector<std::pair<TensorId, Bytes>> needed_;
  Bytes fixed_ = 0;
  OpId made_ = kNoOp, awaited_ = 0;
  Flow flow_;
  std::map<TensorId, std::size_t> values_;
  std::map<OpId, std::size_t> runs_;
  std::vector<Open> open_;
};

}  // namespace

}  // namespace certifying

Nanos ProvenBound(const TrainingStep& step, const CostModel& costs, const BoundCertificate& certificate, int device) {
  const bool weights = certificate.before >= 0 && certificate.before <= 1 && certificate.after >= 0 &&
                       certificate.after <= 1 && certificate.price >= 0 && std::isfinite(certificate.price);
  if (!weights || certificate.scope.managed) return 0;
  certifying::Proof proof(step, costs, certificate, device);
  if (certificate.op == kNoOp) return proof.Work();
  const bool op = certificate.op >= 0 && Index(certificate.op) < step.ops.size();
  return op ? std::max<Nanos>(0, proof.Bound()) : 0;
}

}  // namespace spillway

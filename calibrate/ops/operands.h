// In which state a measured kernel finds its operands, and what they hold: the same for all devices.
#ifndef SPILLWAY_CALIBRATE_OPS_OPERANDS_H_
#define SPILLWAY_CALIBRATE_OPS_OPERANDS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/profile/machine.h"
#include "model/step/training_step.h"

namespace spillway {

using BenchProtocol = OperandState;
const char* BenchProtocolName(BenchProtocol protocol);  // "step", "cold", "warm"; Sample::kind

// Operands of an op in one set, and which of them its step leaves fresh. Pure, for tests.
struct BenchOperand {
  TensorId tensor = kNoTensor;
  DataType type = DataType::kFp32;
  Bytes bytes = 0, offset = 0;
  Bytes since = 0;      // bytes that other ops touched since this one was; more than `reach`: not counted further
  bool fresh = false;   // `since` is at most `reach`
  bool sparse = false;  // the result of a ReLU
};
// In the order of Op::reads, then what only Op::writes names. The step is one of many: what its last ops touch is fresh
// for its first ones.
std::vector<BenchOperand> BenchOperands(const TrainingStep& step, OpId op, Bytes reach);
// True if a convolution finds its workspace in the caches. A convolution writes its workspace before it reads it, and
// the workspaces of a step share addresses. So the workspace is fresh if at most `reach` bytes were touched since the
// previous op with a workspace.
bool FindsWorkspaceFresh(const TrainingStep& step, OpId op, Bytes reach);

// True if random numbers would be no valid operand, because a forward op makes it: positions of a maximum, masks,
// statistics. ForwardOf: that op; kNoOp if the step has none.
bool NeedsForward(const Op& op);
OpId ForwardOf(const TrainingStep& step, const Op& op);

// Normal random numbers to fill operands with. Their number is no power of two, so that neighbouring tensors do not
// hold the same numbers at the same distance. `sparse`: as after a ReLU, the negative half is zero.
std::vector<float> BenchNumbers(bool sparse);

// ---- Sets of an op's operands that take turns, so that each run of a measured kernel finds its own in the state that a
// protocol asks for. The sizes and places are the same on all devices; the memory is the caller's.
//
//   ring   set 0                         | set 1                         | ...
//   set    operand | operand | ... | more (a workspace, where it takes turns too)
//
//   kStep   The ring is larger than the cache, so that each run finds its set in memory. Then, not timed, those operands
//           are written once more that the op finds fresh in its step: the ones touched so shortly before that at most
//           half of the cache has been touched since. The op before it always counts: its result is an input of this one.
//   kCold   The same without writing anything again: everything is in memory.
//   kWarm   One set, used over and over: everything that fits is in the cache.

// Bytes of the cache before memory, how large rings usually are, and how many sets of tiny operands there are at most.
struct RingSizes {
  Bytes cache = 0, ring = 0;
  int most_sets = 1;
};

class OperandRing {
 public:
  static constexpr Bytes kAlignment = 512;  // of operands and sets
  using Fill = std::function<void(std::byte* at, const BenchOperand& operand)>;
  // In the order of Op::reads and Op::writes.
  struct Places {
    std::vector<void*> reads, writes;
  };

  // `step` must outlive it. `more`: bytes of a set behind its operands.
  OperandRing(const TrainingStep& step, OpId op, BenchProtocol protocol, const RingSizes& sizes, Bytes more = 0);

  const Op& op() const { return step_.ops[static_cast<std::size_t>(op_)]; }
  int sets() const { return sets_; }
  Bytes set_bytes() const { return set_bytes_; }
  Bytes bytes() const { return set_bytes_ * sets_; }
  Bytes more() const { return more_; }  // where it begins in a set
  std::span<const BenchOperand> operands() const { return operands_; }
  // Those to be written again before a run, in that order: the op before wrote last what is freshest. None but with kStep.
  std::span<const BenchOperand> fresh() const { return fresh_; }

  void Use(std::byte* memory) { memory_ = memory; }  // bytes() of them; before what follows
  std::byte* Set(int k) const { return memory_ + static_cast<Bytes>(k) * set_bytes_; }
  std::byte* Ahead(int k) const { return Set((next_ + k) % sets_); }  // of the k-th run from now
  void Advance(int runs) { next_ = (next_ + runs) % sets_; }
  // Fills all sets by `fill`; then, where the op reads what its forward op made, `make_saved` is called for each.
  void FillSets(const Fill& fill, const std::function<void(std::byte* set, int number)>& make_saved) const;
  // A class for each sample and position, where the op reads labels; else none.
  std::vector<std::int32_t> Labels() const;
  // Begins with the first set again unless so many runs find one each. True: the sets may still be in the cache, which
  // has to be cleared; those that fill the ring have left it by themselves.
  bool Rewind(int runs);
  // The operands in that set. `places`: lists that are used again.
  void PlaceIn(std::byte* set, Places* places) const;

  // What the forward op takes beside the set that makes what this one reads, when it is run on the operands that both
  // have in the set and on others at `beside`, which `fill` is called for. REQUIRES: forward() is an op.
  OpId forward() const { return forward_; }  // kNoOp: nothing has to be made
  Bytes ForwardBytes() const;
  Places PlaceForward(std::byte* set, std::byte* beside, const Fill& fill) const;

 private:
  const TrainingStep& step_;
  OpId op_, forward_ = kNoOp;
  bool turns_;
  Bytes cache_, more_ = 0, set_bytes_ = 0;
  int sets_ = 1, next_ = 0;
  std::byte* memory_ = nullptr;
  std::vector<BenchOperand> operands_, fresh_;
  std::vector<Bytes> reads_, writes_;  // offsets in a set
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_OPS_OPERANDS_H_

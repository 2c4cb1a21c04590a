// Everything that can be decided about a step, and its costs, as flat tables for GapModel. Made once for a step on a
// machine.
//
//   gap      the time between two consecutive uses of a tensor that may move, if some op in between does not fit into
//            the memory with everything kept, or some recomputation in it. Over a gap the tensor is kept, swapped or
//            recomputed.
//   value    a tensor that has gaps, or that a recomputation may have to make on its way
//   writer   a forward op that makes a value, with the other tensors that it reads and makes
//   way      how an op may run: its time and workspace, whole or in parts along the batch
//
// Example: op 3 writes feature map X, op 4 reads it, backward op 40 reads it. X has one gap {after 4, before 40, made
// 3} if an op between them does not fit. The gap between ops 3 and 4 has no op in between and is no row.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_GAP_TABLES_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_GAP_TABLES_H_

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "sim/evaluate/oracle.h"
#include "sim/strategies/best/divided_ways.h"

namespace spillway {

enum class GapWay : std::uint8_t {
  kKeep,
  kSwap,
  kRecompute,      // if a recomputation of another value makes this one on its way, it stays until its own use
  kRecomputeAnew,  // it is freed after the other recomputation, and computed again for its own use
};
constexpr int kGapWays = 4;

// The tables hold at most so many ways of an op, the fastest ones.
constexpr std::size_t kMostWays = 32;
// A fall of memory below 1 / kRoomShare of the capacity makes no Event::kRoom.
constexpr Bytes kRoomShare = 256;

// Which ways of ops the tables hold besides the usual one.
struct WaysLookedAt {
  bool algorithms = true;
  bool divided = false;  // in parts along the batch; costing these takes some ms for each distinct convolution
  std::vector<PartGroup> groups{};  // ops that run in parts together, whatever the search decides
};

// The ways in parts to look at, in the order in which they are tried; equal ones come once.
std::vector<WaysLookedAt> InPartsTried(const StepTables& tables, Bytes capacity);

// Sizes are bytes as allocated, times nanoseconds. A row names what belongs to it as [begin, end) of another table.
struct GapTables {
  // `capacity`: bytes of device memory. A gap gets a row if it lies over an op that, in one of its ways, does not fit
  // into the capacity with everything kept. `small`: tensors up to so many bytes are always kept. `carried`: gaps that the
  // runtime cannot carry out get no row either.
  GapTables(const StepFacts& facts, BackwardUnits units, Bytes capacity, Bytes small,
            const WaysLookedAt& looked_at = {}, CarriedGaps carried = CarriedGaps::kAny);

  struct Rows {
    std::int32_t begin = 0, end = 0;
  };
  struct Gap {
    TensorId tensor = kNoTensor;
    OpId after = kNoOp, before = kNoOp;
    OpId made =
        kNoOp;  // its last writer up to `after`: from then on it may be copied out; kNoOp: nothing is to be copied
    std::int32_t value = 0;  // row of `values`
    Bytes bytes = 0;
    Nanos out = 0, in = 0;  // of the swap-out and the swap-in, alone
    bool stale = false;     // the tensor was written since its previous gap: the copy on the host is out of date
    bool may_swap = false, may_recompute = false;
    bool streamed = false;  // the gap ends in a group that copies the tensor in part by part: always swapped
    // A gap with an open end: `after` is the last use, `before` is kNoOp. kKeep: the tensor is dropped after it.
    //   serves, until            kRecompute: it stays until the gap of row `serves` is recomputed before op `until`
    //   serves, until, again     kRecompute: it is recomputed before op `again`, from `dying` values whose last use is the op
    //                            just before that, and stays until `until`
    std::int32_t serves = -1;
    OpId until = kNoOp, again = kNoOp;
    Rows dying{};  // of `sources`
    bool IsOpen() const { return before == kNoOp; }
  };
  struct Value {
    Bytes bytes = 0;
    OpId last = kNoOp;  // its last use
    Rows writers{};     // in the order of the step
    bool on_host = false, transient = false;
    Nanos in = 0;  // of a copy in for a recomputation, alone
  };
  struct Writer {
    OpId op = kNoOp;
    Rows inputs{},
        others{};  // values: what it reads but for the one that it is listed for, what it makes beside that one
  };
  struct Way {
    Nanos time = 0;
    Bytes workspace = 0;
    std::int32_t algorithm = 0;  // 0: the library's choice. The first way is the usual one; in a group, the fastest
    double slowdown = 1;         // factor on `time` while a copy runs
    std::int32_t division = -1;  // row of `divisions`; -1: whole
  };
  struct Op {
    Bytes before = 0, during = 0;  // bytes live with all kept, without its workspace: just before it, and while it runs
    Rows ways{};
    Rows again{};  // the ways of its recomputations: `ways`, unless they differ
    bool DiffersAgain() const { return again.begin != ways.begin; }
    OpId unit_end = kNoOp;  // the end of its backward unit
    // The ops that run in parts together with this one, mostly this one alone. Operands that they do not stream are on
    // the device throughout the group.
    OpId group_first = kNoOp, group_last = kNoOp;
    std::int32_t grouped = -1;  // row of `grouped`
  };
  // An event just before or after an op. The kinds are listed in the order in which events of one op happen.
  struct Event {
    enum class Kind : std::uint8_t {
      kUpload,   // before the op: a tensor that the step begins with on the host is copied in, for its first reader
      kBarrier,  // before the op: backward begins
      kRoom,     // before the op: the live memory has fallen, so that swap-ins find room
      kAgain,    // before the op: the tensor of an open gap is recomputed (Gap::again)
      kServe,    // before the op: the gap that an open one serves is recomputed, and its tensor leaves
      kUnit,     // before the op: a backward unit begins in which the gap ends
      kClose,    // before the op: the gap ends
      kMade,     // after the op: the gap's tensor is complete
      kOpen,     // after the op: the gap begins
    };
    OpId op = kNoOp;
    Kind kind = Kind::kOpen;
    std::int32_t gap = -1;  // kUpload: row of `uploads`; kBarrier, kRoom: none
  };

  // True if some op has a way in parts.
  bool InParts() const {
    return std::any_of(ways.begin(), ways.end(), [](const Way& way) { return way.division >= 0; });
  }

  TensorId TensorOf(std::int32_t value) const { return tensors_[Index(value)]; }

  std::vector<Gap> gaps;  // by `after`, then those with an open end
  std::vector<Value> values;
  std::vector<Writer> writers;
  std::vector<std::int32_t> sources;  // Writer::inputs, others
  std::vector<Way> ways;
  std::vector<std::vector<OpPart>> divisions;
  std::vector<PartGroup> groups;
  std::vector<OpDecision> grouped;  // the decisions of the ops of groups, without their parts
  std::vector<Op> ops;
  std::vector<Event> events;   // by op and kind
  std::vector<Nanos> uploads;  // times of the copies at kUpload
  OpId first_backward = kNoOp;
  Nanos kernels = 0;                      // the time of all ops in their usual ways
  std::array<double, 2> duplex = {1, 1};  // Link::duplex_factor

 private:
  void AddOps(const StepFacts& facts, BackwardUnits units);
  void AddGroups(const StepFacts& facts);
  std::int64_t PartsOf(OpId op) const;
  bool HasTiles(TensorId tensor, OpId user) const;
  OpId LastWhole(const std::vector<OpId>& uses, TensorId tensor) const;
  void AddStreamedGap(const StepFacts& facts, TensorId tensor, OpId after, OpId before);
  void AddWays(const StepFacts& facts, Bytes capacity, const WaysLookedAt& looked_at);
  Rows AddWaysOf(const StepFacts& facts, std::size_t launch, Bytes capacity, const WaysLookedAt& looked_at);
  Rows AddWaysInParts(const StepFacts& facts, OpId op);
  std::int32_t AddDivision(const DividedWay& way);
  void AddMemory(const StepFacts& facts);
  void AddGaps(const StepFacts& facts, Bytes capacity, Bytes small);
  void AddGapsOf(const StepFacts& facts, TensorId tensor, const std::vector<std::int32_t>& over_before);
  void AddOpenGaps(const StepFacts& facts, Bytes capacity, Bytes small);
  void AddAllOpenGaps(const StepFacts& facts);
  struct Served {
    std::int32_t gap = -1;  // is recomputed
    OpId until = kNoOp;     // before this op
    std::set<TensorId> sources{};
  };
  OpId FirstNeeded(const StepFacts& facts, const Gap& gap) const;
  std::vector<Served> AllServed(const StepFacts& facts) const;
  void AddOpenGapsFor(const StepFacts& facts, const Served& served, TensorId tensor, Bytes served_bytes);
  void AddGapsAgain(const StepFacts& facts, TensorId tensor, const Served& served, OpId changes);
  void AddGapAgain(const StepFacts& facts, TensorId tensor, const Served& served, OpId again);
  bool MayStayOpen(const StepFacts& facts, TensorId tensor) const;
  void AddOpenGap(const StepFacts& facts, TensorId tensor, std::int32_t served, OpId until);
  bool FindTightReruns(const StepFacts& facts, Bytes capacity);
  bool IsOverTightRerun(OpId after, OpId before) const;
  void AddEvents(const StepFacts& facts, BackwardUnits units);
  void AddRooms(Bytes capacity);
  void AddSources(const StepFacts& facts);
  void AddWriter(const StepFacts& facts, OpId op, TensorId tensor);
  std::int32_t ValueOf(const StepFacts& facts, TensorId tensor);

  // By op: the number of ops up to it before which a recomputation for open gaps does not fit; empty: none.
  std::vector<std::int32_t> tight_until_;
  CarriedGaps carried_ = CarriedGaps::kAny;
  std::vector<std::int32_t> value_of_;  // by tensor, -1: none
  std::vector<TensorId> tensors_;       // by value
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_GAP_TABLES_H_

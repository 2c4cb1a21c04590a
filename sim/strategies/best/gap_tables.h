// What can be decided of a step, and what it costs, as flat tables for GapModel: made once for a step on a machine.
//
//   gap      two consecutive uses of a tensor that may move, with an op in between that does not fit with all kept: there
//            the tensor may be kept, swapped, or dropped and computed again
//   value    a tensor that has gaps, or that a recomputation may have to make in passing
//   writer   a forward op that makes a value, and what it reads and makes beside
//   way      how an op may run: time and workspace, whole or in parts along the batch
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_GAP_TABLES_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_GAP_TABLES_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/evaluate/oracle.h"
#include "sim/strategies/best/divided_ways.h"

namespace spillway {

enum class GapWay : std::uint8_t {
  kKeep,
  kSwap,
  kRecompute,      // computed on the way to another value it stays until its own use
  kRecomputeAnew,  // it is freed then, and computed again
};
constexpr int kGapWays = 4;

// Of an op, the fastest ones.
constexpr std::size_t kMostWays = 32;
// Memory that falls by less than this share of the capacity is not looked at.
constexpr Bytes kRoomShare = 256;

// Which ways of ops there are beside the usual one.
struct WaysLookedAt {
  bool algorithms = true;
  bool divided = false;  // in parts along the batch; asking for them takes some ms for each distinct convolution
  std::vector<PartGroup> groups{};  // of ops that run in parts together, whatever the search decides
};

// The ways in parts to look at, in the order in which they are tried; equal ones come once.
std::vector<WaysLookedAt> InPartsTried(const StepTables& tables, Bytes capacity);

// Sizes are bytes as allocated, times nanoseconds. A row names what belongs to it as [begin, end) of another table.
struct GapTables {
  // `capacity`: gaps count that are over an op which, in one of its ways, does not fit into it with all kept.
  // `small`: tensors up to so many bytes stay.
  GapTables(const StepFacts& facts, BackwardUnits units, Bytes capacity, Bytes small,
            const WaysLookedAt& looked_at = {});

  struct Rows {
    std::int32_t begin = 0, end = 0;
  };
  struct Gap {
    TensorId tensor = kNoTensor;
    OpId after = kNoOp, before = kNoOp;
    OpId made =
        kNoOp;  // its last writer up to `after`: from then on it may be copied out; kNoOp: nothing is to be copied
    std::int32_t value = 0;
    Bytes bytes = 0;
    Nanos out = 0, in = 0;
    bool stale = false;  // it was written since the gap before it: what that one left on the host is of no use
    bool may_swap = false, may_recompute = false;
    bool streamed = false;  // it ends in a group that brings the tensor part by part: always swapped
  };
  struct Value {
    Bytes bytes = 0;
    OpId last = kNoOp;  // use
    Rows writers{};     // in order
    bool on_host = false, transient = false;
    Nanos in = 0;
  };
  struct Writer {
    OpId op = kNoOp;
    Rows inputs{},
        others{};  // values: what it reads but for the one that it is listed for, what it makes beside that one
  };
  struct Way {
    Nanos time = 0;
    Bytes workspace = 0;
    std::int32_t algorithm = 0;  // the first way of an op is the usual one; in a group, the fastest
    double slowdown = 1;         // factor on the time while a copy runs
    std::int32_t division = -1;  // row of `divisions`; -1: whole
  };
  struct Op {
    Bytes before = 0, during = 0;  // live with all kept, its own workspace left out: just before it, and while it runs
    Rows ways{};
    OpId unit_end = kNoOp;  // of its backward unit
    // Of the ops that run in parts with it, itself alone mostly: what they find in place is there throughout.
    OpId group_first = kNoOp, group_last = kNoOp;
    std::int32_t grouped = -1;  // row of `grouped`
  };
  // What may come to pass at an op, in the order in which it does.
  struct Event {
    enum class Kind : std::uint8_t {
      kUpload,   // before it: what the step begins with on the host, which this op is the first to read
      kBarrier,  // before it: backward begins
      kRoom,     // before it: memory has fallen, so that copies in find room
      kUnit,     // before it: a unit begins in which the gap ends
      kClose,    // before it: the gap ends
      kMade,     // behind it: the gap's tensor is complete
      kOpen,     // behind it: the gap begins
    };
    OpId op = kNoOp;
    Kind kind = Kind::kOpen;
    std::int32_t gap = -1;  // kUpload: row of `uploads`; kBarrier, kRoom: none
  };

  // Whether any way is one in parts.
  bool InParts() const {
    return std::any_of(ways.begin(), ways.end(), [](const Way& way) { return way.division >= 0; });
  }

  std::vector<Gap> gaps;  // by `after`
  std::vector<Value> values;
  std::vector<Writer> writers;
  std::vector<std::int32_t> sources;  // Writer::inputs, others
  std::vector<Way> ways;
  std::vector<std::vector<OpPart>> divisions;
  std::vector<PartGroup> groups;
  std::vector<OpDecision> grouped;  // what the ops of groups decide, but for their parts
  std::vector<Op> ops;
  std::vector<Event> events;  // by op and kind
  std::vector<Nanos> uploads;
  OpId first_backward = kNoOp;
  Nanos kernels = 0;                      // of all ops, as usual
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
  void AddEvents(const StepFacts& facts, BackwardUnits units);
  void AddRooms(Bytes capacity);
  void AddSources(const StepFacts& facts);
  void AddWriter(const StepFacts& facts, OpId op, TensorId tensor);
  std::int32_t ValueOf(const StepFacts& facts, TensorId tensor);

  std::vector<std::int32_t> value_of_;  // by tensor, -1: none
  std::vector<TensorId> tensors_;       // by value
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_GAP_TABLES_H_

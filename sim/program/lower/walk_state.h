// Everything that changes while a plan is lowered, as one value. A copy is a moment of the walk to which one can go
// back: LowerWalk::LookAhead takes one, walks on, and puts it back whole. A new field needs no line there.
//
// The state of one swapped tensor, whose gap lies between ops a and b:
//
//   op           ..a.. |              gap                |..b..
//   device       d0 ===========                    d1 ========     d0, d1: two buffers of the Program
//   host                  h0 ====================================  h0: pinned, one for all copies
//   TensorState  {d0}     {d0, h0, host_valid}  {h0}  {d1, h0, arriving}
//
// A BufferId is a row of Program::buffers, a gap is a row of Plan::gaps.
#ifndef SPILLWAY_SIM_PROGRAM_LOWER_WALK_STATE_H_
#define SPILLWAY_SIM_PROGRAM_LOWER_WALK_STATE_H_

#include <cstdint>
#include <map>
#include <vector>

#include "sim/plan/plan.h"
#include "sim/program/lower/launch_choice.h"
#include "sim/program/program.h"

namespace spillway {

constexpr std::uint32_t kNoGap = 0xffffffffu;

struct TensorState {
  BufferId device = kNoBuffer;   // a tensor in sections: the first section's, while all sections are there
  BufferId host = kNoBuffer;     // pinned; made for the first copy
  std::uint32_t gap = kNoGap;    // the gap that opened last; its decision holds until the next one opens
  bool host_valid = false;       // the host buffer holds the tensor's value
  std::uint32_t copy_out = 0;    // the number of the last copy out (WalkState::copies_out)
  bool arriving = false;         // swapped in, and the host has not waited for the copy yet
  bool keep_result = true;       // false: it is freed after its next use (GapDecision::keep_result)
  OpId leaves_after = kNoOp;     // Recomputation::leaves_after of the entry that computed it
  std::uint32_t visited_in = 0;  // the last search for sources that visited it (WalkState::search)

  bool OnDevice() const { return device != kNoBuffer; }
};

// A batch range with buffers of its own. The other fields of TensorState are those of the whole tensor.
struct SectionState {
  SampleRange samples;
  BoxId box = kWhole;  // the samples as a row of Program::boxes
  BufferId device = kNoBuffer;
  std::uint32_t gap = kNoGap;
  bool host_valid = false;

  bool OnDevice() const { return device != kNoBuffer; }
};
struct SectionedTensor {
  TensorId tensor = kNoTensor;
  std::vector<SectionState> sections{};  // in order of samples, without gaps
  std::uint32_t frame = kNoFrame;        // Buffer::frame of the sections on the device
};

// A tensor that stayed in its gap, or that an entry computed. It leaves when no entry reads it any more.
struct PendingEviction {
  TensorId tensor = kNoTensor;
  std::uint32_t gap = kNoGap;  // the gap that it stayed in; kNoGap: an entry computed it
};

struct LiveBytes {  // on the device, in list order
  Bytes now = 0;
  Bytes peak = 0;        // the most so far
  OpId peak_op = kNoOp;  // the op at hand then
};

// Of counted memory: a buffer whose free stands behind its copy out. It is written when an allocation wants the bytes.
struct DeferredFree {
  std::uint32_t copy_out = 0;  // copies out end in the order of their numbers
  BufferId buffer = kNoBuffer;
};
struct DeferredFrees {
  std::vector<DeferredFree> frees{};  // in the order in which their copies end
  Bytes bytes = 0;                    // of them all; LiveBytes does not count them
  Bytes peak = 0;                     // the most bytes at once, with LiveBytes
};

// A run of an op with less workspace than it was granted.
struct CutLaunch {
  std::vector<PartLaunch> parts;
  Bytes workspace = 0;
};

struct WalkState {
  std::vector<TensorState> tensors;                 // by tensor
  std::map<TensorId, SectionedTensor> sectioned{};  // the tensors that lie in sections
  std::uint32_t frames = 0;                         // handed out so far
  std::vector<BufferId> workspaces{};         // by op, where each has its own throughout; empty: Workspaces::kPerOp
  std::vector<PendingEviction> evictions{};   // those that entries before the op at hand hold up
  const Recomputation* dead_entry = nullptr;  // the entry that runs, if no op uses any of its results
  std::vector<TensorId> computed_along{};     // its results that the kernel for another result computed, too
  DeferredFrees deferred{};                   // of counted memory
  std::uint32_t copies_out = 0;               // so far
  std::int64_t recomputations = 0;            // forward ops recomputed so far
  std::map<OpId, std::size_t> again{};        // of those, by op, where an op's recomputations differ
  std::uint32_t search = 0;                   // searches for sources so far
  std::map<OpId, CutLaunch> cut{};            // first runs of the ops at hand that have less workspace, by op
  LiveBytes live{};
  OpId now = 0;   // the op at hand
  OpId next = 0;  // the first op that is not lowered yet

  TensorState& operator[](TensorId tensor) { return tensors[static_cast<std::size_t>(tensor)]; }
  const TensorState& operator[](TensorId tensor) const { return tensors[static_cast<std::size_t>(tensor)]; }
  // nullptr: the tensor lies in one piece.
  SectionedTensor* SectionsOf(TensorId tensor) {
    if (sectioned.empty()) return nullptr;
    const auto found = sectioned.find(tensor);
    return found == sectioned.end() ? nullptr : &found->second;
  }
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LOWER_WALK_STATE_H_

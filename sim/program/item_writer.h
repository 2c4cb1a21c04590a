// Writes the items of a Program and keeps track of who touched which buffer, so that every dependency between
// streams is found in one place, whatever the item is.
//
// Items are instructions without kRecord and kWait, which Synchronise() adds where a dependency is not implied already.
// An item follows the last write of what it reads, and the last write and all reads since of what it writes, if they
// are on other streams; within a stream order is enough. Copies to and from tiles touch no more than their box of
// the host buffer. But for trials buffers are only added: their numbers are places in program.buffers; this owns the
// skeleton and writes into the Program that it was given.
#ifndef SPILLWAY_SIM_PROGRAM_ITEM_WRITER_H_
#define SPILLWAY_SIM_PROGRAM_ITEM_WRITER_H_

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "sim/program/synchronise.h"

namespace spillway {

class ItemWriter {
 public:
  // `step`: what the tensors of buffers are of. REQUIRES: program.streams is filled before the first item, with at most
  // four streams.
  ItemWriter(Program& program, const TrainingStep& step) : program_(program), step_(step) {}
  void Reserve(std::size_t items);

  // A buffer of `bytes`, of that tensor or kNoTensor, on device or host node `place`. Not live before Alloc().
  BufferId NewBuffer(Bytes bytes, TensorId tensor, BufferKind kind, int place);
  // In a pool the bytes may be those of a buffer that the compute stream has yet to give back: then `stream` waits.
  void Alloc(BufferId buffer, StreamId stream);
  // Frees on `stream`, after every access on any stream.
  void Free(BufferId buffer, StreamId stream);
  // One access more of the kernel that is being written, to `box` of the buffer's tensor; call before Kernel().
  void Operand(BufferId buffer, Access access, BoxId box = kWhole);
  // Its operands are those given since the last one.
  void Kernel(spillway::Kernel kernel, StreamId stream);
  void Copy(const spillway::Copy& copy, StreamId stream);  // operands are taken from `copy`
  // A box for the copy that is to be written next; in a trial nobody looks at it.
  BoxId NewBox(const Box& box);
  // The host waits for the last item of `stream`, if there is one: for what is being copied, or else as a barrier.
  void HostSync(StreamId stream);
  // The host waits for the last write of `buffer`, by a copy to the device.
  void HostSyncFor(BufferId buffer);

  // In between, buffers are numbered and nothing else is written; then they are forgotten again.
  void StartTrial();
  void EndTrial();

  std::uint32_t next_item() const { return static_cast<std::uint32_t>(skeleton_.items.size()); }
  Skeleton TakeSkeleton() { return std::move(skeleton_); }

 private:
  static constexpr std::size_t kStreams = 4;
  static constexpr std::uint32_t kNone = 0xffffffffu;
  struct Touched {  // the last accesses of one buffer, as items
    std::uint32_t write = kNone;
    std::array<std::uint32_t, kStreams> read{kNone, kNone, kNone, kNone};  // since that write, by stream
    std::uint32_t streams = 0;                                             // one bit for each that ever did
  };
  void Write(Opcode opcode, StreamId stream, std::uint32_t arg);
  // Makes the next item of `stream` follow earlier accesses that `access` conflicts with, and notes it.
  void Touch(BufferId buffer, Access access, StreamId stream);
  // The same for some places of a tensor, all of which the buffer holds.
  void TouchBox(BufferId buffer, const Box& box, Access access, StreamId stream);
  Box AllOf(BufferId buffer) const;
  void TouchSide(const spillway::Copy& copy, BufferId side, Access access, StreamId stream);
  void Note(Touched& touched, Access access, StreamId stream);
  void FollowFrees(StreamId stream);
  void FollowAll(const Touched& touched, Access access, StreamId stream);
  void Follow(std::uint32_t before, StreamId stream);
  Cause CauseOf(std::uint32_t before, StreamId stream) const;

  Program& program_;
  const TrainingStep& step_;
  bool trial_ = false;
  std::size_t buffers_before_trial_ = 0;
  Skeleton skeleton_;
  std::vector<Touched> touched_;
  // Of buffers that are copied to or from by boxes: instead of touched_. They do not overlap and are all of the tensor.
  struct Section {
    Box box;
    Touched touched;
  };
  struct Sections {
    std::list<Section> list;
    std::list<Section>::iterator last;  // touched; the next ones are mostly near it, of thousands
    // Those that have places in common with `box`, in the order of the list.
    std::vector<std::list<Section>::iterator> Meeting(const Box& box);
  };
  std::map<BufferId, Sections> sections_;
  std::uint32_t first_operand_ = 0;
  std::array<std::uint32_t, kStreams> last_{kNone, kNone, kNone, kNone};
  std::array<Cause, kStreams> sync_cause_{Cause::kBarrier, Cause::kBarrier, Cause::kBarrier, Cause::kBarrier};
  std::uint32_t last_compute_free_ = kNone;
};

// Called several times for each op of a step, and mostly a few instructions.
inline BufferId ItemWriter::NewBuffer(Bytes bytes, TensorId tensor, BufferKind kind, int place) {
  program_.buffers.push_back(
      {.bytes = bytes, .tensor = tensor, .place = static_cast<std::int16_t>(place), .kind = kind});
  if (!trial_) touched_.emplace_back();
  return static_cast<BufferId>(program_.buffers.size() - 1);
}

inline void ItemWriter::Operand(BufferId buffer, Access access, BoxId box) {
  if (!trial_) program_.operands.push_back({buffer, access, box});
}

inline BoxId ItemWriter::NewBox(const Box& box) {
  if (!trial_) program_.boxes.push_back(box);
  return static_cast<BoxId>(program_.boxes.size()) - 1;
}

inline void ItemWriter::Write(Opcode opcode, StreamId stream, std::uint32_t arg) {
  last_[stream] = next_item();
  skeleton_.items.push_back({opcode, stream, Cause::kNone, 0, arg});
}

// Most buffers are touched by one stream only: then there is nobody to follow.
inline void ItemWriter::Touch(BufferId buffer, Access access, StreamId stream) {
  if (!sections_.empty() && sections_.contains(buffer)) return TouchBox(buffer, AllOf(buffer), access, stream);
  Note(touched_[buffer], access, stream);
}

inline void ItemWriter::Note(Touched& touched, Access access, StreamId stream) {
  const std::uint32_t own = 1u << stream;
  if ((touched.streams & ~own) != 0) FollowAll(touched, access, stream);
  touched.streams |= own;
  if (access == Access::kRead) {
    touched.read[stream] = next_item();
    return;
  }
  touched.read.fill(kNone);
  touched.write = next_item();
}

inline void ItemWriter::Alloc(BufferId buffer, StreamId stream) {
  if (trial_) return;
  if (!program_.arena) FollowFrees(stream);
  Write(Opcode::kAlloc, stream, buffer);
}

inline void ItemWriter::Free(BufferId buffer, StreamId stream) {
  if (trial_) return;
  Touch(buffer, Access::kWrite, stream);
  if (program_.streams[stream].kind == StreamKind::kCompute) last_compute_free_ = next_item();
  Write(Opcode::kFree, stream, buffer);
}

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_ITEM_WRITER_H_

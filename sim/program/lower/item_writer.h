// Writes the items of a Program, and finds every dependency between streams in one place, whatever the items are.
//
// Items are instructions without kRecord and kWait: Synchronise() adds those where a dependency is not implied already.
// An item that reads a buffer follows the last write of it. An item that writes it follows the last write and all reads
// since then. Within a stream, order is enough. A copy to or from a tile touches only the tile's box of the host
// buffer.
//
//   0  compute   kernel  w=b1
//   1  d2h       copy    b1 -> b2       follows 0 (kProduced)
//   2  compute   kernel  rw=b1          follows 1 (kSwapOut); 0 is on its own stream
//
// The writer owns the skeleton and writes into the Program that it was given. Buffers are only added, except in a
// trial: their numbers are places in program.buffers.
#ifndef SPILLWAY_SIM_PROGRAM_LOWER_ITEM_WRITER_H_
#define SPILLWAY_SIM_PROGRAM_LOWER_ITEM_WRITER_H_

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/program/synchronise.h"

namespace spillway {

class ItemWriter {
 public:
  // `step` has the tensors of the buffers. REQUIRES: program.streams is filled before the first item, with at most four
  // streams.
  ItemWriter(Program& program, const TrainingStep& step) : program_(program), step_(step) {}
  void Reserve(std::size_t items);

  // A buffer of that tensor, or kNoTensor, on a device. It is not live before Alloc().
  BufferId NewBuffer(Bytes bytes, TensorId tensor, BufferKind kind, int device);
  // A pinned buffer, which is there throughout.
  BufferId NewHostBuffer(Bytes bytes, TensorId tensor, int host);
  // In a pool the bytes may be those of a buffer that the compute stream has yet to give back: then `stream` waits.
  // Counted memory is allocated on the compute stream: other streams follow it.
  void Alloc(BufferId buffer, StreamId stream);
  // Frees on `stream`, after every access on any stream.
  void Free(BufferId buffer, StreamId stream);
  // Adds an access of the next Kernel(), to `box` of the buffer's tensor.
  void Operand(BufferId buffer, Access access, BoxId box = kWhole);
  // Its operands are those added since the last kernel.
  void Kernel(spillway::Kernel kernel, StreamId stream);
  void Copy(const spillway::Copy& copy, StreamId stream);  // operands are taken from `copy`
  // A box for the copy or operand that is written next. In a trial it means nothing.
  BoxId NewBox(const Box& box);
  // The host waits for the last item of `stream`, if there is one: for what is being copied, or else as a barrier.
  void HostSync(StreamId stream);
  // The host waits for the last write of `buffer`, by a copy to the device.
  void HostSyncFor(BufferId buffer);

  // During a trial, buffers are numbered and nothing else is written. EndTrial() forgets the buffers, too.
  void StartTrial();
  void EndTrial();
  bool InTrial() const { return trial_; }

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
  // Makes the next item of `stream` follow the earlier accesses that `access` conflicts with, and notes the access.
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
  // A buffer that is copied to or from by boxes has sections instead of a row of touched_. Sections do not overlap and
  // make up the whole tensor; a section that was cut off lies after the one that it was cut from.
  struct Section {
    Box box;
    Touched touched;
  };
  std::map<BufferId, std::vector<Section>> sections_;
  std::uint32_t first_operand_ = 0;
  std::array<std::uint32_t, kStreams> last_{kNone, kNone, kNone, kNone};
  std::array<Cause, kStreams> sync_cause_{Cause::kBarrier, Cause::kBarrier, Cause::kBarrier, Cause::kBarrier};
  std::uint32_t last_compute_free_ = kNone;
};

// Called several times for each op of a step, and mostly a few instructions.
inline BufferId ItemWriter::NewBuffer(Bytes bytes, TensorId tensor, BufferKind kind, int device) {
  program_.buffers.push_back(
      {.bytes = bytes, .tensor = tensor, .place = static_cast<std::int16_t>(device), .kind = kind});
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
  if (program_.memory == ProgramMemory::kPool) FollowFrees(stream);
  if (program_.memory == ProgramMemory::kCounted) Touch(buffer, Access::kWrite, stream);
  Write(Opcode::kAlloc, stream, buffer);
}

inline void ItemWriter::Free(BufferId buffer, StreamId stream) {
  if (trial_) return;
  Touch(buffer, Access::kWrite, stream);
  if (program_.streams[stream].kind == StreamKind::kCompute) last_compute_free_ = next_item();
  Write(Opcode::kFree, stream, buffer);
}

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LOWER_ITEM_WRITER_H_

// The copies of a walk: whole tensors, or the pieces that its runtime cuts them into.
#include <algorithm>

#include "sim/program/lower_walk.h"

namespace spillway {

void LowerWalk::SwapIn(TensorId tensor) {
  if (Sections* const sections = SectionsOf(tensor)) return SwapInSections(tensor, *sections, now_);
  Residence& at = at_[Index(tensor)];
  const Bytes bytes = tables_.bytes[Index(tensor)];
  HostOf(tensor);
  at.device = NewOnDevice(bytes, tensor, BufferKind::kTensor, in_stream_);
  at.keeps_result = true;
  at.arriving = true;
  CopyInPieces({.from = at.host,
                .to = at.device,
                .bytes = step_.tensors[Index(tensor)].bytes,
                .link = tables_.link,
                .direction = Direction::kHostToDevice},
               tensor, in_stream_);
}

// Not if the host has it already, from an earlier gap or an early start.
void LowerWalk::CopyOut(TensorId tensor) {
  Residence& at = at_[Index(tensor)];
  if (at.host_valid) return;
  HostOf(tensor);
  at.host_valid = true;
  CopyInPieces({.from = at.device,
                .to = at.host,
                .bytes = step_.tensors[Index(tensor)].bytes,
                .link = tables_.link,
                .direction = Direction::kDeviceToHost},
               tensor, out_stream_);
}

void LowerWalk::CopyInPieces(spillway::Copy copy, TensorId tensor, StreamId stream) {
  const Bytes whole = copy.bytes;
  if (plan_.runtime.copy_chunk > 0 && choice_.HasBoxes(tensor)) return CopyInSamples(copy, tensor, stream);
  const Bytes piece = plan_.runtime.copy_chunk > 0 ? plan_.runtime.copy_chunk : whole;
  for (copy.offset = 0; copy.offset < whole; copy.offset += piece) {
    copy.bytes = std::min(piece, whole - copy.offset);
    out_.Copy(copy, stream);
  }
}

// Of what ops touch in boxes the pieces are boxes too: as many samples (of a filter, output channels) as make up a piece.
void LowerWalk::CopyInSamples(spillway::Copy copy, TensorId tensor, StreamId stream) {
  const Tensor& t = step_.tensors[Index(tensor)];
  const Bytes sample = std::max<Bytes>(1, t.bytes / t.shape.n);
  if (plan_.runtime.copy_chunk >= t.bytes) return out_.Copy(copy, stream);
  const std::int64_t piece = (plan_.runtime.copy_chunk + sample - 1) / sample;
  for (std::int64_t begin = 0; begin < t.shape.n; begin += piece) {
    const Box box = WithRange(WholeOf(t.shape), kBatchAxis, begin, std::min(begin + piece, t.shape.n));
    copy.box = out_.NewBox(box);
    copy.bytes = BytesOf(t, box);
    out_.Copy(copy, stream);
  }
}

}  // namespace spillway

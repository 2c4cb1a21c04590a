// Buffers of the Program, whose live bytes are counted in list order, and copies between host and device.
//
// The runtime makes a copy in one piece, or cuts it (Runtime::copy_chunk). With 10 samples of 100 kB and chunks of 256
// kB:
//
//   usually                                256 | 256 | 256 | 232 kB
//   a tensor that ops touch in boxes       3 | 3 | 3 | 1 samples: each piece is a box
#ifndef SPILLWAY_SIM_PROGRAM_LOWER_BUFFERS_H_
#define SPILLWAY_SIM_PROGRAM_LOWER_BUFFERS_H_

#include "sim/program/lower/plan_walk.h"

namespace spillway {

// Allocates on the device. `stream` is the one that touches the buffer first. Bytes are rounded up to kAllocationUnit.
// Counted memory is allocated and freed on the compute stream, whatever `stream` says.
BufferId AllocateBuffer(PlanWalk& w, Bytes bytes, TensorId tensor, StreamId stream);  // kNoTensor: a workspace
BufferId AllocateTile(PlanWalk& w, TensorId tensor, BoxId box, StreamId stream);      // kWhole: of the whole tensor
// Frees on `stream`, which waits for accesses on every other stream.
void FreeBuffer(PlanWalk& w, BufferId buffer, StreamId stream);
// The same behind the copy out of that number: counted memory defers it until an allocation wants the bytes.
void FreeBehindCopy(PlanWalk& w, BufferId buffer, StreamId stream, std::uint32_t copy_out);
void FreeCopiedTile(PlanWalk& w, BufferId tile);  // behind the last copy out
void FreeDeferred(PlanWalk& w);                   // what still is deferred
// The tensor's pinned buffer, one for the whole step. The first call numbers it.
BufferId HostBufferOf(PlanWalk& w, TensorId tensor);

// These copy between HostBufferOf(tensor) and a buffer on the device, on the stream of that direction.
void CopyTensor(PlanWalk& w, TensorId tensor, BufferId device, Direction direction);
void CopySection(PlanWalk& w, TensorId tensor, const SectionState& section, Direction direction);
// A tile takes one pitched copy: samples lie together on both sides, channels and rows in runs. A tile may reach beyond
// the tensor; the copy fills that padding with zeros.
void CopyTile(PlanWalk& w, TensorId tensor, BoxId box, BufferId tile, Direction direction);

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LOWER_BUFFERS_H_

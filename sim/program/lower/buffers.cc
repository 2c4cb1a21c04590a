#include "sim/program/lower/buffers.h"

#include <algorithm>

namespace spillway {

namespace {

// The compute stream waits for the oldest copies out until the bytes suffice.
void MakeRoom(PlanWalk& w, Bytes wanted) {
  DeferredFrees& deferred = w.state.deferred;
  std::size_t taken = 0;
  while (taken < deferred.frees.size() && w.state.live.now + deferred.bytes + wanted > w.in.capacity) {
    const BufferId buffer = deferred.frees[taken++].buffer;
    deferred.bytes -= w.out.program.buffers[buffer].bytes;
    w.out.items.Free(buffer, kComputeStream);
  }
  deferred.frees.erase(deferred.frees.begin(), deferred.frees.begin() + static_cast<std::ptrdiff_t>(taken));
}

}  // namespace

BufferId AllocateBuffer(PlanWalk& w, Bytes bytes, TensorId tensor, StreamId stream) {
  const Bytes rounded = RoundToUnit(bytes);
  const BufferKind kind = tensor == kNoTensor ? BufferKind::kWorkspace : BufferKind::kTensor;
  const BufferId buffer = w.out.items.NewBuffer(rounded, tensor, kind, w.in.tables.device);
  LiveBytes& live = w.state.live;
  if (w.in.counted && w.in.capacity > 0) MakeRoom(w, rounded);
  w.out.items.Alloc(buffer, w.in.counted ? kComputeStream : stream);
  live.now += rounded;
  w.state.deferred.peak = std::max(w.state.deferred.peak, live.now + w.state.deferred.bytes);
  Bytes& live_at = w.out.live_at[Index(w.state.now)];
  live_at = std::max(live_at, live.now);
  if (live.now > live.peak) {
    live.peak = live.now;
    live.peak_op = w.state.now;
  }
  return buffer;
}

BufferId AllocateTile(PlanWalk& w, TensorId tensor, BoxId box, StreamId stream) {
  const Tensor& whole = w.in.TensorOf(tensor);
  const Bytes bytes = box == kWhole ? whole.bytes : BytesOf(whole, w.out.program.boxes[box]);
  const BufferId tile = AllocateBuffer(w, bytes, tensor, stream);
  w.out.program.buffers[tile].box = box;
  return tile;
}

void FreeBuffer(PlanWalk& w, BufferId buffer, StreamId stream) {
  w.state.live.now -= w.out.program.buffers[buffer].bytes;
  w.out.items.Free(buffer, w.in.counted ? kComputeStream : stream);
}

void FreeBehindCopy(PlanWalk& w, BufferId buffer, StreamId stream, std::uint32_t copy_out) {
  if (!w.in.counted) return FreeBuffer(w, buffer, stream);
  const Bytes bytes = w.out.program.buffers[buffer].bytes;
  DeferredFrees& deferred = w.state.deferred;
  const auto later = std::upper_bound(deferred.frees.begin(), deferred.frees.end(), copy_out,
                                      [](std::uint32_t number, const DeferredFree& f) { return number < f.copy_out; });
  deferred.frees.insert(later, {copy_out, buffer});
  deferred.bytes += bytes;
  w.state.live.now -= bytes;
}

void FreeCopiedTile(PlanWalk& w, BufferId tile) { FreeBehindCopy(w, tile, w.in.out_stream, w.state.copies_out); }

void FreeDeferred(PlanWalk& w) {
  for (const DeferredFree& deferred : w.state.deferred.frees) w.out.items.Free(deferred.buffer, kComputeStream);
  w.state.deferred.frees.clear();
  w.state.deferred.bytes = 0;
}

BufferId HostBufferOf(PlanWalk& w, TensorId tensor) {
  BufferId& host = w.state[tensor].host;
  const StepTables& tables = w.in.tables;
  if (host == kNoBuffer) host = w.out.items.NewHostBuffer(tables.bytes[Index(tensor)], tensor, tables.host);
  return host;
}

namespace {

Copy CopyBetween(PlanWalk& w, TensorId tensor, BufferId device, Direction direction) {
  const BufferId host = HostBufferOf(w, tensor);
  const bool in = direction == Direction::kHostToDevice;
  return {.from = in ? host : device,
          .to = in ? device : host,
          .bytes = w.in.TensorOf(tensor).bytes,
          .link = w.in.tables.link,
          .direction = direction};
}

void WriteCopy(PlanWalk& w, const Copy& copy) {
  if (copy.direction == Direction::kDeviceToHost) ++w.state.copies_out;
  w.out.items.Copy(copy, copy.direction == Direction::kHostToDevice ? w.in.in_stream : w.in.out_stream);
}

// Pieces of as many whole samples (a filter: output channels) as make up a chunk.
void CopyInSamples(PlanWalk& w, Copy copy, const Tensor& tensor, SampleRange samples) {
  const Bytes sample = std::max<Bytes>(1, tensor.bytes / tensor.shape.n);
  const std::int64_t piece = (w.in.plan.runtime.copy_chunk + sample - 1) / sample;
  for (std::int64_t begin = samples.begin; begin < samples.end; begin += piece) {
    const Box box = WithRange(WholeOf(tensor.shape), kBatchAxis, begin, std::min(begin + piece, samples.end));
    copy.box = w.out.items.NewBox(box);
    copy.bytes = BytesOf(tensor, box);
    WriteCopy(w, copy);
  }
}

}  // namespace

void CopyTensor(PlanWalk& w, TensorId tensor, BufferId device, Direction direction) {
  Copy copy = CopyBetween(w, tensor, device, direction);
  const Bytes whole = copy.bytes, chunk = w.in.plan.runtime.copy_chunk;
  if (chunk > 0 && chunk < whole && w.in.launches.HasBoxes(tensor)) {
    return CopyInSamples(w, copy, w.in.TensorOf(tensor), {0, w.in.TensorOf(tensor).shape.n});
  }
  const Bytes piece = chunk > 0 ? chunk : whole;
  for (; copy.offset < whole; copy.offset += piece) {
    copy.bytes = std::min(piece, whole - copy.offset);
    WriteCopy(w, copy);
  }
}

void CopySection(PlanWalk& w, TensorId tensor, const SectionState& section, Direction direction) {
  Copy copy = CopyBetween(w, tensor, section.device, direction);
  const Bytes sample = copy.bytes / w.in.TensorOf(tensor).shape.n, chunk = w.in.plan.runtime.copy_chunk;
  copy.bytes = sample * (section.samples.end - section.samples.begin);
  if (chunk > 0 && chunk <= copy.bytes - sample) {
    return CopyInSamples(w, copy, w.in.TensorOf(tensor), section.samples);
  }
  copy.box = section.box;
  WriteCopy(w, copy);
}

void CopyTile(PlanWalk& w, TensorId tensor, BoxId box, BufferId tile, Direction direction) {
  Copy copy = CopyBetween(w, tensor, tile, direction);
  copy.box = box;
  if (box != kWhole) {
    const Tensor& whole = w.in.TensorOf(tensor);
    const Box all = WholeOf(whole.shape), &held = w.out.program.boxes[box];
    const BoxRuns runs = RunsOf(whole, all, held, Intersection(all, held));
    copy.bytes = runs.Total();
    copy.rows = static_cast<std::int32_t>(runs.Rows());
    copy.fill = !Contains(all, held);
    if (copy.fill) copy.box = kWhole;  // the places that both buffers hold
  }
  WriteCopy(w, copy);
}

}  // namespace spillway

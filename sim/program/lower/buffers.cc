#include "sim/program/lower/buffers.h"

#include <algorithm>

namespace spillway {

BufferId AllocateBuffer(PlanWalk& w, Bytes bytes, TensorId tensor, StreamId stream) {
  const Bytes rounded = RoundToUnit(bytes);
  const BufferKind kind = tensor == kNoTensor ? BufferKind::kWorkspace : BufferKind::kTensor;
  const BufferId buffer = w.out.items.NewBuffer(rounded, tensor, kind, w.in.tables.device);
  w.out.items.Alloc(buffer, stream);
  LiveBytes& live = w.state.live;
  live.now += rounded;
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
  w.out.items.Free(buffer, stream);
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

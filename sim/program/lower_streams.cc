// Ops whose parts stream their operands: a tile in, the kernel, a tile out.
//
//   h2d      in 0 | in 1 | in 2 | in 3 |                      depth 3: while part k runs, part k+1 is copied in and part
//   compute         run 0 | run 1| run 2| run 3|              k-1 out. In list order the copies in come before the kernel
//   d2h                     out 0| out 1| out 2| out 3|       that they overlap with, and the tiles of part k-1 are freed
//                                                             behind part k: addresses are reused two parts later.
//
// A tile that two parts in a row have in common stays for the second one: it comes in once, and goes out behind the last of
// them (the sums over input channels, the input under a range of output channels).
#include <algorithm>

#include "sim/program/lower_walk.h"

namespace spillway {

namespace {

bool IsRead(Access access) { return access != Access::kWrite; }
bool IsWritten(Access access) { return access != Access::kRead; }

}  // namespace

void LowerWalk::LaunchStreamed(OpId op, BufferId workspace) {
  const std::span<const PartLaunch> parts = choice_.Of(op);
  const TileDepth depth(choice_.DepthOf(op));
  std::vector<Tiles> tiles(parts.size());
  std::size_t brought = 0;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    for (; brought < std::min(parts.size(), k + depth.ahead + 1); ++brought) {
      BringTiles(op, tiles, brought);
    }
    RunStreamedPart(op, k, tiles, workspace);
    FreeTiles(op, tiles, k, false);
    SendTiles(op, tiles, k);
    if (k >= depth.behind) FreeTiles(op, tiles, k - depth.behind, true);
  }
  for (std::size_t k = parts.size() - std::min(parts.size(), depth.behind); k < parts.size(); ++k) {
    FreeTiles(op, tiles, k, true);
  }
  for (const Touch& touch : tables_.Touches(op)) {
    if (Streams(op, touch.tensor)) at_[Index(touch.tensor)].host_valid = true;
  }
}

// Whether a part touches the same places of an operand as the one before it.
bool LowerWalk::Stays(OpId op, std::size_t part, std::size_t touch) const {
  const std::span<const PartLaunch> parts = choice_.Of(op);
  if (part == 0 || part >= parts.size()) return false;
  const std::vector<Box>& boxes = lowered_.program.boxes;
  return boxes[parts[part].BoxOf(touch)] == boxes[parts[part - 1].BoxOf(touch)];
}

void LowerWalk::RunStreamedPart(OpId op, std::size_t part, std::vector<Tiles>& tiles, BufferId workspace) {
  const std::span<const PartLaunch> parts = choice_.Of(op);
  const std::span<const Touch> touches = tables_.Touches(op);
  FindPlaces(op);
  for (std::size_t k = 0; k < touches.size(); ++k) {
    if (!Streams(op, touches[k].tensor)) continue;
    BufferId& tile = tiles[part][k];
    if (tile == kNoBuffer && Stays(op, part, k)) tile = tiles[part - 1][k];
    if (tile == kNoBuffer) tile = NewTile(touches[k].tensor, parts[part].BoxOf(k), kComputeStream);
    places_[k] = tile;
  }
  LaunchPart({.op = op, .launch = parts[part].launch, .first_part = part == 0, .last_part = part + 1 == parts.size()},
             parts[part], workspace);
  if (plan_.runtime.part_waits == PartWaits::kHost) out_.HostSync(kComputeStream);
}

BufferId LowerWalk::NewTile(TensorId tensor, BoxId box, StreamId stream) {
  const Tensor& whole = step_.tensors[Index(tensor)];
  const Bytes bytes = box == kWhole ? whole.bytes : BytesOf(whole, lowered_.program.boxes[box]);
  const BufferId tile = NewOnDevice(RoundToUnit(bytes), tensor, BufferKind::kTensor, stream);
  lowered_.program.buffers[tile].box = box;
  return tile;
}

// Tiles that are only written are allocated when their kernel is issued.
void LowerWalk::BringTiles(OpId op, std::vector<Tiles>& tiles, std::size_t part) {
  const PartLaunch& launch = choice_.Of(op)[part];
  const std::span<const Touch> touches = tables_.Touches(op);
  tiles[part].assign(touches.size(), kNoBuffer);
  for (std::size_t k = 0; k < touches.size(); ++k) {
    if (!Streams(op, touches[k].tensor) || !IsRead(touches[k].access)) continue;
    if (Stays(op, part, k)) {
      tiles[part][k] = tiles[part - 1][k];
      continue;
    }
    tiles[part][k] = NewTile(touches[k].tensor, launch.BoxOf(k), in_stream_);
    spillway::Copy copy = TileCopy(touches[k].tensor, launch.BoxOf(k));
    copy.from = HostOf(touches[k].tensor);
    copy.to = tiles[part][k];
    out_.Copy(copy, in_stream_);
  }
}

void LowerWalk::SendTiles(OpId op, const std::vector<Tiles>& tiles, std::size_t part) {
  const std::span<const Touch> touches = tables_.Touches(op);
  for (std::size_t k = 0; k < touches.size(); ++k) {
    if (tiles[part][k] == kNoBuffer || !IsWritten(touches[k].access) || Stays(op, part + 1, k)) continue;
    spillway::Copy copy = TileCopy(touches[k].tensor, choice_.Of(op)[part].BoxOf(k));
    copy.from = tiles[part][k];
    copy.to = HostOf(touches[k].tensor);
    copy.direction = Direction::kDeviceToHost;
    out_.Copy(copy, out_stream_);
  }
}

// Those that the op writes, on the stream that copies them out, or the others; what stays for the next part does.
void LowerWalk::FreeTiles(OpId op, const std::vector<Tiles>& tiles, std::size_t part, bool written) {
  const std::span<const Touch> touches = tables_.Touches(op);
  for (std::size_t k = 0; k < touches.size(); ++k) {
    const bool done = tiles[part][k] != kNoBuffer && !Stays(op, part + 1, k);
    if (done && IsWritten(touches[k].access) == written)
      FreeBuffer(tiles[part][k], written ? out_stream_ : kComputeStream);
  }
}

// Samples lie together on both sides, channels and rows in runs. What lies beyond the tensor is padding, zeros.
spillway::Copy LowerWalk::TileCopy(TensorId tensor, BoxId box) const {
  const Tensor& whole = step_.tensors[Index(tensor)];
  spillway::Copy copy{.bytes = whole.bytes, .box = box, .link = tables_.link, .direction = Direction::kHostToDevice};
  if (box == kWhole) return copy;
  const Box all = WholeOf(whole.shape), &tile = lowered_.program.boxes[box];
  const BoxRuns runs = RunsOf(whole, all, tile, Intersection(all, tile));
  copy.bytes = runs.Total();
  copy.rows = static_cast<std::int32_t>(runs.Rows());
  copy.fill = !Contains(all, tile);
  if (copy.fill) copy.box = kWhole;  // what both hold
  return copy;
}

BufferId LowerWalk::HostOf(TensorId tensor) {
  Residence& at = at_[Index(tensor)];
  if (at.host == kNoBuffer) {
    at.host = out_.NewBuffer(tables_.bytes[Index(tensor)], tensor, BufferKind::kHost, tables_.host);
  }
  return at.host;
}

}  // namespace spillway

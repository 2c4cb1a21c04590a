// Ops whose parts stream their operands: a tile in, the kernel, a tile out.
//
//   h2d      in 0 | in 1 | in 2 | in 3 |                      depth 3: while part k runs, part k+1 is copied in and part
//   compute         run 0 | run 1| run 2| run 3|              k-1 out. In list order the copies in come before the kernel
//   d2h                     out 0| out 1| out 2| out 3|       that they overlap with, and the tiles of part k-1 are freed
//                                                             behind part k: addresses are reused two parts later.
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
      BringTiles(op, parts[brought], tiles[brought]);
    }
    RunStreamedPart(op, k, tiles[k], workspace);
    FreeTiles(op, tiles[k], false);
    SendTiles(op, parts[k], tiles[k]);
    if (k >= depth.behind) FreeTiles(op, tiles[k - depth.behind], true);
  }
  for (std::size_t k = parts.size() - std::min(parts.size(), depth.behind); k < parts.size(); ++k) {
    FreeTiles(op, tiles[k], true);
  }
  for (const Touch& touch : tables_.Touches(op)) {
    if (Streams(op, touch.tensor)) at_[Index(touch.tensor)].host_valid = true;
  }
}

void LowerWalk::RunStreamedPart(OpId op, std::size_t part, Tiles& tiles, BufferId workspace) {
  const std::span<const PartLaunch> parts = choice_.Of(op);
  const std::span<const Touch> touches = tables_.Touches(op);
  FindPlaces(op);
  for (std::size_t k = 0; k < touches.size(); ++k) {
    if (!Streams(op, touches[k].tensor)) continue;
    if (tiles[k] == kNoBuffer) tiles[k] = NewTile(touches[k], parts[part].BoxOf(k), kComputeStream);
    places_[k] = tiles[k];
  }
  LaunchPart({.op = op, .launch = parts[part].launch, .first_part = part == 0, .last_part = part + 1 == parts.size()},
             parts[part], workspace);
  if (plan_.runtime.part_waits == PartWaits::kHost) out_.HostSync(kComputeStream);
}

BufferId LowerWalk::NewTile(const Touch& touch, BoxId box, StreamId stream) {
  const BufferId tile =
      NewOnDevice(RoundToUnit(TileCopy(touch.tensor, box).bytes), touch.tensor, BufferKind::kTensor, stream);
  lowered_.program.buffers[tile].box = box;
  return tile;
}

// Tiles that are only written are allocated when their kernel is issued.
void LowerWalk::BringTiles(OpId op, const PartLaunch& part, Tiles& tiles) {
  const std::span<const Touch> touches = tables_.Touches(op);
  tiles.assign(touches.size(), kNoBuffer);
  for (std::size_t k = 0; k < touches.size(); ++k) {
    if (!Streams(op, touches[k].tensor) || !IsRead(touches[k].access)) continue;
    tiles[k] = NewTile(touches[k], part.BoxOf(k), in_stream_);
    spillway::Copy copy = TileCopy(touches[k].tensor, part.BoxOf(k));
    copy.from = HostOf(touches[k].tensor);
    copy.to = tiles[k];
    out_.Copy(copy, in_stream_);
  }
}

void LowerWalk::SendTiles(OpId op, const PartLaunch& part, const Tiles& tiles) {
  const std::span<const Touch> touches = tables_.Touches(op);
  for (std::size_t k = 0; k < touches.size(); ++k) {
    if (tiles[k] == kNoBuffer || !IsWritten(touches[k].access)) continue;
    spillway::Copy copy = TileCopy(touches[k].tensor, part.BoxOf(k));
    copy.from = tiles[k];
    copy.to = HostOf(touches[k].tensor);
    copy.direction = Direction::kDeviceToHost;
    out_.Copy(copy, out_stream_);
  }
}

// Those that the op writes, on the stream that copies them out, or the others.
void LowerWalk::FreeTiles(OpId op, const Tiles& tiles, bool written) {
  const std::span<const Touch> touches = tables_.Touches(op);
  for (std::size_t k = 0; k < touches.size(); ++k) {
    if (tiles[k] == kNoBuffer || IsWritten(touches[k].access) != written) continue;
    FreeBuffer(tiles[k], written ? out_stream_ : kComputeStream);
  }
}

// Samples lie together on both sides: one run.
spillway::Copy LowerWalk::TileCopy(TensorId tensor, BoxId box) const {
  const Tensor& whole = step_.tensors[Index(tensor)];
  const Bytes bytes = box == kWhole ? whole.bytes : BytesOf(whole, lowered_.program.boxes[box]);
  return {.bytes = bytes, .box = box, .link = tables_.link, .direction = Direction::kHostToDevice};
}

BufferId LowerWalk::HostOf(TensorId tensor) {
  Residence& at = at_[Index(tensor)];
  if (at.host == kNoBuffer) {
    at.host = out_.NewBuffer(tables_.bytes[Index(tensor)], tensor, BufferKind::kHost, tables_.host);
  }
  return at.host;
}

}  // namespace spillway

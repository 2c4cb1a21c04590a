// One op by itself. A tile that two parts in a row share stays for the second part: it comes in once, and goes out
// after the last part that has it. Examples are sums over input channels, and the input below several ranges of output
// channels:
//
//   part      0            1            2            3            rows a, b; output channels 0, 1
//   input     x[a] ------- stays        x[b] ------- stays        comes in for parts 0 and 2
//   output    y[a, 0]      y[a, 1]      y[b, 0]      y[b, 1]      goes out after each part
#include <span>
#include <vector>

#include "sim/program/lower/buffers.h"
#include "sim/program/lower/kernels.h"

namespace spillway {

namespace {

bool IsRead(Access access) { return access != Access::kWrite; }
bool IsWritten(Access access) { return access != Access::kRead; }

class StreamedOp {
 public:
  StreamedOp(PlanWalk& w, OpId op)
      : w_(w),
        launch_(w.FirstRun(op)),
        touches_(w.in.tables.Touches(op)),
        tiles_(launch_.parts.size(), std::vector<BufferId>(touches_.size(), kNoBuffer)) {}

  // Tiles that are only written are allocated when their kernel is issued.
  void CopyIn(std::size_t part) {
    for (std::size_t k = 0; k < touches_.size(); ++k) {
      if (!Streams(k) || !IsRead(touches_[k].access)) continue;
      if (StaysFor(part, k)) {
        tiles_[part][k] = tiles_[part - 1][k];
        continue;
      }
      tiles_[part][k] = AllocateTile(w_, touches_[k].tensor, BoxOf(part, k), w_.in.in_stream);
      CopyTile(w_, touches_[k].tensor, BoxOf(part, k), tiles_[part][k], Direction::kHostToDevice);
    }
  }

  void Run(std::size_t part, BufferId workspace) {
    for (std::size_t k = 0; k < touches_.size(); ++k) {
      BufferId& tile = tiles_[part][k];
      if (!Streams(k) || tile != kNoBuffer) continue;
      tile = StaysFor(part, k) ? tiles_[part - 1][k]
                               : AllocateTile(w_, touches_[k].tensor, BoxOf(part, k), kComputeStream);
    }
    RunPart(w_, launch_, part, workspace, tiles_[part]);
  }

  // Frees tiles that were only read, copies the others out.
  void Leave(std::size_t part) {
    ForEachDone(part, false, [&](TensorId, BoxId, BufferId tile) { FreeBuffer(w_, tile, kComputeStream); });
    ForEachDone(part, true, [&](TensorId tensor, BoxId box, BufferId tile) {
      CopyTile(w_, tensor, box, tile, Direction::kDeviceToHost);
    });
  }

  void FreeCopiedOut(std::size_t part) {
    ForEachDone(part, true, [&](TensorId, BoxId, BufferId tile) { FreeCopiedTile(w_, tile); });
  }

 private:
  bool Streams(std::size_t touch) const { return w_.in.Streams(launch_.op, touches_[touch].tensor); }
  BoxId BoxOf(std::size_t part, std::size_t touch) const { return launch_.parts[part].BoxOf(touch); }

  // The part touches the same places as the part before it.
  bool StaysFor(std::size_t part, std::size_t touch) const {
    if (part == 0 || part >= launch_.parts.size()) return false;
    const std::vector<Box>& boxes = w_.out.program.boxes;
    return boxes[BoxOf(part, touch)] == boxes[BoxOf(part - 1, touch)];
  }

  // Calls visit(tensor, box, tile) for tiles of a part that ran, written or only read, that the next part does not
  // need.
  template <typename Visit>
  void ForEachDone(std::size_t part, bool written, Visit visit) const {
    for (std::size_t k = 0; k < touches_.size(); ++k) {
      const BufferId tile = tiles_[part][k];
      if (tile == kNoBuffer || IsWritten(touches_[k].access) != written || StaysFor(part + 1, k)) continue;
      visit(touches_[k].tensor, BoxOf(part, k), tile);
    }
  }

  PlanWalk& w_;
  const OpLaunch launch_;
  const std::span<const StepTables::Touch> touches_;
  std::vector<std::vector<BufferId>> tiles_;  // by part, by touch; kNoBuffer: it lies in place, or is not there yet
};

}  // namespace

void RunStreamed(PlanWalk& w, OpId op, BufferId workspace) {
  StreamedOp streamed(w, op);
  const auto run = [&](std::size_t part) {
    streamed.Run(part, workspace);
    streamed.Leave(part);
  };
  PipelineParts(
      w.in.launches.FirstRun(op).parts.size(), w.in.launches.DepthOf(op),
      [&](std::size_t part) { streamed.CopyIn(part); }, run, [&](std::size_t part) { streamed.FreeCopiedOut(part); });
  for (const StepTables::Touch& touch : w.in.tables.Touches(op)) {
    if (w.in.Streams(op, touch.tensor)) w.state[touch.tensor].host_valid = true;
  }
}

}  // namespace spillway

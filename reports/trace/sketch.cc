#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "reports/trace/trace.h"

namespace spillway {

namespace {

// Nanoseconds of each column by the character that stands for them.
class SketchLane {
 public:
  SketchLane(int columns, Nanos makespan) : columns_(static_cast<std::size_t>(columns)), makespan_(makespan) {}

  void Add(char what, Nanos start, Nanos end) {
    for (std::size_t k = ColumnOf(start); k < columns_.size() && Begin(k) < end; ++k) {
      columns_[k][what] += std::min(end, Begin(k + 1)) - std::max(start, Begin(k));
    }
  }
  // What takes most of each column; `idle` where less than half of it is taken.
  std::string Text(char idle) const {
    std::string text;
    for (std::size_t k = 0; k < columns_.size(); ++k) {
      Nanos taken = 0, most = 0;
      char shown = idle;
      for (const auto& [what, time] : columns_[k]) {
        taken += time;
        if (time > most) shown = what;
        most = std::max(most, time);
      }
      text += 2 * taken >= Begin(k + 1) - Begin(k) ? shown : idle;
    }
    return text;
  }
  std::size_t ColumnOf(Nanos time) const {
    const auto k = static_cast<std::size_t>(static_cast<double>(time) / static_cast<double>(makespan_) *
                                            static_cast<double>(columns_.size()));
    // Rounding must not leave a column out.
    return k > 0 && Begin(std::min(k, columns_.size())) > time ? k - 1 : std::min(k, columns_.size() - 1);
  }

 private:
  Nanos Begin(std::size_t column) const {
    return static_cast<Nanos>(static_cast<double>(makespan_) * static_cast<double>(column) /
                              static_cast<double>(columns_.size()));
  }
  std::vector<std::map<char, Nanos>> columns_;
  Nanos makespan_;
};

char StallCharacter(const Stall& stall) {
  if (stall.cause == Cause::kSwapIn) return 'i';
  if (stall.cause == Cause::kSwapOut) return 'o';
  return stall.host ? 'h' : '.';
}

// The most of each column; a column without a change holds what was there before.
std::string MemoryText(const Timeline& timeline, Bytes limit, int columns) {
  static constexpr const char* kEighths[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const SketchLane scale(columns, timeline.makespan);
  std::vector<Bytes> most(static_cast<std::size_t>(columns), -1), last = most;
  for (const Timeline::MemoryPoint& point : timeline.memory) {
    const std::size_t k = scale.ColumnOf(point.time);
    most[k] = std::max(most[k], point.live);
    last[k] = point.live;
  }
  std::string text;
  Bytes held = 0;
  for (std::size_t k = 0; k < most.size(); ++k) {
    const Bytes live = std::max(most[k], held);
    if (last[k] >= 0) held = last[k];
    const double share = limit > 0 ? static_cast<double>(live) / static_cast<double>(limit) : 0;
    text += kEighths[std::clamp(static_cast<int>(share * 8 + 0.5), live > 0 ? 1 : 0, 8)];
  }
  return text;
}

}  // namespace

std::string TimelineSketch(const Timeline& timeline, const Program& program, Bytes limit, int columns) {
  if (timeline.makespan <= 0) return "";
  SketchLane compute(columns, timeline.makespan), out(columns, timeline.makespan), in(columns, timeline.makespan);
  for (const Span& span : timeline.spans) {
    const Instruction at = program.code[span.instruction];
    if (at.opcode == Opcode::kKernel) {
      compute.Add(program.kernels[at.arg].recomputation ? 'r' : '#', span.start, span.end);
    } else if (at.opcode == Opcode::kCopy) {
      const bool to_host = program.copies[at.arg].direction == Direction::kDeviceToHost;
      (to_host ? out : in).Add(to_host ? '>' : '<', span.start, span.end);
    }
  }
  for (const Stall& stall : timeline.stalls) compute.Add(StallCharacter(stall), stall.start, stall.end);
  std::string copies = out.Text(' ');
  const std::string back = in.Text(' ');
  for (std::size_t k = 0; k < copies.size(); ++k) {
    if (back[k] != ' ') copies[k] = copies[k] == ' ' ? '<' : '=';
  }
  return fmt::format("  compute  {}\n  copies   {}\n  memory   {}\n", compute.Text('.'), copies,
                     MemoryText(timeline, limit, columns));
}

}  // namespace spillway

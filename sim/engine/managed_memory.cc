#include "sim/engine/managed_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

#include "hw/text/lists.h"

namespace spillway {

namespace {

OtherMemory::Kind KindOf(MemoryModel memory) {
  return memory == MemoryModel::kManaged ? OtherMemory::Kind::kManagedTouch : OtherMemory::Kind::kManagedPrefetch;
}

// Which pages of the arena are on the device. Those touched longest ago are the first ones in the queue whose touch is
// still their last.
class Pages {
 public:
  Pages(const Program& program, Bytes capacity)
      : program_(program), most_(std::max<Bytes>(1, capacity / kManagedPage)) {
    const auto pages = static_cast<std::size_t>(program.PeakAddress() / kManagedPage) + 1;
    touched_.assign(pages, 0);
    there_.assign(pages, false);
  }

  struct Moved {
    std::vector<Bytes> in;  // by operand that was not all there
    Bytes out = 0, touched = 0;
  };

  // The distinct buffers that one kernel or copy touches, each from its first byte to its last.
  Moved Touch(const std::vector<BufferId>& buffers) {
    Moved moved;
    for (const BufferId b : buffers) {
      const Buffer& buffer = program_.buffers[b];
      if (buffer.bytes == 0) continue;
      Bytes in = 0;
      const auto last = static_cast<std::size_t>((buffer.offset + buffer.bytes - 1) / kManagedPage);
      for (auto page = static_cast<std::size_t>(buffer.offset / kManagedPage); page <= last; ++page) {
        if (!there_[page]) {
          in += made_ ? kManagedPage : 0;
          if (count_ == most_) moved.out += SendAway();
          there_[page] = true;
          ++count_;
        }
        touched_[page] = ++now_;
        queue_.push_back({page, now_});
      }
      if (in > 0) moved.in.push_back(in);
      moved.touched += buffer.bytes;
    }
    return moved;
  }
  // From now on every page has been written once: what is not there is on the host.
  void AllMade() { made_ = true; }

 private:
  Bytes SendAway() {
    while (!there_[queue_.front().page] || touched_[queue_.front().page] != queue_.front().at) queue_.pop_front();
    there_[queue_.front().page] = false;
    queue_.pop_front();
    --count_;
    return kManagedPage;
  }

  struct Known {
    std::size_t page;
    std::int64_t at;
  };
  const Program& program_;
  const Bytes most_;
  Bytes count_ = 0;
  bool made_ = false;
  std::vector<std::int64_t> touched_;
  std::vector<bool> there_;
  std::deque<Known> queue_;
  std::int64_t now_ = 0;
};

std::vector<BufferId> BuffersOf(const Program& program, const Instruction& in) {
  std::vector<BufferId> buffers;
  if (in.opcode == Opcode::kCopy) {
    const Copy& copy = program.copies[in.arg];
    buffers.push_back(copy.direction == Direction::kHostToDevice ? copy.to : copy.from);
  }
  if (in.opcode == Opcode::kKernel) {
    const Kernel& kernel = program.kernels[in.arg];
    for (std::uint32_t k = 0; k < kernel.operand_count; ++k) {
      AddOnce(buffers, program.operands[kernel.operands + k].buffer);
    }
  }
  return buffers;
}

}  // namespace

std::string MissingManagedCurves(const CostModel& costs, MemoryModel memory, int device) {
  const Link& link = costs.machine().LinkOf(device);
  if (link.FindOtherMemory(KindOf(memory)) != nullptr) return "";
  return fmt::format("unified_memory: {} has no curve {} on its link '{}'", costs.machine().name,
                     OtherMemoryName(KindOf(memory)), link.name);
}

Nanos ManagedFaults::AddTo(std::vector<Nanos>& durations, double range) const {
  Nanos sum = 0;
  std::vector<Nanos> without(waits.size());
  for (std::size_t k = 0; k < waits.size(); ++k) {
    without[k] = waits[k].behind == waits[k].instruction ? 0 : durations[waits[k].behind];
  }
  for (std::size_t k = 0; k < waits.size(); ++k) {
    const auto arrives = static_cast<double>(waits[k].arrives), leaves = static_cast<double>(waits[k].leaves);
    const double moves = range < 0 ? arrives + (1 + range) * leaves : (1 + range) * (arrives + leaves);
    const Nanos wait = std::max<Nanos>(0, std::llround(moves) - without[k]);
    durations[waits[k].instruction] += wait;
    sum += wait;
  }
  return sum;
}

ManagedFaults FaultsOf(const Program& program, const CostModel& costs, MemoryModel memory, Bytes capacity, int device) {
  const Link& link = costs.machine().LinkOf(device);
  const bool prefetch = memory == MemoryModel::kManagedPrefetch;
  const TransferCurve& arrives =
      link.FindOtherMemory(KindOf(memory))->curves[static_cast<std::size_t>(Direction::kHostToDevice)];
  const OtherMemory* const prefetches = link.FindOtherMemory(OtherMemory::Kind::kManagedPrefetch);
  const TransferCurve& leaves =
      (prefetches == nullptr ? link.curves : prefetches->curves)[static_cast<std::size_t>(Direction::kDeviceToHost)];
  Pages pages(program, capacity);
  ManagedFaults faults;
  for (const bool counted : {false, true}) {
    if (counted) pages.AllMade();
    std::uint32_t last = 0;
    Bytes last_touched = capacity;
    for (std::uint32_t i = 0; i < program.code.size(); ++i) {
      const Instruction& in = program.code[i];
      if (in.opcode != Opcode::kKernel && in.opcode != Opcode::kCopy) continue;
      const Pages::Moved moved = pages.Touch(BuffersOf(program, in));
      if (in.opcode != Opcode::kKernel) continue;
      const Bytes bytes = std::accumulate(moved.in.begin(), moved.in.end(), Bytes{0});
      if (counted && bytes + moved.out > 0) {
        ManagedFaults::Wait wait{.instruction = i, .behind = i};
        if (prefetch) {
          for (const Bytes operand : moved.in) wait.arrives += arrives.Time(operand);
          if (moved.touched + last_touched <= capacity) wait.behind = last;
        } else if (bytes > 0) {
          wait.arrives = arrives.Time(bytes);
        }
        wait.leaves = std::llround(static_cast<double>(moved.out) / leaves.Rate());
        faults.waits.push_back(wait);
        faults.in += bytes;
        faults.out += moved.out;
      }
      last = i;
      last_touched = moved.touched;
    }
  }
  return faults;
}

}  // namespace spillway

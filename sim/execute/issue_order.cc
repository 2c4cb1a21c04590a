#include <algorithm>
#include <cassert>

#include "hw/text/lists.h"
#include "model/util/random.h"
#include "sim/execute/execute.h"

namespace spillway {

namespace {

using InstructionIndex = std::uint32_t;
constexpr InstructionIndex kNone = 0xffffffffu;
constexpr std::size_t kChanges = 3;  // of priorities: finds races that need up to four places to come together

class LinearExtension {
 public:
  LinearExtension(const Program& program, std::uint64_t seed)
      : program_(program), random_(seed), lanes_(program.streams.size() + 1), next_(lanes_.size(), 0) {
    std::vector<InstructionIndex> record(program.events, kNone);
    InstructionIndex sync = kNone;
    for (InstructionIndex i = 0; i < program.code.size(); ++i) {
      const Instruction& in = program.code[i];
      const bool waits = in.opcode == Opcode::kWait || in.opcode == Opcode::kHostSync;
      after_record_.push_back(waits ? record[in.arg] : kNone);
      after_sync_.push_back(sync);
      if (in.opcode == Opcode::kRecord) record[in.arg] = i;
      if (in.opcode == Opcode::kHostSync) sync = i;
      lanes_[in.opcode == Opcode::kHostSync ? lanes_.size() - 1 : in.stream].push_back(i);
    }
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) priority_.push_back(lane);
  }

  std::vector<InstructionIndex> Run() {
    const std::size_t count = program_.code.size();
    std::vector<std::size_t> changes(kChanges);
    for (std::size_t& change : changes)
      change = random_.Below(static_cast<std::uint32_t>(std::max<std::size_t>(count, 1)));
    std::vector<InstructionIndex> order;
    issued_.assign(count, false);
    Shuffle(priority_, random_);
    while (order.size() < count) {
      if (Contains(changes, order.size())) Shuffle(priority_, random_);
      const InstructionIndex i = Next();
      issued_[i] = true;
      order.push_back(i);
    }
    return order;
  }

 private:
  bool Ready(InstructionIndex i) const {
    const auto done = [this](InstructionIndex before) { return before == kNone || issued_[before]; };
    return done(after_record_[i]) && done(after_sync_[i]);
  }
  // There always is one: the first instruction in list order that is left.
  InstructionIndex Next() {
    for (const std::size_t lane : priority_) {
      if (next_[lane] < lanes_[lane].size() && Ready(lanes_[lane][next_[lane]])) return lanes_[lane][next_[lane]++];
    }
    assert(false && "list order is one of the orders");
    return kNone;
  }

  const Program& program_;
  Random random_;
  std::vector<std::vector<InstructionIndex>> lanes_;         // by stream, then the host
  std::vector<std::size_t> next_;                            // by lane
  std::vector<std::size_t> priority_;                        // lanes, highest first
  std::vector<InstructionIndex> after_record_, after_sync_;  // by instruction
  std::vector<bool> issued_;
};

}  // namespace

std::vector<std::uint32_t> ShuffledOrder(const Program& program, std::uint64_t seed) {
  return LinearExtension(program, seed).Run();
}

}  // namespace spillway

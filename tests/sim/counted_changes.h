// Small changes to Programs of counted memory (clause 5b of sim/program/program.h). The verdict of Verify on each is
// compared with a checker that looks at all pairs of accesses and adds up all bytes.
#ifndef SPILLWAY_TESTS_SIM_COUNTED_CHANGES_H_
#define SPILLWAY_TESTS_SIM_COUNTED_CHANGES_H_

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "model/util/random.h"
#include "sim/verify/verify.h"
#include "tests/reference_order.h"

namespace spillway {

struct CountedChange {
  const char* what = "";
  Program program;
  Bytes capacity = 0;
};

class CountedChanges {
 public:
  CountedChanges(const Program& program, Bytes capacity, Random& random)
      : program_(program), capacity_(capacity), random_(random) {}

  CountedChange Draw() {
    switch (random_.Below(7)) {
      case 0:
        return Move("free elsewhere", Any(Opcode::kFree));
      case 1:
        return Move("alloc elsewhere", Any(Opcode::kAlloc));
      case 2:
        return Drop();
      case 3:
        return OtherStream();
      case 4:
        return OtherBytes();
      case 5:
        return {"less memory", program_, capacity_ - 1 - random_.Below(2048)};
      default:
        return {"more memory", program_, capacity_ + random_.Below(2048)};
    }
  }

 private:
  std::size_t Any(Opcode opcode) {
    for (;;) {
      const std::size_t i = random_.Below(static_cast<std::uint32_t>(program_.code.size()));
      if (program_.code[i].opcode == opcode) return i;
    }
  }
  // Up to twenty places on; events keep their order.
  CountedChange Move(const char* what, std::size_t i) {
    CountedChange changed{what, program_, capacity_};
    auto& code = changed.program.code;
    const Instruction in = code[i];
    const std::size_t first = i > 20 ? i - 20 : 0, end = std::min(code.size(), i + 20);
    code.erase(code.begin() + static_cast<std::ptrdiff_t>(i));
    const std::size_t to = first + random_.Below(static_cast<std::uint32_t>(end - first));
    code.insert(code.begin() + static_cast<std::ptrdiff_t>(to), in);
    return changed;
  }
  CountedChange Drop() {
    CountedChange changed{"no wait", program_, capacity_};
    changed.program.code.erase(changed.program.code.begin() + static_cast<std::ptrdiff_t>(Any(Opcode::kWait)));
    return changed;
  }
  CountedChange OtherStream() {
    CountedChange changed{"other stream", program_, capacity_};
    const std::size_t i = Any(random_.Below(2) == 0 ? Opcode::kAlloc : Opcode::kFree);
    changed.program.code[i].stream = static_cast<StreamId>(1 + random_.Below(2));
    return changed;
  }
  CountedChange OtherBytes() {
    CountedChange changed{"other bytes", program_, capacity_};
    const Bytes more[] = {512, 1024, 4096, 65536, 1, 511};
    changed.program.buffers[program_.code[Any(Opcode::kAlloc)].arg].bytes += more[random_.Below(6)];
    return changed;
  }

  const Program& program_;
  Bytes capacity_;
  Random& random_;
};

// By kind of change: how many were safe, and how many were not.
using CountedTally = std::map<std::string, std::pair<int, int>>;

// Of one plan's Program within `capacity` bytes, `times` changes.
inline void JudgeCounted(const TrainingStep& step, const Program& program, Bytes capacity, int times, Random& random,
                         CountedTally& tally) {
  REQUIRE(Verify(program, &step, capacity).empty());
  REQUIRE(OrderHolds(program, capacity));
  CountedChanges changes(program, capacity, random);
  for (int k = 0; k < times; ++k) {
    const CountedChange changed = changes.Draw();
    const bool holds = OrderHolds(changed.program, changed.capacity);
    auto& [safe, unsafe] = tally[changed.what];
    ++(holds ? safe : unsafe);
    if (Verify(changed.program, &step, changed.capacity).empty() == holds) continue;
    INFO(DumpProgram(program, &step));
    FAIL_CHECK(changed.what << " within " << changed.capacity << ": all pairs say " << (holds ? "safe" : "unsafe"));
  }
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SIM_COUNTED_CHANGES_H_

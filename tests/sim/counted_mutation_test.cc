// Verify on counted memory (clause 5b of sim/program/program.h): small changes to Programs of random plans, judged by a
// checker that looks at all pairs and adds up all bytes.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "model/cost/cost_model.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/program/lower/lower.h"
#include "sim/verify/verify.h"
#include "tests/random_plan.h"
#include "tests/reference_order.h"

namespace spillway {
namespace {

struct Changed {
  const char* what = "";
  Program program;
  Bytes capacity = 0;
};

class Changes {
 public:
  Changes(const Program& program, Bytes capacity, Random& random)
      : program_(program), capacity_(capacity), random_(random) {}

  Changed Draw() {
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
  Changed Move(const char* what, std::size_t i) {
    Changed changed{what, program_, capacity_};
    auto& code = changed.program.code;
    const Instruction in = code[i];
    const std::size_t first = i > 20 ? i - 20 : 0, end = std::min(code.size(), i + 20);
    code.erase(code.begin() + static_cast<std::ptrdiff_t>(i));
    const std::size_t to = first + random_.Below(static_cast<std::uint32_t>(end - first));
    code.insert(code.begin() + static_cast<std::ptrdiff_t>(to), in);
    return changed;
  }
  Changed Drop() {
    Changed changed{"no wait", program_, capacity_};
    changed.program.code.erase(changed.program.code.begin() + static_cast<std::ptrdiff_t>(Any(Opcode::kWait)));
    return changed;
  }
  Changed OtherStream() {
    Changed changed{"other stream", program_, capacity_};
    const std::size_t i = Any(random_.Below(2) == 0 ? Opcode::kAlloc : Opcode::kFree);
    changed.program.code[i].stream = static_cast<StreamId>(1 + random_.Below(2));
    return changed;
  }
  Changed OtherBytes() {
    Changed changed{"other bytes", program_, capacity_};
    const Bytes more[] = {512, 1024, 4096, 65536, 1, 511};
    changed.program.buffers[program_.code[Any(Opcode::kAlloc)].arg].bytes += more[random_.Below(6)];
    return changed;
  }

  const Program& program_;
  Bytes capacity_;
  Random& random_;
};

// Of one plan's Program in as little memory as it runs in, a little more for some.
void Judge(const TrainingStep& step, const Program& program, Bytes capacity, Random& random,
           std::map<std::string, std::pair<int, int>>& tally) {
  REQUIRE(Verify(program, &step, capacity).empty());
  REQUIRE(OrderHolds(program, capacity));
  Changes changes(program, capacity, random);
  for (int k = 0; k < 60; ++k) {
    const Changed changed = changes.Draw();
    const bool holds = OrderHolds(changed.program, changed.capacity);
    auto& [safe, unsafe] = tally[changed.what];
    ++(holds ? safe : unsafe);
    if (Verify(changed.program, &step, changed.capacity).empty() == holds) continue;
    INFO(DumpProgram(program, &step));
    FAIL_CHECK(changed.what << " within " << changed.capacity << ": all pairs say " << (holds ? "safe" : "unsafe"));
  }
}

TEST_CASE("changed Programs of counted memory are refused exactly where order or bytes break") {
  Random random(51);
  std::map<std::string, std::pair<int, int>> tally;
  const TrainingStep step = BuildTrainingStep(BuildZooNetwork("cifar-alexnet", {.batch = 2}));
  const Machine machine = LoadMachine("unit");
  const CostModel costs(machine);
  const StepTables tables(step, costs);
  for (int k = 0; k < 12; ++k) {
    const Plan plan = RandomPlan(step, {.memory = MemoryModel::kCounted}, 15 + 10 * random.Below(6), random);
    const Bytes least = Lower(plan, tables, 1).list_peak;
    const Bytes capacity = k % 2 == 0 ? least : least + least / 20;
    const Lowered lowered = Lower(plan, tables, 1, capacity);
    REQUIRE(lowered.counted_peak <= capacity);
    Judge(step, lowered.program, capacity, random, tally);
  }
  int all = 0;
  for (const auto& [what, counts] : tally) {
    INFO(what << ": " << counts.first << " safe, " << counts.second << " not");
    CHECK((counts.first >= 5 || what == "less memory" || what == "no wait" || what == "other stream"));
    CHECK((counts.second >= 5 || what == "more memory"));
    all += counts.first + counts.second;
  }
  CHECK(all >= 300);
}

}  // namespace
}  // namespace spillway

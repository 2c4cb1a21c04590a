// Applies all mutations to a safe Program and checks every verdict of Verify, counting.
#ifndef SPILLWAY_TESTS_SIM_JUDGE_MUTATIONS_H_
#define SPILLWAY_TESTS_SIM_JUDGE_MUTATIONS_H_

#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "sim/verify/verify.h"
#include "tests/mutations.h"

namespace spillway {

struct MutationTally {
  std::map<std::string, int> rejected, accepted;  // by kind of mutation
  int Total() const {
    int sum = 0;
    for (const auto* counts : {&rejected, &accepted}) {
      for (const auto& [what, count] : *counts) sum += count;
    }
    return sum;
  }
  std::string Text() const {
    std::string text = std::to_string(Total()) + " mutations;";
    for (const auto& [what, count] : rejected) text += " " + what + ": " + std::to_string(count);
    text += "; safe:";
    for (const auto& [what, count] : accepted) text += " " + what + ": " + std::to_string(count);
    return text;
  }
};

// Applies all mutations and checks every verdict.
inline void Judge(const Program& program, const TrainingStep* step, MutationTally& tally) {
  REQUIRE(Verify(program, step).empty());
  ForEachMutation(program, step, [&](const Mutation& mutation, const Program& changed) {
    const bool refused = !Verify(changed, step).empty();
    const bool must = mutation.verdict == MutationVerdict::kReject;
    ++(must ? tally.rejected : tally.accepted)[mutation.what];
    if (refused == must) return;
    INFO(DumpProgram(program, step));
    FAIL_CHECK(mutation.what << " " << mutation.at << (must ? " must be refused " : " is safe: ") << mutation.reason);
  });
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SIM_JUDGE_MUTATIONS_H_

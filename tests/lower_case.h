// What the tests of `lower` share: steps by name, plans in one line, Programs as short text.
#ifndef SPILLWAY_TESTS_LOWER_CASE_H_
#define SPILLWAY_TESTS_LOWER_CASE_H_

#include <catch2/catch.hpp>
#include <initializer_list>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "sim/program/lower/lower.h"
#include "tests/step_builder.h"

namespace spillway {

// A step on a machine on which a byte takes 1 ns to copy.
struct LowerCase {
  explicit LowerCase(TrainingStep s, Machine m = HandMachine()) : step(std::move(s)), machine(std::move(m)) {}
  LowerCase(const LowerCase&) = delete;
  OpId Op(const std::string& name) const {
    for (std::size_t op = 0; op < step.ops.size(); ++op) {
      if (step.ops[op].name == name) return static_cast<OpId>(op);
    }
    FAIL("no op " << name);
    return kNoOp;
  }
  TensorId Tensor(const std::string& name) const {
    for (std::size_t t = 0; t < step.tensors.size(); ++t) {
      if (step.tensors[t].name == name) return static_cast<TensorId>(t);
    }
    FAIL("no tensor " << name);
    return kNoTensor;
  }
  GapDecision Swap(const char* tensor, const char* after, const char* before, const char* in_at = nullptr) const {
    GapDecision gap;
    gap.tensor = Tensor(tensor);
    gap.after = gap.out_after = Op(after);
    gap.before = Op(before);
    gap.in_at = in_at == nullptr ? gap.before : Op(in_at);
    return gap;
  }
  GapDecision Recompute(const char* tensor, const char* after, const char* before, bool keep_result = true) const {
    GapDecision gap;
    gap.tensor = Tensor(tensor);
    gap.after = Op(after);
    gap.before = Op(before);
    gap.action = GapAction::kRecompute;
    gap.keep_result = keep_result;
    return gap;
  }
  Plan Of(std::vector<GapDecision> gaps, const Runtime& runtime = {}) const {
    Plan plan;
    plan.network = step.network;
    plan.batch = step.batch;
    plan.runtime = runtime;
    plan.gaps = std::move(gaps);
    REQUIRE(CheckPlan(plan, step) == std::vector<std::string>{});
    return plan;
  }
  Lowered Lowers(const Plan& plan, Bytes live_limit = 0) const {
    return Lower(plan, StepTables(step, costs), live_limit);
  }

  TrainingStep step;
  Machine machine;
  CostModel costs{machine};
};

// The text without every one of these words.
inline std::string Without(std::string text, std::initializer_list<const char*> words) {
  for (const std::string word : words) {
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at))
      text.erase(at, word.size());
  }
  return text;
}

// A line per kernel or change of stream, without numbers, passes and the size that all buffers have:
//   h2d: alloc b1:data; copy b0:data:host -> b1:data 10 B; record e0
//   compute: alloc b2:m1; wait e0 (swap-in); f1 r=b1:data w=b2:m1
inline std::string Text(const LowerCase& c, const Program& program) {
  std::istringstream lines(DumpProgram(program, &c.step));
  std::string text = "\n", previous, line, stream, word;
  while (std::getline(lines, line)) {
    std::istringstream words(Without(line, {"kernel ", ":forward", ":backward", " 512 B"}));
    std::size_t number = 0;
    REQUIRE(words >> number >> stream);
    std::string what;
    while (words >> word) what += (what.empty() ? "" : " ") + word;
    const bool same_line = stream == previous;
    text += same_line ? "; " + what : (text.size() > 1 ? "\n" : "") + stream + ": " + what;
    previous = what.find("=b") != std::string::npos ? "" : stream;  // a kernel ends the line
  }
  return text + "\n";
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_LOWER_CASE_H_

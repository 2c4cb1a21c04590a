// Convolutions in parts, computed for real: the same numbers as whole ones, tiles copied in with their padding included.
#include <catch2/catch.hpp>

#include "sim/verify/verify.h"
#include "tests/boxed_network.h"
#include "tests/boxed_program.h"
#include "tests/cpu_training.h"

namespace spillway {
namespace {

Program Divided(const CpuCase& c, const Program& whole, const std::vector<std::string>& passes) {
  BoxedProgram boxed(whole, c.step);
  for (OpId op = 0; op < static_cast<OpId>(c.step.ops.size()); ++op) {
    const Op& o = c.step.ops[Index(op)];
    const bool wanted = std::find(passes.begin(), passes.end(), PassName(o.pass)) != passes.end();
    if (o.kind == OpKind::kConvolution && wanted) boxed.Divide(op, SampleParts(o, 2));
  }
  REQUIRE(FirstViolation(boxed.program, c.step) == "");
  return boxed.program;
}

}  // namespace

// Bit for bit on some processors; on one with AVX2 alone the library sums in another order where there are fewer samples.
TEST_CASE("forward and data passes in halves of the batch are the whole ones within rounding") {
  const CpuCase c(BoxedNetwork());
  const Program whole = c.InCore().program;
  const ExecuteOptions options{.iterations = 3, .debug = true};
  const Trained expected = Train(c, whole, options);
  REQUIRE(Says(expected).empty());
  CheckClose(expected, Train(c, Divided(c, whole, {"forward", "backward_data"}), options), 1e-5);
}

TEST_CASE("filter gradients that halves of the batch add up are the whole ones within rounding") {
  const CpuCase c(BoxedNetwork());
  const Program whole = c.InCore().program;
  const ExecuteOptions options{.iterations = 1, .debug = true};
  const Trained expected = Train(c, whole, options);
  const Trained parts = Train(c, Divided(c, whole, {"forward", "backward_data", "backward_filter"}), options);
  REQUIRE(Says(parts) == "");
  REQUIRE(parts.losses.size() == 1);
  CHECK(parts.losses[0] == Approx(expected.losses[0]).epsilon(1e-6));
  int compared = 0;
  for (const auto& [name, bytes] : expected.tensors) {
    if (name.find("weight") == name.npos) continue;
    INFO(name);
    CHECK(Distance(bytes, parts.tensors.at(name)) < 1e-5);
    ++compared;
  }
  CHECK(compared >= 4);
}

TEST_CASE("a filter gradient that lacks a half is another one") {
  const CpuCase c(BoxedNetwork());
  const Program whole = c.InCore().program;
  const ExecuteOptions options{.iterations = 1, .debug = true};
  Program lacking = Divided(c, whole, {"backward_filter"});
  const BoxedProgram boxed(lacking, c.step);
  const std::size_t second = boxed.InstructionOf(OpNamed(c.step, "strided:backward_filter"), 1);
  lacking.code.erase(lacking.code.begin() + static_cast<std::ptrdiff_t>(second));
  REQUIRE_FALSE(Verify(lacking, &c.step).empty());
  const Trained expected = Train(c, whole, options), parts = Train(c, lacking, options);
  REQUIRE(Says(parts) == "");
  CHECK(Distance(expected.tensors.at("strided:weight"), parts.tensors.at("strided:weight")) > 1e-4);
}

TEST_CASE("tiles that are copied in with their padding give what the whole gives") {
  const CpuCase c(BoxedNetwork());
  const Program whole = c.InCore().program;
  const ExecuteOptions options{.iterations = 2, .debug = true};
  const Trained expected = Train(c, whole, options);
  for (const std::string& op :
       {std::string("strided:forward"), std::string("plain:forward"), std::string("grouped:forward")}) {
    for (const std::int64_t parts : {1, 2, 4}) {
      INFO(op << " in " << parts);
      BoxedProgram boxed(whole, c.step);
      boxed.Stream(OpNamed(c.step, op), parts);
      REQUIRE(FirstViolation(boxed.program, c.step) == "");
      const Trained tiles = Train(c, boxed.program, options);
      REQUIRE(Says(tiles) == "");
      for (const auto& [name, bytes] : expected.tensors) {
        INFO(name);
        CHECK(Distance(bytes, tiles.tensors.at(name)) < 1e-5);
      }
    }
  }
}

TEST_CASE("parts whose places do not lie together are brought together") {
  const CpuCase c(BoxedNetwork());
  const Program whole = c.InCore().program;
  const ExecuteOptions options{.iterations = 2, .debug = true};
  const Trained expected = Train(c, whole, options);
  BoxedProgram boxed(whole, c.step);
  for (const char* const name : {"strided:forward", "plain:backward_filter"}) {
    const OpId op = OpNamed(c.step, name);
    boxed.Divide(op, RowParts(c.step.ops[Index(op)], 2));
  }
  REQUIRE(FirstViolation(boxed.program, c.step) == "");
  CheckClose(expected, Train(c, boxed.program, options), 1e-5);
}

}  // namespace spillway

#include "sim/bounds/linear_program.h"

#include <catch2/catch.hpp>

namespace spillway {

TEST_CASE("a covering problem takes the cheaper column first") {
  // x costs 1 for 1 unit, y costs 3 for 2 units, 2.5 units wanted, each at most 1: x = 1, y = 0.75.
  LinearProgram program;
  const int x = program.AddColumn(1, 1), y = program.AddColumn(3, 1);
  program.AddRow({{x, 1}, {y, 2}}, 2.5);
  CHECK(program.Minimum() == Approx(3.25));
  CHECK(program.columns() == 2);
  CHECK(program.rows() == 1);
}

TEST_CASE("the largest of several linear functions is minimised through a column of its own") {
  // T >= 10 x and T >= 4 + 2 (1 - x): equal at x = 0.5, T = 5.
  LinearProgram program;
  const int t = program.AddColumn(1, 100), x = program.AddColumn(0, 1);
  program.AddRow({{t, 1}, {x, -10}}, 0);
  program.AddRow({{t, 1}, {x, 2}}, 6);
  CHECK(program.Minimum() == Approx(5.0));
}

TEST_CASE("a program without rows costs nothing") {
  LinearProgram program;
  program.AddColumn(7, 1);
  CHECK(program.Minimum() == 0.0);
}

TEST_CASE("negative costs are collected up to the upper bounds") {
  // Nothing holds x back: -2 x 3. y is held by x + y <= 4, that is -x - y >= -4: y = 1.
  LinearProgram program;
  const int x = program.AddColumn(-2, 3), y = program.AddColumn(-1, 3);
  program.AddRow({{x, -1}, {y, -1}}, -4);
  CHECK(program.Minimum() == Approx(-7.0));
}

TEST_CASE("terms that are zero do not count") {
  LinearProgram program;
  const int x = program.AddColumn(5, 1), y = program.AddColumn(1, 1);
  program.AddRow({{x, 1}, {y, 0}}, 1);
  CHECK(program.Minimum() == Approx(5.0));
}

TEST_CASE("the answer is never above the minimum, also where coefficients are far apart") {
  // 1e6 x >= 1 and x >= 1e-6 say the same; the minimum is 1e-6.
  LinearProgram program;
  const int x = program.AddColumn(1, 1);
  program.AddRow({{x, 1e6}}, 1);
  program.AddRow({{x, 1}}, 1e-6);
  CHECK(program.Minimum() <= 1e-6 * (1 + 1e-12));
  CHECK(program.Minimum() >= 0.0);
}

}  // namespace spillway

#include "model/stats/least_squares.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace spillway;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

LeastSquaresOptions PlainSquares() {
  LeastSquaresOptions options;
  options.loss = LeastSquaresOptions::Loss::kSquares;
  options.scale = 1;
  options.scale_weight = kInfinity;
  options.max_steps = 200;
  options.tolerance = 1e-14;
  return options;
}

LeastSquaresProblem Rosenbrock() {
  LeastSquaresProblem problem;
  problem.variables = {{.start = -1.2}, {.start = 1.0}};
  problem.residuals = 2;
  problem.evaluate = [](std::span<const double> x, std::span<double> out) {
    const double r[] = {10 * (x[1] - x[0] * x[0]), 1 - x[0]};
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = r[i];
  };
  return problem;
}

// y = 3 + 2 t at t = 0..9, the points 2, 5 and 8 spoilt by +30.
LeastSquaresProblem SpoiltLine() {
  LeastSquaresProblem problem;
  problem.variables = {{.start = 0}, {.start = 0}};
  problem.residuals = 10;
  problem.evaluate = [](std::span<const double> x, std::span<double> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const int t = static_cast<int>(i);
      out[i] = 3 + 2 * t + (t % 3 == 2 ? 30 : 0) - (x[0] + x[1] * t);
    }
  };
  return problem;
}

}  // namespace

TEST_CASE("a Cholesky factor solves and inverts") {
  SquareMatrix matrix(2);  // [4 2; 2 5] = L L', L = [2 0; 1 2]; inverse = [5 -2; -2 4] / 16
  matrix.At(0, 0) = 4, matrix.At(1, 0) = 2, matrix.At(1, 1) = 5;
  REQUIRE(Factorise(&matrix));
  CHECK(matrix.At(0, 0) == 2);
  CHECK(matrix.At(1, 0) == 1);
  CHECK(matrix.At(1, 1) == 2);
  std::vector<double> b{8, 12};  // [4 2; 2 5] x = (8, 12) -> x = (1, 2)
  SolveFactored(matrix, b);
  CHECK(b[0] == Approx(1));
  CHECK(b[1] == Approx(2));
  CHECK(InverseDiagonal(matrix)[0] == Approx(5.0 / 16));
  CHECK(InverseDiagonal(matrix)[1] == Approx(4.0 / 16));
  SquareMatrix indefinite(2);  // [1 2; 2 1] has the eigenvalue -1
  indefinite.At(0, 0) = 1, indefinite.At(1, 0) = 2, indefinite.At(1, 1) = 1;
  CHECK_FALSE(Factorise(&indefinite));
}

TEST_CASE("Rosenbrock's valley ends at (1, 1)") {
  const LeastSquaresResult result = SolveLeastSquares(Rosenbrock(), PlainSquares());
  CHECK(result.converged);
  CHECK(result.x[0] == Approx(1).epsilon(1e-6));
  CHECK(result.x[1] == Approx(1).epsilon(1e-6));
  CHECK(result.objective < 1e-10);
}

TEST_CASE("a bound holds and the rest adapts") {
  LeastSquaresProblem problem = Rosenbrock();
  problem.variables[0].upper = 0.5;  // x0 = 0.5 -> x1 = x0^2 = 0.25, residuals (0, 0.5)
  const LeastSquaresResult result = SolveLeastSquares(problem, PlainSquares());
  CHECK(result.x[0] == Approx(0.5));
  CHECK(result.x[1] == Approx(0.25).epsilon(1e-5));
  CHECK(result.objective == Approx(0.125));  // 1/2 x 0.5^2
}

TEST_CASE("a robust line ignores outliers, squares do not") {
  LeastSquaresOptions options = PlainSquares();
  const LeastSquaresResult squares = SolveLeastSquares(SpoiltLine(), options);
  CHECK(squares.x[0] > 8);  // the mean of the spoilt points alone lifts the line by 9
  options.loss = LeastSquaresOptions::Loss::kStudentT;
  options.width = 2;
  options.scale = 0.1;
  const LeastSquaresResult student = SolveLeastSquares(SpoiltLine(), options);
  CHECK(student.x[0] == Approx(3).margin(0.01));
  CHECK(student.x[1] == Approx(2).margin(0.01));
}

TEST_CASE("the scale found is the spread of the residuals") {
  LeastSquaresProblem problem;  // residuals 1, -1, 1, -1 about x: x = 0, s = 1
  problem.variables = {{.start = 0.3}};
  problem.residuals = 4;
  problem.evaluate = [](std::span<const double> x, std::span<double> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = (i % 2 == 0 ? 1.0 : -1.0) - x[0];
  };
  LeastSquaresOptions options = PlainSquares();
  options.scale = 0.1;
  options.scale_weight = 0;
  const LeastSquaresResult result = SolveLeastSquares(problem, options);
  CHECK(result.x[0] == Approx(0).margin(1e-6));
  CHECK(result.scale == Approx(1).epsilon(1e-6));
  CHECK(result.spread[0] == Approx(0.5).epsilon(1e-6));  // s / sqrt(4)
}

TEST_CASE("a prior decides where the data say nothing, and yields where they speak") {
  LeastSquaresProblem problem;  // one measurement of x0 = 5 with scale 1; none of x1
  problem.variables = {{.start = 0, .prior = 1, .prior_spread = 1}, {.start = 0, .prior = 7, .prior_spread = 0.5}};
  problem.residuals = 1;
  problem.evaluate = [](std::span<const double> x, std::span<double> out) { out[0] = 5 - x[0]; };
  const LeastSquaresResult result = SolveLeastSquares(problem, PlainSquares());
  CHECK(result.x[0] == Approx(3));  // equal weights: midway between 1 and 5
  CHECK(result.x[1] == Approx(7));
  CHECK(result.spread[0] == Approx(std::sqrt(0.5)));
  CHECK(result.spread[1] == Approx(0.5));
}

TEST_CASE("a residual of weight zero changes nothing, and two runs give the same bits") {
  LeastSquaresProblem problem = SpoiltLine();
  problem.weights = {1, 1, 0, 1, 1, 0, 1, 1, 0, 1};
  const LeastSquaresResult first = SolveLeastSquares(problem, PlainSquares());
  CHECK(first.x[0] == Approx(3));
  CHECK(first.x[1] == Approx(2));
  CHECK(first.x == SolveLeastSquares(problem, PlainSquares()).x);
}

TEST_CASE("a point without a value is refused") {
  LeastSquaresProblem problem;  // log x = 2 from x = 1e-3: a full step from there is tiny, too long ones reach x <= 0
  problem.variables = {{.start = 60}};
  problem.residuals = 1;
  problem.evaluate = [](std::span<const double> x, std::span<double> out) { out[0] = std::log(x[0]) - 2; };
  const LeastSquaresResult result = SolveLeastSquares(problem, PlainSquares());
  CHECK(result.x[0] == Approx(std::exp(2)).epsilon(1e-6));  // 60 - 60 (log 60 - 2) = -65 < 0: log gives NaN
}

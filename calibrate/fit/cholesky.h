// Dense symmetric positive definite systems, small (some hundred unknowns).
#ifndef SPILLWAY_CALIBRATE_FIT_CHOLESKY_H_
#define SPILLWAY_CALIBRATE_FIT_CHOLESKY_H_

#include <span>
#include <vector>

namespace spillway {

// Square matrix, rows one after the other. Only the lower triangle is read by what follows.
struct SquareMatrix {
  explicit SquareMatrix(int size) : n(size), values(static_cast<std::size_t>(size) * static_cast<std::size_t>(size)) {}
  double& At(int row, int column) { return values[Index(row, column)]; }
  double At(int row, int column) const { return values[Index(row, column)]; }
  std::size_t Index(int row, int column) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(n) + static_cast<std::size_t>(column);
  }
  int n = 0;
  std::vector<double> values;
};

// Replaces the lower triangle of `matrix` by its Cholesky factor L, matrix = L L'. False: not positive definite (the
// matrix is then spoilt).
bool Factorise(SquareMatrix* matrix);
// Solves L L' x = b in place, L from Factorise.
void SolveFactored(const SquareMatrix& factor, std::span<double> b);
// Diagonal of the inverse of L L'.
std::vector<double> InverseDiagonal(const SquareMatrix& factor);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_FIT_CHOLESKY_H_

#include <cmath>
#include <cstddef>

#include "model/stats/least_squares.h"

namespace spillway {

bool Factorise(SquareMatrix* matrix) {
  SquareMatrix& a = *matrix;
  for (int i = 0; i < a.n; ++i) {
    for (int j = 0; j <= i; ++j) {
      double sum = a.At(i, j);
      const double* row_i = &a.values[a.Index(i, 0)];
      const double* row_j = &a.values[a.Index(j, 0)];
      for (int k = 0; k < j; ++k) sum -= row_i[k] * row_j[k];
      if (i != j) {
        a.At(i, j) = sum / a.At(j, j);
      } else if (sum > 0) {  // false for NaN too
        a.At(i, i) = std::sqrt(sum);
      } else {
        return false;
      }
    }
  }
  return true;
}

void SolveFactored(const SquareMatrix& factor, std::span<double> b) {
  for (int i = 0; i < factor.n; ++i) {
    double sum = b[static_cast<std::size_t>(i)];
    for (int k = 0; k < i; ++k) sum -= factor.At(i, k) * b[static_cast<std::size_t>(k)];
    b[static_cast<std::size_t>(i)] = sum / factor.At(i, i);
  }
  for (int i = factor.n - 1; i >= 0; --i) {
    double sum = b[static_cast<std::size_t>(i)];
    for (int k = i + 1; k < factor.n; ++k) sum -= factor.At(k, i) * b[static_cast<std::size_t>(k)];
    b[static_cast<std::size_t>(i)] = sum / factor.At(i, i);
  }
}

std::vector<double> InverseDiagonal(const SquareMatrix& factor) {
  std::vector<double> diagonal(static_cast<std::size_t>(factor.n));
  std::vector<double> unit(diagonal.size());
  for (std::size_t j = 0; j < diagonal.size(); ++j) {
    unit.assign(unit.size(), 0.0);
    unit[j] = 1;
    SolveFactored(factor, unit);
    diagonal[j] = unit[j];
  }
  return diagonal;
}

}  // namespace spillway

// Products of row-major matrices by oneDNN's BLAS. Private to calibrate/devices/cpu/.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_MATRICES_H_
#define SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_MATRICES_H_
#if __has_include(<dnnl.hpp>)  // every header compiles by itself, without oneDNN too

#include <cassert>
#include <cstdint>
#include <dnnl.hpp>

namespace spillway::cpu {

// A dense matrix, rows one after another. Owns nothing.
struct Matrix {
  const float* data = nullptr;
  std::int64_t rows = 0, columns = 0;
  bool transposed = false;
  Matrix T() const { return {data, rows, columns, !transposed}; }
  std::int64_t Rows() const { return transposed ? columns : rows; }
  std::int64_t Columns() const { return transposed ? rows : columns; }
};

// result = factor * a * b, or that added to what `result` holds. Throws dnnl::error.
inline void Multiply(const Matrix& a, const Matrix& b, float* result, bool add, float factor = 1) {
  assert(a.Columns() == b.Rows());
  const dnnl::status status =
      dnnl::sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', a.Rows(), b.Columns(), a.Columns(), factor,
                  a.data, a.columns, b.data, b.columns, add ? 1.0f : 0.0f, result, b.Columns());
  dnnl::error::wrap_c_api(static_cast<dnnl_status_t>(status), "a matrix product failed");
}

}  // namespace spillway::cpu

#endif
#endif  // SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_MATRICES_H_

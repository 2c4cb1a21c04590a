// Products of row-major matrices by oneDNN's BLAS. Private to calibrate/devices/cpu/.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_MATRICES_H_
#define SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_MATRICES_H_
#if __has_include(<dnnl.hpp>)  // every header compiles by itself, without oneDNN too

#include <cassert>
#include <cstdint>
#include <dnnl.hpp>

namespace spillway::cpu {

// A matrix, rows one after another or `pitch` elements apart. Owns nothing.
struct Matrix {
  const float* data = nullptr;
  std::int64_t rows = 0, columns = 0;
  bool transposed = false;
  std::int64_t pitch = 0;  // 0: dense
  Matrix T() const { return {data, rows, columns, !transposed, pitch}; }
  std::int64_t Pitch() const { return pitch > 0 ? pitch : columns; }
  std::int64_t Rows() const { return transposed ? columns : rows; }
  std::int64_t Columns() const { return transposed ? rows : columns; }
};

// result = factor * a * b, or that added to what `result` holds, whose rows are `pitch` apart (0: dense). Throws
// dnnl::error.
inline void Multiply(const Matrix& a, const Matrix& b, float* result, bool add, float factor = 1,
                     std::int64_t pitch = 0) {
  assert(a.Columns() == b.Rows());
  const dnnl::status status =
      dnnl::sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', a.Rows(), b.Columns(), a.Columns(), factor,
                  a.data, a.Pitch(), b.data, b.Pitch(), add ? 1.0f : 0.0f, result, pitch > 0 ? pitch : b.Columns());
  dnnl::error::wrap_c_api(static_cast<dnnl_status_t>(status), "a matrix product failed");
}

}  // namespace spillway::cpu

#endif
#endif  // SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_MATRICES_H_

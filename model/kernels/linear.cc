// Linear layers: one matrix product per pass. The bias is an op of its own. Of a layer that computes each position by
// itself, samples are samples times positions.
//
//   forward          y = W x        result out x samples, depth in;      both operands run along the depth
//   backward data    dx = W^T dy    result in x samples, depth out;      dy does
//   backward filter  dW = dy x^T    result in x out, depth samples;      none does
//
// No workspace: partial sums of split products lie in a buffer that the library owns.
// Tested by tests/model/kernel_forms_gemm_test.cc.
#include "model/kernels/kernel_form.h"
#include "model/kernels/matrix_product.h"

namespace spillway {
namespace {

std::span<const char* const> Algorithms(OpKind kind, Pass pass) {
  return Nameless(kind == OpKind::kLinear && HasPass(kind, pass));
}

MatrixProduct ProductOf(const Launch& launch) {
  const OpShape& s = launch.shape;
  const auto in = static_cast<double>(s.in.c * s.in.Spatial() / s.out.Spatial());
  const auto out = static_cast<double>(s.out.c);
  const auto samples = static_cast<double>(s.out.n * s.out.Spatial());
  MatrixProduct product{.element = static_cast<double>(SizeOf(launch.type)), .accumulate = launch.accumulate};
  switch (launch.pass) {
    case Pass::kBackwardData:
      product.rows = in, product.columns = samples, product.depth = out;
      product.columns_along_depth = true;
      return product;
    case Pass::kBackwardFilter:
      product.rows = in, product.columns = out, product.depth = samples;
      return product;
    default:
      product.rows = out, product.columns = samples, product.depth = in;
      product.rows_along_depth = product.columns_along_depth = true;
      return product;
  }
}

double Time(const Launch& launch, const Chip& chip, MatrixProductValues p) {
  return MatrixProductTime(ProductOf(launch), chip, p);
}

}  // namespace

KernelForm LinearForm() {
  return FormOf<Time>({.name = "linear",
                       .description = "one matrix product, the fastest of the library's tiles and splits",
                       .algorithms = Algorithms});
}

}  // namespace spillway

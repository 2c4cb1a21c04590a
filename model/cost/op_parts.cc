#include "model/cost/op_parts.h"

namespace spillway {

namespace {

bool AddsUp(Pass pass) { return pass == Pass::kBackwardFilter || pass == Pass::kBackwardBias; }

}  // namespace

bool AddsUpSamples(const Op& op) { return AddsUp(op.pass); }

Box SamplesOf(const Tensor& tensor, std::int64_t begin, std::int64_t end) {
  const Box whole = WholeOf(tensor.shape);
  return tensor.Traits().of_parameters ? whole : WithRange(whole, kBatchAxis, begin, end);
}

Launch PartOf(Launch whole, std::int64_t samples, bool first) {
  whole.shape.in.n = whole.shape.out.n = samples;
  whole.accumulate = whole.accumulate || (!first && AddsUp(whole.pass));
  return whole;
}

}  // namespace spillway

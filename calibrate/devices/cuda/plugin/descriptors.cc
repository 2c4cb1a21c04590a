#include "calibrate/devices/cuda/plugin/descriptors.h"

namespace spillway::cuda {
namespace {

// True fp32; or as the library's default, products rounded to TF32 where the device can.
cudnnMathType_t MathOf(MathMode mode) { return mode == MathMode::kTf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH; }

}  // namespace

void SetDense(const TensorDescriptor& descriptor, const std::vector<std::int64_t>& sizes) {
  std::vector<int> extents, strides(sizes.size(), 1);
  for (const std::int64_t size : sizes) extents.push_back(IntOf(size));
  std::int64_t stride = 1;
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    strides[axis] = IntOf(stride);
    stride *= sizes[axis];
  }
  static_cast<void>(IntOf(stride));  // all elements
  SPILLWAY_CHECK(cudnnSetTensorNdDescriptor(descriptor.get(), CUDNN_DATA_FLOAT, static_cast<int>(extents.size()),
                                            extents.data(), strides.data()));
}

std::vector<std::int64_t> SizesOf(const Shape& shape, bool with_depth) {
  if (with_depth) return {shape.n, shape.c, shape.d, shape.h, shape.w};
  return {shape.n, shape.c, shape.d * shape.h, shape.w};
}

std::vector<int> Spatial(const std::array<std::int64_t, 3>& triple, bool with_depth) {
  if (with_depth) return {IntOf(triple[0]), IntOf(triple[1]), IntOf(triple[2])};
  return {IntOf(triple[1]), IntOf(triple[2])};
}

void SetPlanes(const TensorDescriptor& descriptor, const Shape& shape) { SetDense(descriptor, SizesOf(shape, false)); }

void SetChannels(const TensorDescriptor& descriptor, std::int64_t channels) {
  SetDense(descriptor, {1, channels, 1, 1});
}

void SetAddition(const OpTensorDescriptor& descriptor) {
  SPILLWAY_CHECK(
      cudnnSetOpTensorDescriptor(descriptor.get(), CUDNN_OP_TENSOR_ADD, CUDNN_DATA_FLOAT, CUDNN_PROPAGATE_NAN));
}

ConvolutionProblem::ConvolutionProblem(const OpCall& call) {
  const OpShape& s = call.launch.shape;
  if (s.PadBegin() != s.PadEnd()) Refuse("cuDNN pads as much behind as before");
  deep = s.in.d != 1 || s.out.d != 1 || s.window[0] != 1;
  SetDense(in, SizesOf(s.in, deep));
  SetDense(out, SizesOf(s.out, deep));
  std::vector<int> filter = Spatial(s.window, deep);
  const std::vector<int> pad = Spatial(s.PadBegin(), deep), stride = Spatial(s.stride, deep),
                         dilation = Spatial(s.dilation, deep);
  filter.insert(filter.begin(), {IntOf(s.out.c), IntOf(s.in.c / s.groups)});
  SPILLWAY_CHECK(cudnnSetFilterNdDescriptor(weight.get(), CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW,
                                            static_cast<int>(filter.size()), filter.data()));
  SPILLWAY_CHECK(cudnnSetConvolutionNdDescriptor(convolution.get(), static_cast<int>(pad.size()), pad.data(),
                                                 stride.data(), dilation.data(), CUDNN_CROSS_CORRELATION,
                                                 CUDNN_DATA_FLOAT));
  SPILLWAY_CHECK(cudnnSetConvolutionGroupCount(convolution.get(), IntOf(s.groups)));
  SPILLWAY_CHECK(cudnnSetConvolutionMathType(convolution.get(), MathOf(call.launch.math)));
}

}  // namespace spillway::cuda

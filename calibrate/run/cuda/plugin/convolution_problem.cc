#include "calibrate/run/cuda/plugin/convolution_problem.h"

#include "calibrate/run/cuda/plugin/check.h"

namespace spillway::cuda {
namespace {

// True fp32; or as the library's default, products rounded to TF32 where the device can; or halves on tensor cores.
cudnnMathType_t MathOf(MathMode mode) {
  if (mode == MathMode::kFp16) return CUDNN_TENSOR_OP_MATH;
  return mode == MathMode::kTf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
}

TensorFormat FormatOf(const Launch& launch) {
  return {.type = launch.type == DataType::kFp16 ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT, .layout = launch.layout};
}

}  // namespace

ConvolutionProblem::ConvolutionProblem(const OpCall& call) {
  const OpShape& s = call.launch.shape;
  const TensorFormat format = FormatOf(call.launch);
  if (s.PadBegin() != s.PadEnd()) Refuse("cuDNN pads as much behind as before");
  math = MathOf(call.launch.math);
  deep = s.in.d != 1 || s.out.d != 1 || s.window[0] != 1;
  SetDense(in, SizesOf(s.in, deep), format);
  SetDense(out, SizesOf(s.out, deep), format);
  std::vector<int> filter = Spatial(s.window, deep);
  const std::vector<int> pad = Spatial(s.PadBegin(), deep), stride = Spatial(s.stride, deep), dilation(pad.size(), 1);
  filter.insert(filter.begin(), {IntOf(s.out.c), IntOf(s.in.c / s.groups)});
  const cudnnTensorFormat_t order = format.layout == Layout::kNhwc ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
  SPILLWAY_CHECK(
      cudnnSetFilterNdDescriptor(weight.get(), format.type, order, static_cast<int>(filter.size()), filter.data()));
  SPILLWAY_CHECK(cudnnSetConvolutionNdDescriptor(convolution.get(), static_cast<int>(pad.size()), pad.data(),
                                                 stride.data(), dilation.data(), CUDNN_CROSS_CORRELATION,
                                                 CUDNN_DATA_FLOAT));
  SPILLWAY_CHECK(cudnnSetConvolutionGroupCount(convolution.get(), IntOf(s.groups)));
  SPILLWAY_CHECK(cudnnSetConvolutionMathType(convolution.get(), math));
}

}  // namespace spillway::cuda

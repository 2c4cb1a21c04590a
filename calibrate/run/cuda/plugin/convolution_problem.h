// A convolution as cuDNN's descriptors say it. Private to calibrate/run/cuda/plugin/.
#ifndef SPILLWAY_CALIBRATE_RUN_CUDA_PLUGIN_CONVOLUTION_PROBLEM_H_
#define SPILLWAY_CALIBRATE_RUN_CUDA_PLUGIN_CONVOLUTION_PROBLEM_H_

#include "calibrate/run/cuda/plugin/descriptors.h"
#ifdef SPILLWAY_HAS_CUDA_HEADERS

#include "calibrate/run/op_call.h"

namespace spillway::cuda {

// Operands of the launch's type and layout, the weight as {k, c, ...} in the same one; sums in fp32 whatever the type.
struct ConvolutionProblem {
  TensorDescriptor in, out;
  FilterDescriptor weight;
  ConvolutionDescriptor convolution;
  bool deep = false;                          // five dimensions, with depth; else four
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;  // as the descriptor says it

  explicit ConvolutionProblem(const OpCall& call);
};

}  // namespace spillway::cuda

#endif
#endif  // SPILLWAY_CALIBRATE_RUN_CUDA_PLUGIN_CONVOLUTION_PROBLEM_H_

// A convolution as cuDNN's descriptors say it. Private to calibrate/cuda/plugin/.
#ifndef SPILLWAY_CALIBRATE_CUDA_PLUGIN_CONVOLUTION_PROBLEM_H_
#define SPILLWAY_CALIBRATE_CUDA_PLUGIN_CONVOLUTION_PROBLEM_H_

#include "calibrate/cuda/plugin/descriptors.h"
#ifdef SPILLWAY_HAS_CUDA_HEADERS

#include "calibrate/op_call.h"

namespace spillway::cuda {

struct ConvolutionProblem {
  TensorDescriptor in, out;
  FilterDescriptor weight;
  ConvolutionDescriptor convolution;
  bool deep = false;  // five dimensions, with depth; else four

  explicit ConvolutionProblem(const OpCall& call);
};

}  // namespace spillway::cuda

#endif
#endif  // SPILLWAY_CALIBRATE_CUDA_PLUGIN_CONVOLUTION_PROBLEM_H_

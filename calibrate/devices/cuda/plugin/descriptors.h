// cuDNN's descriptors with an owner, and those that several ops need. Private to calibrate/devices/cuda/plugin/.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_DESCRIPTORS_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_DESCRIPTORS_H_

#include "calibrate/devices/cuda/plugin/check.h"
#ifdef SPILLWAY_HAS_CUDA_HEADERS

#include <array>
#include <vector>

#include "calibrate/ops/op_call.h"
#include "model/step/tensor.h"

namespace spillway::cuda {

template <typename T, auto kCreate, auto kDestroy>
class Descriptor {
 public:
  Descriptor() { SPILLWAY_CHECK(kCreate(&value_)); }
  ~Descriptor() { static_cast<void>(kDestroy(value_)); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  T get() const { return value_; }

 private:
  T value_{};
};
using TensorDescriptor = Descriptor<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;
using FilterDescriptor = Descriptor<cudnnFilterDescriptor_t, cudnnCreateFilterDescriptor, cudnnDestroyFilterDescriptor>;
using ConvolutionDescriptor =
    Descriptor<cudnnConvolutionDescriptor_t, cudnnCreateConvolutionDescriptor, cudnnDestroyConvolutionDescriptor>;
using PoolingDescriptor =
    Descriptor<cudnnPoolingDescriptor_t, cudnnCreatePoolingDescriptor, cudnnDestroyPoolingDescriptor>;
using ActivationDescriptor =
    Descriptor<cudnnActivationDescriptor_t, cudnnCreateActivationDescriptor, cudnnDestroyActivationDescriptor>;
using LrnDescriptor = Descriptor<cudnnLRNDescriptor_t, cudnnCreateLRNDescriptor, cudnnDestroyLRNDescriptor>;
using OpTensorDescriptor =
    Descriptor<cudnnOpTensorDescriptor_t, cudnnCreateOpTensorDescriptor, cudnnDestroyOpTensorDescriptor>;

// Dense, in fp32; sizes {n, c, ...}, of which the last lie innermost.
void SetDense(const TensorDescriptor& descriptor, const std::vector<std::int64_t>& sizes);
// {n, c, h, w}, or {n, c, d, h, w} if `with_depth`; without it, depth and height are one axis.
std::vector<std::int64_t> SizesOf(const Shape& shape, bool with_depth);
// {d, h, w} or {h, w}.
std::vector<int> Spatial(const std::array<std::int64_t, 3>& triple, bool with_depth);
// As {n, c, d * h, w}: for everything that does not look at neighbours in space.
void SetPlanes(const TensorDescriptor& descriptor, const Shape& shape);
// One value for each channel: {1, c, 1, 1}.
void SetChannels(const TensorDescriptor& descriptor, std::int64_t channels);
void SetAddition(const OpTensorDescriptor& descriptor);

// A convolution as descriptors say it, the weight as {k, c, ...}.
struct ConvolutionProblem {
  TensorDescriptor in, out;
  FilterDescriptor weight;
  ConvolutionDescriptor convolution;
  bool deep = false;  // five dimensions, with depth; else four

  explicit ConvolutionProblem(const OpCall& call);
};

}  // namespace spillway::cuda

#endif
#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_DESCRIPTORS_H_

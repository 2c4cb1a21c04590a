// What a calibration of a GPU measures that no step of ours has: copies between two GPUs, convolutions in fp16, and
// convolutions with bias and activation in one call of the library. Their rows are read back and kept, and the
// calibration fits no model to them. Those in fp16 are in the profile's measured launches.
#ifndef SPILLWAY_CALIBRATE_MEASURE_CUDA_BEYOND_H_
#define SPILLWAY_CALIBRATE_MEASURE_CUDA_BEYOND_H_

#include <string>
#include <vector>

#include "calibrate/measure/plan.h"
#include "calibrate/run/cuda/calls.h"

namespace spillway {

// BenchItem::fused. What the library does without the activation it does by one algorithm only.
constexpr const char* kConvolutionBias = "conv_bias";
constexpr const char* kConvolutionBiasRelu = "conv_bias_relu";
constexpr const char* kAlgorithmOfBias = "implicit_precomp_gemm";

// Sample::kind of copies between two GPUs that reach each other's memory, and between two that are not let.
constexpr const char* kPeerCopies = "peer";
constexpr const char* kStagedCopies = "peer_staged";

struct CudaBeyond {
  std::vector<BenchItem> items;
  std::vector<std::string> not_measured;  // and why: one sentence each
};

// Convolutions of ResNet-50 and VGG-16 as a step in fp16 has them, products in fp16: all passes of a layer, each in
// NCHW, then in NHWC.
std::vector<BenchItem> CudaHalfItems();

// Convolutions of ResNet-50 and VGG-16, in fp32, then in TF32.
std::vector<BenchItem> CudaFusedItems();

// Copies from 64 KiB to 1 GiB (`quick`: fewer sizes) between this GPU and each other one, both ways; straight ones where
// the two can reach each other. Throws what `calls` throws.
CudaBeyond CudaPeerItems(CudaCalls& calls, bool quick);

// All: copies, fp16, then what is fused.
CudaBeyond MakeCudaBeyond(CudaCalls& calls, bool quick);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_MEASURE_CUDA_BEYOND_H_

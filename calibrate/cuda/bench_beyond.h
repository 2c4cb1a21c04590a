// What a calibration of a GPU measures that no step of ours has: convolutions with bias and activation in one call of
// the library, and copies between two GPUs. Their rows are read back and kept; no model is fitted to them.
#ifndef SPILLWAY_CALIBRATE_CUDA_BENCH_BEYOND_H_
#define SPILLWAY_CALIBRATE_CUDA_BENCH_BEYOND_H_

#include <string>
#include <vector>

#include "calibrate/bench/plan.h"
#include "calibrate/cuda/calls.h"

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

// Convolutions of ResNet-50 and VGG-16, in fp32, then in TF32.
std::vector<BenchItem> CudaFusedItems();

// Copies from 64 KiB to 1 GiB (`quick`: fewer sizes) between this GPU and each other one, both ways; straight ones where
// the two can reach each other. Throws what `calls` throws.
CudaBeyond CudaPeerItems(CudaCalls& calls, bool quick);

// Both, copies first.
CudaBeyond MakeCudaBeyond(CudaCalls& calls, bool quick);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_CUDA_BENCH_BEYOND_H_

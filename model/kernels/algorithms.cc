// Names of the libraries' algorithms, one numbering for all of them: first those of cuDNN in the order of its
// enumerations (cudnnConvolutionFwdAlgo_t, cudnnConvolutionBwdDataAlgo_t, cudnnConvolutionBwdFilterAlgo_t), then those
// of the CPU device that have no name yet: "direct", "winograd", "gemm" and "reference", in every pass. A number never
// changes: it stands in plans and programs.
#include <array>

#include "model/kernels/kernel_form.h"

namespace spillway {
namespace {

constexpr std::array<const char*, 9> kForward = {
    "implicit_gemm", "implicit_precomp_gemm", "gemm",     "direct", "fft", "fft_tiling",
    "winograd",      "winograd_nonfused",     "reference"};
constexpr std::array<const char*, 9> kBackwardData = {
    "algo_0", "algo_1", "fft", "fft_tiling", "winograd", "winograd_nonfused", "direct", "gemm", "reference"};
constexpr std::array<const char*, 10> kBackwardFilter = {
    "algo_0", "algo_1", "fft", "algo_3", "winograd", "winograd_nonfused", "fft_tiling", "direct", "gemm", "reference"};

// Of recorded ops: the ways that their file lists, in its order.
constexpr std::array<const char*, kMostRecordedWays> kRecorded = {
    "way1",  "way2",  "way3",  "way4",  "way5",  "way6",  "way7",  "way8",  "way9",  "way10", "way11",
    "way12", "way13", "way14", "way15", "way16", "way17", "way18", "way19", "way20", "way21", "way22",
    "way23", "way24", "way25", "way26", "way27", "way28", "way29", "way30", "way31", "way32"};

}  // namespace

std::span<const char* const> AlgorithmNames(OpKind kind, Pass pass) {
  if (!HasAlgorithms(kind)) return {};
  if (kind == OpKind::kRecorded) return kRecorded;
  if (kind == OpKind::kTransposedConvolution) pass = ExchangedPass(pass);
  if (pass == Pass::kForward) return kForward;
  if (pass == Pass::kBackwardData) return kBackwardData;
  if (pass == Pass::kBackwardFilter) return kBackwardFilter;
  return {};
}

const char* AlgorithmName(OpKind kind, Pass pass, std::int32_t algorithm) {
  const std::span<const char* const> names = AlgorithmNames(kind, pass);
  return algorithm > 0 && Index(algorithm) <= names.size() ? names[Index(algorithm) - 1] : "";
}

std::int32_t AlgorithmByName(OpKind kind, Pass pass, std::string_view name) {
  const std::span<const char* const> names = AlgorithmNames(kind, pass);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (name == names[i]) return static_cast<std::int32_t>(i) + 1;
  }
  return 0;
}

std::string AlgorithmText(OpKind kind, Pass pass, std::int32_t algorithm) {
  const std::string name = AlgorithmName(kind, pass, algorithm);
  return name.empty() ? "algorithm " + std::to_string(algorithm) : name;
}

}  // namespace spillway

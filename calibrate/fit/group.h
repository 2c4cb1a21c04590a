// Samples of one (op, pass, math) and the algorithms that may have served them: what is fitted together.
#ifndef SPILLWAY_CALIBRATE_FIT_GROUP_H_
#define SPILLWAY_CALIBRATE_FIT_GROUP_H_

#include <span>
#include <string>
#include <vector>

#include "calibrate/fit/fit.h"
#include "model/kernels/kernel_form.h"
#include "model/samples/sample.h"

namespace spillway {

// ---- Software stacks: what took a sample beside the chip, and by how much stacks differ on the very same kernels.
//
// A library of another year runs the same algorithm at another rate, on a board with other clocks and cooling, and a
// fit of samples from several publications meets all of that. Per operation, each stack but one has three factors,
// relative to the reference stack: the share of the chip's arithmetic peak that its kernels reach, that of the memory
// bandwidth, and the speed of special shapes, for which libraries have kernels of their own, or none that is good:
//   fp32 products     whose result is narrower than the smallest tile of 32: cuBLAS 8 takes longer for 16 columns than
//                     for 32
//   other products    whose result is not a multiple of 8 by 8: cuBLAS 10.0 leaves the tensor cores idle
//   convolutions      that stride: cuDNN 7.3 runs some of their backward passes without tensor cores
// They are estimated together with the laws, drawn to 1. The models of a profile are those of the reference.

// Logarithms of the factors.
struct StackRate {
  double arithmetic = 0, memory = 0, special = 0;
  bool operator==(const StackRate&) const = default;
};
constexpr int kStackVariables = 3;  // of a stack in a fit, in this order

// What of a rate is the chip's, and what is the product's: a factor on the time of the launch.
Chip WithRate(Chip chip, const StackRate& rate);
double SpecialFactor(const Launch& launch, const StackRate& rate);

// How far one stack's rates lie from another's before any data: one standard deviation of the logarithm. Convolutions
// have algorithms with names, whose kernels live long, and move their bytes at the chip's rate: a library leaves little to
// do well or badly there, as where memory bounds. A BLAS picks from a list of kernels that changes, and those for narrow
// results differ in how they load: cuBLAS 12 reaches 127 GB/s (median) on a P100 where the result has 9 to 32 columns,
// cuBLAS 8 on the same card 336, so its factor of 3 on "memory" is the reference's want of a good kernel and no bandwidth.
// Arithmetic other than fp32 varies most: one year's library has tensor-core kernels where another's has none, and more or
// less converting of layouts around them, which is memory's.
StackRate StackSpread(OpKind kind, MathMode math);

// "deepbench, CUDA 8.0.88, cuDNN 6.0.21", of what the sample states; "" of one that states nothing. Kernels of the BLAS
// do not depend on cuDNN, but then the converter leaves its version out.
std::string StackName(const Sample& sample);

// Whether the stack `a` is the newer: names compared as text, numbers in them as numbers ("7.10" after "7.3").
bool IsNewer(const std::string& a, const std::string& b);

// The stack whose rates the models take: the one with most layers, the newer of two alike. `layers`: by stack; at least
// one.
int ReferenceStack(const std::vector<std::string>& names, const std::vector<int>& layers);

// One algorithm: a form and the values that its parameters are drawn to.
struct Candidate {
  const KernelForm* form = nullptr;
  std::string algorithm;                 // as AlgorithmNames has it; "" where there is no choice
  std::int32_t index = 0;                // Launch::algorithm
  std::vector<double> prior;             // one per parameter of the form
  const KernelModel* carried = nullptr;  // where the prior is from; nullptr: the form's start values
};

// One sample as the fit sees it.
struct FitRow {
  int sample = 0;  // index into the samples
  Launch launch;   // workspace: what was granted, kUsualWorkspace where not known (then nothing is too large)
  Chip chip;
  double log_time = 0;        // of nanoseconds
  std::vector<int> runnable;  // candidates that apply and whose workspace was granted
  int known = -1;             // candidate that was measured; -1 = not known: the fastest of `runnable`
  bool chosen = false;        // the known one was the fastest of all (an autotuner said so)
  int harness = -1;           // index into FitGroup::harnesses; -1 = adds nothing
  double order = 0;           // 0..1: where it stands among the samples of its harness
  int layer = 0;              // numbered: equal for samples of one LayerKey
  int stack = 0;              // numbered: the software
  int origin = 0;             // numbered: stack and network, which may be off together
  double weight = 1;
};

struct FitGroup {
  OpKind kind = OpKind::kCopy;
  Pass pass = Pass::kForward;
  MathMode math = MathMode::kFp32;
  std::vector<Candidate> candidates;
  std::vector<FitRow> rows;  // in the order of the samples
  std::vector<std::string> harnesses, stacks, origins;
  int reference = 0;  // the stack whose rates are the models'
  int layers = 0;
  std::string Name() const;  // "convolution forward fp32"
};

// Groups by kind, pass, math. Samples that no candidate serves are left out and counted in `warnings`.
std::vector<FitGroup> BuildGroups(std::span<const Sample> samples, const FitOptions& options,
                                  std::vector<std::string>* warnings);

// All algorithms that the forms and carried models offer for an operation, priors set.
// Throws UserError: a carried model whose parameters are not those of its form.
std::vector<Candidate> CandidatesFor(OpKind kind, Pass pass, MathMode math, const FitOptions& options);

// A launch as candidate `c` would run it.
Launch LaunchFor(const Launch& launch, const Candidate& c);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_FIT_GROUP_H_

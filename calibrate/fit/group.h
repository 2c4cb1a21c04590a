// Samples of one (op, pass, math) and the algorithms that may have served them: what is fitted together.
#ifndef SPILLWAY_CALIBRATE_FIT_GROUP_H_
#define SPILLWAY_CALIBRATE_FIT_GROUP_H_

#include <span>
#include <string>
#include <vector>

#include "calibrate/fit/fit.h"
#include "calibrate/fit/stacks.h"

namespace spillway {

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
  int stack = 0;              // numbered: the software (fit/stacks.h)
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

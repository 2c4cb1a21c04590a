// The words of samples files: ops, their passes and algorithms, and what these mean to the model.
#ifndef SPILLWAY_MODEL_SAMPLES_OPS_H_
#define SPILLWAY_MODEL_SAMPLES_OPS_H_

#include <string>
#include <string_view>
#include <vector>

#include "model/samples/columns.h"
#include "model/samples/sample.h"

namespace spillway {

struct OpWord {
  const char* name;
  SampleKind what;
  OpKind kind = OpKind::kCopy;                // kKernel; kOther with a shape: the op whose columns it has
  int operands = 1;                           // where the column is empty
  bool shaped = what == SampleKind::kKernel;  // whether there is a launch to read
};
const std::vector<OpWord>& OpWords();
const OpWord* FindOpWord(std::string_view name);  // nullptr: none
const char* WordOf(OpKind kind);                  // the one that is written
constexpr const char* kChannelScale = "channel_scale";

// The passes of an op by the names used in samples.
std::vector<std::string> PassWords(OpKind kind);
// REQUIRES: one of the above. The model calls the backward pass of a bias and an update by names of their own.
Pass PassOf(OpKind kind, std::string_view word);

// What may stand under `algorithm`, "best" apart: the library's algorithms of a convolution; of other ops variants that
// the model either has as ops of their own (max and average pooling) or does not tell apart.
std::vector<std::string> AlgorithmWords(const OpWord& op, Pass pass);

// Batch norm with given statistics, as in inference and recomputation.
constexpr const char* kGivenStatistics = "given_statistics";
constexpr const char* kBest = "best";  // alone or before ":NAME"

// What a copy between host and device, on the device, or between two devices can be.
const std::vector<std::string>& CopyKinds();
const std::vector<std::string>& CopyDirections();
const std::vector<std::string>& KernelKinds();  // state of the data: "cold", "warm", "step"; "race": others ran

// fma stands for fp32: true fp32 products.
const std::vector<std::string>& MathWords();
MathMode MathOf(int word);
const char* MathWord(MathMode mode);

// The launch that one row of a samples file describes.
// Fills launch, best and algorithm of the sample. What is wrong or missing is reported to the row.
void ReadLaunch(SampleRow& row, const OpWord& op, Sample& sample);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_SAMPLES_OPS_H_

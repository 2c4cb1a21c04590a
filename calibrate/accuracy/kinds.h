// Do errors differ by the kind of layer, and does what some sources show of that hold for the next one?
//
// A model has one error of its own for all launches that its algorithm serves. This asks of samples not seen how often
// the 80 % intervals hold by pass and kind, and what intervals would do whose errors were stretched by a factor for each
// pass and kind: a factor that is told without the network, or the source, that it is then asked about. Errors are stated
// for networks and sources that a fit has seen nothing of, so a split by kind is worth its numbers where it comes nearer
// to 80 % there, at a better score.
//
// Score: the interval score of Gneiting and Raftery (Strictly Proper Scoring Rules, Prediction, and Estimation, 2007,
// equation 43) on logarithms of times: width, and ten times what a time lies beside it. Less is better.
#ifndef SPILLWAY_CALIBRATE_ACCURACY_KINDS_H_
#define SPILLWAY_CALIBRATE_ACCURACY_KINDS_H_

#include <span>
#include <string>
#include <vector>

#include "calibrate/fit/fit.h"

namespace spillway {

// Convolutions: "grouped", "image" (at most four input channels), "1x1", "1x1 strided", "strided", "3x3" (up to nine
// elements), "large"; products: "narrow" (a side of the result below 32), "wide"; "" of all other ops.
std::string LayerKindOf(const Launch& launch);

// How 80 % intervals did in one cell; shares 0 to 1.
struct KindIntervals {
  int samples = 0, layers = 0;  // a layer of each source
  double held = 0, score = 0;
};

struct KindRow {
  std::string operation, kind;  // "convolution backward_data fp32", "1x1 strided"
  KindIntervals seen;           // layers left out, with a launch's own error
  KindIntervals outside;        // networks and sources left out, with own and model errors
  KindIntervals split;          // the same, stretched by the factor that the others tell
};

// By operation and kind, of ops that have kinds. `fit`: what Fit returned for the same samples.
std::vector<KindRow> KindRows(std::span<const Sample> samples, const FitResult& fit);
// A table of them and what they come to; "" without rows.
std::string KindsMarkdown(std::span<const Sample> samples, const FitResult& fit);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_ACCURACY_KINDS_H_

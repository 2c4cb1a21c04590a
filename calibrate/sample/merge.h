// Samples of the same operation become one.
#ifndef SPILLWAY_CALIBRATE_SAMPLE_MERGE_H_
#define SPILLWAY_CALIBRATE_SAMPLE_MERGE_H_

#include "calibrate/sample/file.h"

namespace spillway {

// See ReadSamples. Keeps the order of first occurrences; adds warnings.
void MergeRepeated(SampleSet& set);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_SAMPLE_MERGE_H_

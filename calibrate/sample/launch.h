// The launch that one row of a samples file describes.
#ifndef SPILLWAY_CALIBRATE_SAMPLE_LAUNCH_H_
#define SPILLWAY_CALIBRATE_SAMPLE_LAUNCH_H_

#include "calibrate/sample/columns.h"
#include "calibrate/sample/ops.h"

namespace spillway {

// Fills launch, best and algorithm of the sample. What is wrong or missing is reported to the row.
void ReadLaunch(SampleRow& row, const OpWord& op, Sample& sample);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_SAMPLE_LAUNCH_H_

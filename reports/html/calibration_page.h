// What `spillway calibrate` measured, beside what the profile's models answer: as CSV, and as a page.
//
// calibration.csv has a row for each sample of a kernel, and of a copy between host and device:
//
//   what                kernel or copy
//   op, pass, shape, algorithm     of a kernel, as profiles write them; algorithm empty: the library's choice
//   direction, bytes, rows         of a copy: h2d or d2h; rows > 1: pitched
//   measured_s, low_s, high_s      median, 10th and 90th percentile
//   predicted_s         by the models fitted to these samples, not by looking the very launch up, as plans do
//   error               predicted / measured - 1
//   how                 model, model beyond its data, law, roofline, curve
//   flags               what is to be said of the sample: noisy, ...
//
// Tested by calibration_page_test.
#ifndef SPILLWAY_REPORTS_HTML_CALIBRATION_PAGE_H_
#define SPILLWAY_REPORTS_HTML_CALIBRATION_PAGE_H_

#include <span>
#include <string>

#include "model/profile/machine.h"
#include "model/samples/sample.h"

namespace spillway {

// `machine`: what the samples made of the device.
std::string CalibrationCsv(std::span<const Sample> samples, const Machine& machine);
std::string CalibrationPage(std::span<const Sample> samples, const Machine& machine);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_HTML_CALIBRATION_PAGE_H_

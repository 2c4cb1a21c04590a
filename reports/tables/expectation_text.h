// Figures of expectations as text, for the tables that show them.
#ifndef SPILLWAY_REPORTS_TABLES_EXPECTATION_TEXT_H_
#define SPILLWAY_REPORTS_TABLES_EXPECTATION_TEXT_H_

#include <string>

#include "reports/rows/expectation.h"

namespace spillway {

// "12.3 %", "195/s", "fits": a value of the measure with its unit.
std::string ValueText(Measure measure, double value);
// The same of a range; one end may be infinite (">= 1.00x").
std::string RangeText(Measure measure, double low, double high);
// How far ours is from what was published: "inside", "equal", "+3.1 points", "-12.0 %", "differs"; "" where ours does not run.
std::string DifferenceText(const Verdict& verdict);
// What is measured, in a word or two: "loss", "over in-core b=128".
std::string MeasureText(const Expectation& expectation);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_TABLES_EXPECTATION_TEXT_H_

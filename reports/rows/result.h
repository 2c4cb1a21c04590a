// The results of a run, ready to be shown.
#ifndef SPILLWAY_REPORTS_ROWS_RESULT_H_
#define SPILLWAY_REPORTS_ROWS_RESULT_H_

#include <vector>

#include "model/cost/cost_model.h"
#include "reports/rows/expectation.h"
#include "reports/rows/result_row.h"
#include "reports/rows/what_helps.h"
#include "sim/evaluate/evaluation.h"

namespace spillway {

struct ResultSet {
  std::vector<ResultRow> rows;
  std::vector<Expectation> expectations;
  std::vector<WhatHelps> helps{};  // of some places, or of none
};

// Everything a feasible row was computed from. Refers to objects of the run; valid during the call it is passed to.
struct PointDetail {
  const ResultRow& row;
  const TrainingStep& step;
  const Machine& machine;
  const Plan& plan;
  const Evaluation& evaluation;
  const CostModel& costs;
};

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_ROWS_RESULT_H_

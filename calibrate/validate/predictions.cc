#include "calibrate/validate/predictions.h"

#include <algorithm>
#include <cstddef>

namespace spillway {

Problem ProblemOf(const CaseSetup& setup, const TrainingStep& step, const Runtime& runtime) {
  Problem problem;
  problem.step = &step;
  problem.costs = setup.costs;
  problem.capacity = setup.capacity;
  problem.use_runtime = true;
  problem.runtime = runtime;
  return problem;
}

std::vector<std::vector<double>> PredictionsOfAll(const CaseSetup& setup, const CostModel& costs,
                                                  const std::vector<ValidationRow>& rows) {
  std::vector<std::vector<double>> predictions;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (!rows[k].Measured()) continue;
    const Contender& contender = setup.contenders[k];
    Problem problem = ProblemOf(setup, setup.StepOf(contender), contender.plan->runtime);
    problem.costs = &costs;
    Evaluation evaluation = *contender.evaluation;
    evaluation.step_time = rows[k].predicted;  // by these costs
    std::vector<double>& by_model = predictions.emplace_back();
    for (const StepModel& model : StepModels()) {
      by_model.push_back(static_cast<double>(model.predict(evaluation, *contender.plan, problem)));
    }
  }
  return predictions;
}

std::vector<ModelPredictions> ModelsOf(const std::vector<std::vector<double>>& by_row,
                                       const std::vector<ValidationRow>& rows) {
  std::vector<ModelPredictions> models;
  for (std::size_t m = 0; m < StepModels().size(); ++m) {
    models.push_back({StepModels()[m].name, StepModels()[m].description, {}});
    for (const std::vector<double>& row : by_row) models.back().predicted.push_back(row[m]);
  }
  if (std::none_of(rows.begin(), rows.end(), [](const auto& row) { return row.as_calibrated > 0; })) return models;
  models.push_back({"as calibrated", "at the pace at which the profile was measured", {}});
  for (const ValidationRow& row : rows) {
    if (!row.Measured()) continue;
    models.back().predicted.push_back(static_cast<double>(row.as_calibrated > 0 ? row.as_calibrated : row.predicted));
  }
  return models;
}

}  // namespace spillway

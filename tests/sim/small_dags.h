// Every small network there is, as steps built by hand.
//
// A network is who reads what: op i reads any non-empty subset of the input and the results of the ops before it. Its
// backward op reads the gradient of its result, if anybody made one, and what forward saved: the result (as ReLU
// does), what op i read (as a convolution does), or both. It adds to the gradients of what op i read. An update ends
// the step.
#ifndef SPILLWAY_TESTS_SIM_SMALL_DAGS_H_
#define SPILLWAY_TESTS_SIM_SMALL_DAGS_H_

#include <string>
#include <utility>
#include <vector>

#include "sim/program/step_tables.h"
#include "tests/step_builder.h"

namespace spillway {

enum class Saves { kResult, kInputs, kBoth, kInTurn };
inline constexpr Saves kSaves[] = {Saves::kResult, Saves::kInputs, Saves::kBoth, Saves::kInTurn};

struct Dag {
  std::vector<unsigned> reads;  // by op from 1, [0] unused; bit 0 the input, bit j the result of op j
  Saves saves = Saves::kResult;
  int ops() const { return static_cast<int>(reads.size()) - 1; }
  bool Reads(int op, int value) const { return (reads[Index(op)] >> value & 1u) != 0; }
  bool SavesResult(int op) const { return saves != Saves::kInputs && (saves != Saves::kInTurn || op % 2 == 0); }
  bool SavesInputs(int op) const { return saves != Saves::kResult && (saves != Saves::kInTurn || op % 2 != 0); }
  std::string Text() const {
    std::string text = "reads";
    for (int op = 1; op <= ops(); ++op) text += " " + std::to_string(reads[Index(op)]);
    return text + ", saves " + std::to_string(static_cast<int>(saves));
  }
};

// 1, 3, 21, 315 and 9,765 networks for one to five ops, each with four ways to save.
inline std::vector<Dag> AllDags(int ops) {
  std::vector<Dag> dags{{.reads = {0}}};
  for (int op = 1; op <= ops; ++op) {
    std::vector<Dag> longer;
    for (const Dag& dag : dags) {
      for (unsigned subset = 1; subset < 1u << op; ++subset) {
        longer.push_back(dag);
        longer.back().reads.push_back(subset);
      }
    }
    dags = std::move(longer);
  }
  std::vector<Dag> all;
  for (Dag& dag : dags) {
    for (const Saves saves : kSaves) {
      dag.saves = saves;
      all.push_back(dag);
    }
  }
  return all;
}

// Sizes differ, so that addresses matter. Times are such that copies sometimes hide and sometimes do not.
inline constexpr Bytes kUnits[] = {2, 1, 3, 2, 1, 2};  // of the input and the results
inline constexpr Nanos kForwardTime[] = {0, 700, 300, 1500, 500, 1100};
inline constexpr Nanos kBackwardTime[] = {0, 900, 400, 2500, 600, 1300};

class DagStep {
 public:
  explicit DagStep(const Dag& dag) : dag_(dag) {
    MakeTensors();
    for (int op = 1; op <= dag.ops(); ++op) Forward(op);
    for (int op = dag.ops(); op >= 1; --op) Backward(op);
    step_.Op("update", Pass::kUpdate, 100, {weight_, weight_gradient_}, {weight_});
  }
  TrainingStep Take() { return step_.Take(); }

 private:
  bool IsSaved(int value) const {
    bool saved = value > 0 && dag_.SavesResult(value);
    for (int op = 1; op <= dag_.ops(); ++op) saved |= dag_.Reads(op, value) && dag_.SavesInputs(op);
    return saved;
  }

  void MakeTensors() {
    weight_ = step_.Tensor("weight", TensorClass::kParameter, kAllocationUnit);
    weight_gradient_ = step_.Tensor("weight_gradient", TensorClass::kParameterGradient, kAllocationUnit);
    value_.push_back(step_.Tensor("data", TensorClass::kInput, kUnits[0] * kAllocationUnit));
    gradient_.push_back(kNoTensor);
    made_.assign(Index(dag_.ops() + 1), false);
    for (int op = 1; op <= dag_.ops(); ++op) {
      const std::string number = std::to_string(op);
      const Bytes bytes = kUnits[op] * kAllocationUnit;
      value_.push_back(
          step_.Tensor("r" + number, IsSaved(op) ? TensorClass::kFeatureMap : TensorClass::kTransient, bytes));
      gradient_.push_back(step_.Tensor("g" + number, TensorClass::kGradient, bytes));
    }
  }

  void Forward(int op) {
    std::vector<TensorId> reads;
    for (int v = 0; v < op; ++v) {
      if (dag_.Reads(op, v)) reads.push_back(value_[Index(v)]);
    }
    if (op == 1) reads.push_back(weight_);
    step_.Op("f" + std::to_string(op), Pass::kForward, kForwardTime[op], reads, {value_[Index(op)]});
  }

  void Backward(int op) {
    std::vector<TensorId> reads, writes;
    if (made_[Index(op)]) reads.push_back(gradient_[Index(op)]);
    if (dag_.SavesResult(op)) reads.push_back(value_[Index(op)]);
    for (int v = 0; v < op; ++v) {
      if (!dag_.Reads(op, v)) continue;
      if (dag_.SavesInputs(op)) reads.push_back(value_[Index(v)]);
      if (v == 0) continue;
      if (made_[Index(v)]) reads.push_back(gradient_[Index(v)]);
      made_[Index(v)] = true;
      writes.push_back(gradient_[Index(v)]);
    }
    if (op == 1) writes.push_back(weight_gradient_);
    step_.Op("b" + std::to_string(op), Pass::kBackward, kBackwardTime[op], reads, writes);
  }

  const Dag& dag_;
  HandStep step_;
  TensorId weight_ = kNoTensor, weight_gradient_ = kNoTensor;
  std::vector<TensorId> value_, gradient_;  // by op; [0] the input
  std::vector<bool> made_;                  // by op: the gradient of its result exists
};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SIM_SMALL_DAGS_H_

// One step of Adam (Kingma and Ba 2015, arXiv 1412.6980, algorithm 1) and AdamW (Loshchilov and Hutter 2019, arXiv
// 1711.05101), as PyTorch writes it: with its decay rates of the means and its epsilon.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_ADAM_H_
#define SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_ADAM_H_

#include <algorithm>
#include <cmath>

#include "calibrate/devices/cpu/kernels.h"

namespace spillway::cpu {

class AdamStep {
 public:
  AdamStep(const CpuArguments& a, double weight_decay) {
    const double steps = static_cast<double>(a.iteration) + 1;
    rate_ = static_cast<float>(static_cast<double>(a.learning_rate) / (1 - std::pow(kMean, steps)));
    root_ = static_cast<float>(1 / std::sqrt(1 - std::pow(kSquare, steps)));
    kept_ = static_cast<float>(1 - static_cast<double>(a.learning_rate) * weight_decay);
  }
  // Moves the means on; returns what the mean is divided by.
  float Divisor(float gradient, float& mean, float& square) const {
    mean = static_cast<float>(kMean) * mean + static_cast<float>(1 - kMean) * gradient;
    square = static_cast<float>(kSquare) * square + static_cast<float>(1 - kSquare) * gradient * gradient;
    return std::sqrt(std::max(square, 0.0f)) * root_ + 1e-8f;  // below zero only where a bench filled it in
  }
  float Moved(float parameter, float mean, float divisor) const { return kept_ * parameter - rate_ * mean / divisor; }

 private:
  static constexpr double kMean = 0.9, kSquare = 0.999;
  float rate_, root_, kept_;
};

}  // namespace spillway::cpu

#endif  // SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_ADAM_H_

// What one operation may err by, and what a draw makes of it: said once, for the intervals of steps that are simulated
// (uncertainty.h) and of sums of operations that were measured (calibrate/accuracy/steps.h).
//
// An error is the logarithm of true / predicted time, the sum of three parts with normal deviates of their own:
//   stack   the same for all kernels of a device, or for all copies over a link
//   shared  the same for all answers of one model, law or curve
//   own     the same only for what computes the same
// What is common hangs on keys: whoever has the same key, in the same draw, errs alike.
#ifndef SPILLWAY_SIM_UNCERTAINTY_DRAWN_ERROR_H_
#define SPILLWAY_SIM_UNCERTAINTY_DRAWN_ERROR_H_

#include <cmath>
#include <cstdint>

#include "model/cost/cost_model.h"
#include "model/stats/deviates.h"
#include "model/util/hash.h"

namespace spillway {

struct ErrorPart {
  double size = 0;        // one standard deviation
  std::uint64_t key = 0;  // of its deviate
  // `deviate`: a standard normal deviate of a key in the draw, such as StratifiedDeviate's. Not asked for a part of
  // size 0.
  template <typename Deviate>
  double Drawn(const Deviate& deviate) const {
    return size > 0 ? size * deviate(key) : 0;
  }
};

// The keys under one `seed`. `whose`, `model`: a number or a text that tells stacks, or models, apart; no stack is named
// where there is only one. `work`: HashOfWork of a launch, bytes of a copy.
inline std::uint64_t KeyOfStack(std::uint64_t seed) { return Hasher(seed).Add("stack").Value(); }
inline std::uint64_t KeyOfStack(std::uint64_t seed, std::uint64_t whose) {
  return Hasher(seed).Add("stack").Add(whose).Value();
}
inline std::uint64_t KeyOfHost(std::uint64_t seed, std::uint64_t whose) {
  return Hasher(seed).Add("host").Add(whose).Value();
}
template <typename Model>
std::uint64_t KeyOfModel(std::uint64_t seed, const Model& model) {
  return Hasher(seed).Add("model").Add(model).Value();
}
inline std::uint64_t KeyOfWork(std::uint64_t seed, std::uint64_t work) {
  return Hasher(seed).Add("own").Add(work).Value();
}

// In one draw, as logarithms.
struct DrawnError {
  double stack = 0, shared = 0, own = 0;
  double OwnFactor() const { return std::exp(own); }
  double ModelFactor() const { return std::exp(shared + own); }  // without the stack's part
  double Factor() const { return std::exp(stack + shared + own); }
};

struct Errors {
  ErrorPart stack, shared, own;

  template <typename Deviate>
  DrawnError Drawn(const Deviate& deviate) const {
    return {stack.Drawn(deviate), shared.Drawn(deviate), own.Drawn(deviate)};
  }
  // Without what each operation has of its own.
  template <typename Deviate>
  double CommonFactor(const Deviate& deviate) const {
    return DrawnError{.stack = stack.Drawn(deviate), .shared = shared.Drawn(deviate)}.Factor();
  }
};

// ---- Kernels: the parts of a Cost's error, and the keys of their deviates.

// Of a cost that belongs to `work` (as for KeyOfWork); `all`: what everything of its kind shares.
Errors ErrorsOf(const Cost& cost, const ErrorPart& all, std::uint64_t work, std::uint64_t seed);

// What all kernels of a device share: it goes by its models and laws, or its bare figures, never by its name.
ErrorPart StackErrorOf(const Device& device, std::uint64_t seed);

Errors ErrorsOfKernel(const CostModel& costs, const Launch& launch, std::uint64_t seed, int device = 0);

}  // namespace spillway

#endif  // SPILLWAY_SIM_UNCERTAINTY_DRAWN_ERROR_H_

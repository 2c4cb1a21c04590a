#include "sim/certify/find_certificate.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/bounds/cut_bound.h"

namespace spillway {

namespace {

constexpr int kInstants = 24;

// As it comes back from a file.
double AsWritten(double value) { return ParseNumber(fmt::format("{:.15f}", value)).value_or(0); }

}  // namespace

std::optional<BoundCertificate> FindCertificate(const StepFacts& facts, Bytes capacity, const Scope& scope) {
  if (scope.parts != PartScope::kNone || scope.accumulate > 1 || scope.managed) return std::nullopt;
  static const LaunchMenus kNone;
  const BoundProblem problem = BoundProblemOf(facts.tables(), facts.costs(),
                                              scope.LeavesNoChoice() ? kNone : facts.menus(), {}, capacity, scope);
  const CutBound cut = BestCut(problem, kInstants);
  if (cut.op == kNoOp) return std::nullopt;
  BoundCertificate certificate{.scope = scope,
                               .capacity = capacity,
                               .op = cut.op,
                               .before = AsWritten(cut.before),
                               .after = AsWritten(cut.after),
                               .price = AsWritten(cut.price)};
  certificate.bound =
      std::min(cut.time, ProvenBound(*facts.tables().step, facts.costs(), certificate, facts.tables().device));
  if (certificate.bound <= 0) return std::nullopt;
  return certificate;
}

}  // namespace spillway

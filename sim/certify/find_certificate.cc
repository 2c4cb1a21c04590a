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
  if (scope.managed) return std::nullopt;
  const auto proven = [&](const BoundCertificate& c) {
    return ProvenBound(*facts.tables().step, facts.costs(), c, facts.tables().device);
  };
  BoundCertificate work{.scope = scope, .capacity = capacity};
  work.bound = proven(work);
  static const LaunchMenus kNoMenus;
  static const LaunchPartRates kNoParts;
  const BoundProblem problem = BoundProblemOf(
      facts.tables(), facts.costs(), scope.LeavesNoChoice() ? kNoMenus : facts.menus(),
      scope.parts == PartScope::kNone ? kNoParts : facts.part_rates(scope.parts, scope.tiles), capacity, scope);
  const CutBound cut = BestCut(problem, kInstants);
  if (cut.op == kNoOp) return work;
  BoundCertificate instant{.scope = scope,
                           .capacity = capacity,
                           .op = cut.op,
                           .before = AsWritten(cut.before),
                           .after = AsWritten(cut.after),
                           .price = AsWritten(cut.price)};
  instant.bound = std::min(cut.time, proven(instant));
  return instant.bound > work.bound ? instant : work;
}

}  // namespace spillway

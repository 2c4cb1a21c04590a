#include "sim/strategies/pooch/ladder.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace spillway {

Bytes RungBelow(Bytes capacity, int leading_bits) {
  const int bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(capacity)));
  const int shift = std::max(bits - leading_bits, 0);
  return capacity >> shift << shift;
}

namespace {

PoochModel WithCapacity(const PoochModel& model, Bytes capacity) {
  PoochProfile profile = model.profile();
  profile.capacity = capacity;
  return PoochModel(std::move(profile));
}

template <typename Make>
RungAnswer Ask(RungCache* memo, const RungQuestion& question, const Make& make) {
  return memo == nullptr ? make() : memo->Get(question, make);
}

RungAnswer Step1(const PoochModel& model, const RungQuestion& question) {
  const PoochModel on_rung = WithCapacity(model, question.rung);
  Search search(on_rung, SwapInRule::kWhenRoom);
  KeepOrSwap found = SearchKeepOrSwap(search, question.limits.step1);
  return {found.simulation.feasible, found.exact, std::move(found.classes), search.simulations};
}

// Step 1, where nothing is recomputed yet, is the same for every strategy that has one.
RungAnswer AskStep1(RungCache* memo, const PoochModel& model, RungQuestion question) {
  question.recompute = question.keep_passed = false;
  return Ask(memo, question, [&] { return Step1(model, question); });
}

RungAnswer BothSteps(RungCache* memo, const PoochModel& model, const RungQuestion& question) {
  RungAnswer answer = AskStep1(memo, model, question);
  if (!answer.feasible) return answer;
  const PoochModel on_rung = WithCapacity(model, question.rung);
  Search search(on_rung, SwapInRule::kWhenRoom);
  search.keep_passed = question.keep_passed;
  ChooseRecomputeWithin(search, question.limits.step2, answer.classes);
  answer.simulations += search.simulations;
  return answer;
}

}  // namespace

LadderLimits LimitsFor(const TrainingStep& step) {
  constexpr std::size_t kManyMaps = 200;  // ResNet-50 has 105, ResNet-152 309, ResNeXt-101 405
  if (step.maps.size() <= kManyMaps) return {};
  return {.rungs = 4, .step1 = 833, .step2 = 30000};
}

Ladder SearchLadder(Search& search, const RungQuestion& like, RungCache* memo) {
  Ladder ladder;
  RungQuestion question = like;
  const PoochModel& model = *search.model;
  const Nanos bound = search.Simulate(Classes(model.profile().maps.size(), MapClass::kFree)).total;
  question.rung = RungBelow(model.profile().capacity);
  for (; ladder.rungs < like.limits.rungs && question.rung > 0; question.rung = RungBelow(question.rung - 1)) {
    const RungAnswer answer = like.recompute ? Ask(memo, question, [&] { return BothSteps(memo, model, question); })
                                             : AskStep1(memo, model, question);
    search.simulations += answer.simulations;
    if (!answer.feasible) break;
    ++ladder.rungs;
    ladder.lowest = question.rung;
    ladder.exact = ladder.exact && answer.exact;
    const Nanos total = search.Simulate(answer.classes).total;
    if (total >= ladder.total) continue;
    ladder.total = total;
    ladder.best = answer.classes;
    ladder.found_for = question.rung;
    if (total > bound) continue;
    ladder.lowest = 0;
    break;
  }
  return ladder;
}

}  // namespace spillway

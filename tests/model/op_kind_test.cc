// The two tables that the rest goes by: what follows from a kind of op, and from a tensor's class.
#include "model/step/op_kind.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "model/step/tensor.h"

namespace spillway {
namespace {

TEST_CASE("every kind of op is found by its name, which is its own") {
  std::set<std::string> names;
  for (const OpTraits& traits : kOpTraits) {
    INFO(traits.name);
    CHECK((OpKindByName(traits.name) == traits.kind) == !traits.opaque);
    CHECK(OpKindName(traits.kind) == std::string(traits.name));
    CHECK(names.insert(traits.name).second);
  }
  CHECK(kOpTraits[static_cast<std::size_t>(kLastOpKind) + 1].kind == OpKind::kRecorded);
  CHECK(OpKindByName("relux") == std::nullopt);
  CHECK(PassByName("backward_filter") == Pass::kBackwardFilter);
}

TEST_CASE("work is counted from the weights of an op that has them, everything else's from its row") {
  for (const OpTraits& traits : kOpTraits) {
    INFO(traits.name);
    if (traits.opaque) continue;
    const bool forward = HasPass(traits.kind, Pass::kForward);
    const OpTraffic& traffic = forward ? traits.forward : traits.backward;
    const double passes = traffic.in + traffic.out + traffic.in_per_operand + traffic.out_per_operand;
    CHECK((passes > 0) == !traits.weights);
    CHECK(HasPass(traits.kind, Pass::kBackwardFilter) == traits.weights);
    CHECK((traits.product || !traits.weights));
    CHECK_FALSE((traits.elementwise && (traits.product || traits.window)));
    CHECK((traits.product || !traits.algorithms));
    CHECK((HasPass(traits.kind, Pass::kBackward) || !traits.backward_needs_forward));
  }
}

TEST_CASE("what stays on the device never moves and outlives the step; the input alone has its copy on the host") {
  for (const TensorTraits& traits : kTensorTraits) {
    INFO(traits.name);
    CHECK(TensorClassName(traits.use) == std::string(traits.name));
    CHECK_FALSE((traits.resident && (traits.may_move || !traits.outlives)));
    CHECK((traits.outlives || traits.may_move));
    CHECK(traits.on_host == (traits.use == TensorClass::kInput));
    CHECK_FALSE((traits.on_host && traits.resident));
  }
}

}  // namespace
}  // namespace spillway

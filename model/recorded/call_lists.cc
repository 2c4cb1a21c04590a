// Calls of a recording over lists of tensors: an optimizer's passes, one by one or in one kernel.
#include "model/recorded/call_rows.h"

namespace spillway {

namespace {

Launches One(const AskedCall& call, OpKind kind, Pass pass, const OpShape& shape) {
  return std::vector<Launch>{MadeLaunch(call, kind, pass, shape)};
}

// Of the first `lists` lists of tensors one behind the other, with `each` tensors, the elements of one. 0: the lists
// differ in shapes.
double ElementsOfLists(const AskedCall& call, std::size_t lists, std::size_t each) {
  if (each == 0 || call.inputs() < lists * each) return 0;
  double elements = 0;
  for (std::size_t k = 0; k < lists * each; ++k) {
    if (!AreAlike(call.Input(k), call.Input(k % each))) return 0;
    if (k < each) elements += call.Input(k).Elements();
  }
  return elements;
}

// A pass over lists of tensors as one over a tensor of all their elements: one kernel takes a whole list.
std::optional<OpShape> ListShape(const AskedCall& call, std::size_t lists, std::size_t each) {
  const double elements = ElementsOfLists(call, lists, each);
  if (!(elements >= 1 && elements <= 1e12)) return std::nullopt;
  return Alike({.c = static_cast<std::int64_t>(elements)});
}

// `touched`: how many tensors of a list are read or written.
Launches Lists(const AskedCall& call, std::size_t lists, std::int64_t touched) {
  if (call.inputs() % lists != 0) return std::nullopt;
  auto shape = ListShape(call, lists, call.inputs() / lists);
  if (!shape) return std::nullopt;
  shape->operands = touched;
  return One(call, OpKind::kForeach, Pass::kUpdate, *shape);
}

// `states` lists beside parameters and gradients, then `counters` lists of one number for each tensor, then single tensors.
Launches Fused(const AskedCall& call, std::size_t states, std::size_t counters) {
  const std::size_t lists = 2 + states, all = lists + counters;
  auto shape = ListShape(call, lists, call.inputs() / all);
  if (!shape) return std::nullopt;
  shape->operands = static_cast<std::int64_t>(lists);
  return One(call, OpKind::kUpdate, Pass::kUpdate, *shape);
}

}  // namespace

// A list and numbers, two lists, or a list and a tensor of one number.
Launches ListAndNumbersCall(const AskedCall& call) {
  if (call.overload == "List") return Lists(call, 2, 3);
  if (call.overload == "Scalar" || call.overload == "ScalarList" || call.overload == "default")
    return Lists(call, 1, 2);
  if (call.overload != "Tensor" || call.inputs() < 2) return std::nullopt;
  auto shape = ListShape(call, 1, call.inputs() - 1);
  if (!shape || call.of.inputs.back().Elements() != 1) return std::nullopt;
  shape->operands = 2;
  return One(call, OpKind::kForeach, Pass::kUpdate, *shape);
}

Launches AddListsCall(const AskedCall& call) {
  if (call.overload != "List") return ListAndNumbersCall(call);
  if (call.inputs() % 2 != 0) return std::nullopt;
  auto shape = ListShape(call, 2, call.inputs() / 2);
  if (!shape) return std::nullopt;
  shape->operands = 2;
  return One(call, OpKind::kAdd, call.EitherPass(), *shape);
}

Launches ListTimesNumberCall(const AskedCall& call) {
  if (call.overload != "Scalar") return ListAndNumbersCall(call);
  const auto shape = ListShape(call, 1, call.inputs());
  return shape ? One(call, OpKind::kCopy, call.EitherPass(), *shape) : std::nullopt;
}

Launches ListsBetweenCall(const AskedCall& call) { return Lists(call, 2, 3); }
Launches ListsProductCall(const AskedCall& call) { return Lists(call, 3, 4); }
Launches ListsReadCall(const AskedCall& call) { return Lists(call, 1, 1); }
Launches ListsCopyCall(const AskedCall& call) { return Lists(call, 2, 2); }

// (parameters, gradients, means, squares, counters of steps), or without the means; more lists with amsgrad.
Launches FusedAdamCall(const AskedCall& call) {
  if (call.inputs() % 5 == 0) {
    if (Launches plain = Fused(call, 2, 1)) return plain;
  }
  return call.inputs() % 6 == 0 ? Fused(call, 3, 1) : std::nullopt;
}
Launches FusedSgdCall(const AskedCall& call) {
  if (call.inputs() % 3 == 0) {
    if (Launches momentum = Fused(call, 1, 0)) return momentum;
  }
  return call.inputs() % 2 == 0 ? Fused(call, 0, 0) : std::nullopt;
}

}  // namespace spillway

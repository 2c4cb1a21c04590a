#include "model/step/op_kind.h"

#include "model/step/tensor.h"

namespace spillway {

const char* PassName(Pass pass) {
  switch (pass) {
    case Pass::kForward:
      return "forward";
    case Pass::kBackwardData:
      return "backward_data";
    case Pass::kBackwardFilter:
      return "backward_filter";
    case Pass::kBackwardBias:
      return "backward_bias";
    case Pass::kBackward:
      return "backward";
    case Pass::kUpdate:
      return "update";
  }
  return "?";
}

std::optional<Pass> PassByName(std::string_view name) { return ValueByName(name, Pass::kUpdate, PassName); }
std::optional<OpKind> OpKindByName(std::string_view name) { return ValueByName(name, kLastOpKind, OpKindName); }

}  // namespace spillway

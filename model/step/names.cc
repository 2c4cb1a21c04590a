#include "model/step/names.h"

namespace spillway {
namespace {

// Values count from 0 to `last` without gaps.
template <typename Value>
std::optional<Value> ByName(std::string_view name, Value last, const char* (*name_of)(Value)) {
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    if (name == name_of(static_cast<Value>(i))) return static_cast<Value>(i);
  }
  return std::nullopt;
}

}  // namespace

std::optional<OpKind> OpKindByName(std::string_view name) { return ByName(name, OpKind::kUpdate, OpKindName); }
std::optional<Pass> PassByName(std::string_view name) { return ByName(name, Pass::kUpdate, PassName); }
std::optional<DataType> DataTypeByName(std::string_view name) { return ByName(name, DataType::kBf16, DataTypeName); }
std::optional<MathMode> MathModeByName(std::string_view name) { return ByName(name, MathMode::kBf16, MathModeName); }
std::optional<Layout> LayoutByName(std::string_view name) { return ByName(name, Layout::kNhwc, LayoutName); }

}  // namespace spillway

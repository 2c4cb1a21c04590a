#include "model/recorded/call_rows.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "hw/text/units.h"

namespace spillway {

namespace {

constexpr double kMostElements = 1e12;  // of a tensor, as of networks
constexpr std::int64_t kMostScalar = 1'000'000'000;
constexpr std::size_t kPlanes = 4, kVolumes = 5;  // axes of maps of 2-D and of 3-D networks

bool IsUsable(const RecordedOperand& operand) {
  return std::all_of(operand.shape.begin(), operand.shape.end(), [](std::int64_t size) { return size >= 1; }) &&
         operand.Elements() <= kMostElements;
}

std::optional<DataType> FloatOf(const RecordedOperand& operand, const std::string& precision) {
  if (operand.type.empty()) {
    const auto whole = DataTypeByName(precision);
    return whole && IsFloat(*whole) ? *whole : DataType::kFp32;
  }
  const auto type = DataTypeByName(operand.type);
  return type && IsFloat(*type) ? type : std::nullopt;
}

MathMode MathOf(DataType type, const std::string& precision) {
  if (type == DataType::kFp16) return MathMode::kFp16;
  if (type == DataType::kBf16) return MathMode::kBf16;
  return precision == MathModeName(MathMode::kTf32) ? MathMode::kTf32 : MathMode::kFp32;
}

// Of maps of several channels and places; others are both.
Layout LayoutOf(const RecordedOperand& operand) {
  const std::size_t axes = operand.shape.size();
  if ((axes != kPlanes && axes != kVolumes) || operand.strides.size() != axes) return Layout::kNchw;
  const bool last = operand.strides[1] == 1 && operand.shape[1] > 1 && operand.strides.back() == operand.shape[1];
  return last ? Layout::kNhwc : Layout::kNchw;
}

std::int64_t Product(const std::int64_t* begin, const std::int64_t* end) {
  return std::accumulate(begin, end, std::int64_t{1}, [](std::int64_t a, std::int64_t b) { return a * b; });
}

}  // namespace

CallName CallNameOf(std::string_view op) {
  for (const std::string_view prefix : {"aten::", "aten."}) {
    if (op.starts_with(prefix)) op.remove_prefix(prefix.size());
  }
  const std::size_t dot = op.find('.');
  return {op.substr(0, dot), dot == op.npos ? std::string_view() : op.substr(dot + 1)};
}

double RecordedOperand::Elements() const {
  double elements = 1;
  for (const std::int64_t size : shape) elements *= static_cast<double>(size);
  return elements;
}

std::optional<AskedCall> Asked(const RecordedArguments& call, std::string_view overload, bool any_type) {
  if (any_type) return AskedCall{call, overload};
  if (call.inputs.empty()) return std::nullopt;
  const auto type = FloatOf(call.inputs.front(), call.precision);
  if (!type) return std::nullopt;
  return AskedCall{call, overload, *type, LayoutOf(call.inputs.front())};
}

Launch MadeLaunch(const AskedCall& call, OpKind kind, Pass pass, const OpShape& shape) {
  Launch launch{.kind = kind, .pass = pass, .shape = shape, .type = call.type, .layout = call.layout};
  if (IsProduct(kind)) launch.math = MathOf(call.type, call.of.precision);
  return launch;
}

std::optional<Shape> MapOf(const RecordedOperand& operand) {
  if (!IsUsable(operand)) return std::nullopt;
  const std::vector<std::int64_t>& s = operand.shape;
  switch (s.size()) {
    case 0:
      return Shape{};
    case 1:
      return Shape{.c = s[0]};
    case 2:
      return Shape{.n = s[0], .c = s[1]};
    case 3:
      return Shape{.n = s[0], .c = s[1], .w = s[2]};
    case kPlanes:
      return Shape{.n = s[0], .c = s[1], .h = s[2], .w = s[3]};
    case kVolumes:
      return Shape{.n = s[0], .c = s[1], .d = s[2], .h = s[3], .w = s[4]};
    default:
      return Shape{.c = Product(s.data(), s.data() + s.size())};
  }
}

std::optional<Shape> RowsOf(const RecordedOperand& operand, std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(operand.shape.size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank || !IsUsable(operand)) return std::nullopt;
  if (axis == 1 && rank <= static_cast<std::int64_t>(kVolumes)) return MapOf(operand);
  const std::int64_t* const sizes = operand.shape.data();
  return Shape{.n = Product(sizes, sizes + axis), .c = sizes[axis], .w = Product(sizes + axis + 1, sizes + rank)};
}

bool SlidesTo(const Shape& in, const Shape& out, const OpShape& window, bool rounds_up) {
  const std::array<std::int64_t, 3> from{in.d, in.h, in.w}, to{out.d, out.h, out.w};
  for (std::size_t k = 0; k < from.size(); ++k) {
    const std::int64_t padded = from[k] + window.pad[k].Sum(), stride = window.stride[k];
    if (window.window[k] < 1 || stride < 1 || window.dilation[k] < 1) return false;
    if (window.window[k] - 1 > (padded - 1) / window.dilation[k]) return false;
    const std::int64_t reach = (window.window[k] - 1) * window.dilation[k] + 1;
    const std::int64_t span = padded - reach, whole = span / stride + 1;
    if (to[k] != whole && !(rounds_up && span % stride != 0 && to[k] == whole + 1)) return false;
  }
  return in.n == out.n;
}

std::vector<std::int64_t> LeadingNumbers(const std::vector<std::string>& scalars) {
  std::vector<std::int64_t> numbers;
  for (const std::string& scalar : scalars) {
    const auto number = ParseInteger(scalar);
    if (!number || *number > kMostScalar || *number < -kMostScalar) break;
    numbers.push_back(*number);
  }
  return numbers;
}

bool AreAllButChannels(const std::vector<std::int64_t>& axes, std::size_t rank) {
  if (rank < 2 || axes.size() + 1 != rank) return false;
  std::vector<bool> seen(rank, false);
  for (const std::int64_t axis : axes) {
    const std::int64_t at = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
    if (at < 0 || at == 1 || at >= static_cast<std::int64_t>(rank)) return false;
    if (seen[static_cast<std::size_t>(at)]) return false;
    seen[static_cast<std::size_t>(at)] = true;
  }
  return true;
}

std::int64_t ScalarsFromEnd::Number() {
  const auto number = left_ == 0 ? std::nullopt : ParseInteger(scalars_[--left_]);
  good_ = good_ && number && *number >= 0 && *number <= kMostScalar;
  return good_ ? *number : 0;
}

bool ScalarsFromEnd::Flag() {
  if (left_ == 0) return good_ = false;
  const std::string& flag = scalars_[--left_];
  good_ = good_ && (flag == "true" || flag == "false");
  return good_ && flag == "true";
}

}  // namespace spillway

#include "model/profile/launch_text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <vector>

#include "hw/text/document.h"
#include "model/kernels/kernel_form.h"
#include "model/profile/profile_names.h"
#include "model/step/op_kind.h"

namespace spillway {
namespace {

using Triple = std::array<std::int64_t, 3>;
constexpr std::string_view kArrow = "->";

void AddTriple(const char* word, const Triple& triple, std::int64_t usual, std::string* text) {
  if (triple == Triple{usual, usual, usual}) return;
  *text += fmt::format(" {} ", word);
  if (triple[0] != usual) *text += fmt::format("{}x", triple[0]);
  *text += fmt::format("{}x{}", triple[1], triple[2]);
}

void AddNumber(const char* word, std::int64_t number, std::string* text) {
  if (number != 1) *text += fmt::format(" {} {}", word, number);
}

// "3x64x7" as its numbers; none at all if anything else is in it.
std::vector<std::int64_t> Numbers(std::string_view text) {
  std::vector<std::int64_t> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    std::int64_t number = 0;
    const auto [after, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number < 0) return {};
    numbers.push_back(number);
    if (after == end) return numbers;
    if (*after != 'x') return {};
    at = after + 1;
  }
}

std::string_view NextWord(std::string_view* rest) {
  const std::size_t space = rest->find(' ');
  const std::string_view word = rest->substr(0, space);
  *rest = space == rest->npos ? std::string_view() : rest->substr(space + 1);
  return word;
}

bool ReadShape(std::string_view text, Shape* shape) {
  std::vector<std::int64_t> sizes = Numbers(text);
  if (sizes.size() == 4) sizes.insert(sizes.begin() + 2, 1);
  if (sizes.size() != 5) return false;
  *shape = {.n = sizes[0], .c = sizes[1], .d = sizes[2], .h = sizes[3], .w = sizes[4]};
  return true;
}

bool ReadTriple(std::string_view text, Triple* triple) {
  const std::vector<std::int64_t> sizes = Numbers(text);
  if (sizes.size() != 2 && sizes.size() != 3) return false;
  if (sizes.size() == 3) (*triple)[0] = sizes[0];
  (*triple)[1] = sizes[sizes.size() - 2];
  (*triple)[2] = sizes[sizes.size() - 1];
  return true;
}

bool ReadNumber(std::string_view text, std::int64_t* number) {
  const std::vector<std::int64_t> numbers = Numbers(text);
  if (numbers.size() != 1) return false;
  *number = numbers[0];
  return true;
}

// Without "pad_end" as much behind as before.
bool ReadPad(std::string_view text, bool both, OpShape* shape) {
  Triple pad{0, 0, 0};
  if (!ReadTriple(text, &pad)) return false;
  for (std::size_t k = 0; k < pad.size(); ++k) {
    if (both) shape->pad[k].begin = pad[k];
    shape->pad[k].end = pad[k];
  }
  return true;
}

bool ReadWord(std::string_view word, std::string_view value, OpShape* shape) {
  if (word == "window") return ReadTriple(value, &shape->window);
  if (word == "dilation") return ReadTriple(value, &shape->dilation);
  if (word == "stride") return ReadTriple(value, &shape->stride);
  if (word == "pad" || word == "pad_end") return ReadPad(value, word == "pad", shape);
  if (word == "groups") return ReadNumber(value, &shape->groups);
  return word == "operands" && ReadNumber(value, &shape->operands);
}

bool ReadOpShape(std::string_view text, OpShape* shape) {
  if (!ReadShape(NextWord(&text), &shape->in)) return false;
  shape->out = shape->in;
  while (!text.empty()) {
    const std::string_view word = NextWord(&text);
    const std::string_view value = NextWord(&text);
    if (word == kArrow ? !ReadShape(value, &shape->out) : !ReadWord(word, value, shape)) return false;
  }
  return true;
}

template <typename Value>
Value Known(const char* what, const std::string& name, Value last, const char* (*name_of)(Value)) {
  return KnownValue(what, name, last, name_of, [](const std::string& why) { throw UserError(why); }).value();
}

std::int32_t KnownAlgorithm(const Launch& launch, const MeasuredOp& op) {
  const std::int32_t algorithm = AlgorithmByName(launch.kind, launch.pass, op.algorithm);
  if (algorithm != 0 || op.algorithm.empty()) return algorithm;
  const auto known = AlgorithmNames(launch.kind, launch.pass);
  throw UserError(fmt::format("unknown algorithm '{}' of {} {}{}", op.algorithm, OpKindName(op.op), PassName(op.pass),
                              DidYouMean(op.algorithm, {known.begin(), known.end()})));
}

}  // namespace

std::string OpShapeText(const OpShape& shape) {
  std::string text = ShapeText(shape.in);
  if (shape.out != shape.in) text += fmt::format(" {} {}", kArrow, ShapeText(shape.out));
  AddTriple("window", shape.window, 1, &text);
  AddTriple("stride", shape.stride, 1, &text);
  AddTriple("dilation", shape.dilation, 1, &text);
  AddTriple("pad", shape.PadBegin(), 0, &text);
  if (shape.PadEnd() != shape.PadBegin()) AddTriple("pad_end", shape.PadEnd(), -1, &text);
  AddNumber("groups", shape.groups, &text);
  AddNumber("operands", shape.operands, &text);
  return text;
}

std::string FormatText(const Launch& launch) {
  if (launch.type == DataType::kFp32 && launch.layout == Layout::kNchw) return "";
  return fmt::format(" in {} {}", DataTypeName(launch.type), LayoutName(launch.layout));
}

std::optional<OpShape> OpShapeByText(std::string_view text) {
  OpShape shape;
  if (!ReadOpShape(text, &shape) || OpShapeText(shape) != text) return std::nullopt;
  return shape;
}

MeasuredOp MeasuredOpOf(const Launch& launch) {
  MeasuredOp op;
  op.op = launch.kind;
  op.pass = launch.pass;
  op.shape = OpShapeText(launch.shape);
  op.algorithm = AlgorithmName(launch.kind, launch.pass, launch.algorithm);
  op.math = MathModeName(launch.math);
  op.precision = DataTypeName(launch.type);
  op.layout = LayoutName(launch.layout);
  op.accumulate = launch.accumulate;
  return op;
}

Launch LaunchOf(const MeasuredOp& op) {
  Launch launch;
  launch.kind = op.op;
  launch.pass = op.pass;
  launch.math = Known("math", op.math, MathMode::kBf16, MathModeName);
  launch.type = Known("precision", op.precision, kLastFloat, DataTypeName);
  launch.layout = Known("layout", op.layout, Layout::kNhwc, LayoutName);
  launch.algorithm = KnownAlgorithm(launch, op);
  const std::optional<OpShape> shape = OpShapeByText(op.shape);
  if (!shape) {
    throw UserError(
        fmt::format("wrong shape '{}', expected one like '32x16x8x8 -> 32x32x8x8 window 3x3 pad 1x1'", op.shape));
  }
  launch.shape = *shape;
  launch.accumulate = op.accumulate;
  return launch;
}

}  // namespace spillway

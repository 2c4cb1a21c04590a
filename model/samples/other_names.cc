#include "model/samples/other_names.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "hw/text/lists.h"

namespace spillway {
namespace {

// As Plain has them.
constexpr std::pair<const char*, Column> kReadAs[] = {
    {"padding", Column::kPad},
    {"pads", Column::kPad},
    {"padh", Column::kPad},
    {"padheight", Column::kPad},
    {"paddingh", Column::kPad},
    {"paddingheight", Column::kPad},
    {"padwidth", Column::kPadW},
    {"paddingw", Column::kPadW},
    {"paddingwidth", Column::kPadW},
    {"paddepth", Column::kPadD},
    {"paddingd", Column::kPadD},
    {"paddingdepth", Column::kPadD},
    {"strides", Column::kStride},
    {"strideh", Column::kStride},
    {"strideheight", Column::kStride},
    {"stridesh", Column::kStride},
    {"stridewidth", Column::kStrideW},
    {"stridesw", Column::kStrideW},
    {"stridedepth", Column::kStrideD},
    {"stridesd", Column::kStrideD},
    {"dilations", Column::kDilation},
    {"dilationh", Column::kDilation},
    {"dilationheight", Column::kDilation},
    {"dilationsw", Column::kDilationW},
    {"dilationwidth", Column::kDilationW},
    {"dilationsd", Column::kDilationD},
    {"dilationdepth", Column::kDilationD},
    {"group", Column::kGroups},
    {"groupcount", Column::kGroups},
    {"numgroup", Column::kGroups},
    {"numgroups", Column::kGroups},
    {"ngroups", Column::kGroups},
    {"convgroups", Column::kGroups},
    {"dtype", Column::kPrecision},
    {"datatype", Column::kPrecision},
    {"dataformat", Column::kLayout},
    {"datalayout", Column::kLayout},
    {"tensorformat", Column::kLayout},
    {"tensorlayout", Column::kLayout},
    {"mathtype", Column::kMath},
    {"mathmode", Column::kMath},
    {"kernelsize", Column::kR},
    {"kernelh", Column::kR},
    {"kernelheight", Column::kR},
    {"filtersize", Column::kR},
    {"filterh", Column::kR},
    {"filterheight", Column::kR},
    {"kernelw", Column::kS},
    {"kernelwidth", Column::kS},
    {"filterw", Column::kS},
    {"filterwidth", Column::kS},
    {"kh", Column::kR},
    {"kw", Column::kS},
    {"fh", Column::kR},
    {"fw", Column::kS},
};

constexpr OtherName kOtherNames[] = {
    {"dilat", false, Matter::kWindow, "1", "the columns are called dilation, dilation_w and dilation_d"},
    {"atrous", false, Matter::kWindow, "1", "the columns are called dilation, dilation_w and dilation_d"},
    {"pad", false, Matter::kWindow, "0", "the columns are called pad, pad_w and pad_d, for both sides of an axis"},
    {"strid", false, Matter::kWindow, "1", "the columns are called stride, stride_w and stride_d"},
    {"window", false, Matter::kWindow, "", "the columns are called r, s and t: the window's height, width and depth"},
    {"kernelshape", true, Matter::kWindow, "",
     "the columns are called r, s and t: the window's height, width and depth"},
    {"s", true, Matter::kWindow, "", "the columns are called s, the window's width, and stride"},
    {"transpos", false, Matter::kGroups, "0", "a transposed convolution is a row of op transposed_convolution"},
    {"deconv", false, Matter::kGroups, "0", "a transposed convolution is a row of op transposed_convolution"},
    {"group", false, Matter::kGroups, "1", "the column is called groups"},
    {"dtype", false, Matter::kFormat, "fp32", "the column is called precision"},
    {"datatype", false, Matter::kFormat, "fp32", "the column is called precision"},
    {"precision", false, Matter::kFormat, "fp32", "the column is called precision"},
    {"layout", false, Matter::kFormat, "nchw", "the column is called layout"},
};

std::string Plain(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) continue;
    plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return plain;
}

}  // namespace

std::optional<Column> ColumnCalled(std::string_view name) {
  if (const auto own = IndexIn(kColumnNames, name)) return static_cast<Column>(*own);
  const std::string plain = Plain(name);
  if (plain.size() < 2) return std::nullopt;
  for (std::size_t i = 0; i < kColumnNames.size(); ++i) {
    if (Plain(kColumnNames[i]) == plain) return static_cast<Column>(i);
  }
  for (const auto& [other, column] : kReadAs) {
    if (plain == other) return column;
  }
  return std::nullopt;
}

const OtherName* FindOtherName(std::string_view name) {
  const std::string plain = Plain(name);
  for (const OtherName& about : kOtherNames) {
    if (about.whole ? plain == about.word : plain.find(about.word) != std::string::npos) return &about;
  }
  return nullptr;
}

bool IsHarmless(const OtherName& about, const std::string& cell) {
  if (cell.empty() || PrecisionWord(cell) == about.harmless) return true;
  const std::optional<std::int64_t> number = EqualNumbers(cell), usual = ParseInteger(about.harmless);
  const std::string word = InLowerCase(cell);
  if (usual == 0 && (word == "false" || word == "no" || word == "none" || word == "valid")) return true;
  return number && number == usual;
}

std::optional<std::int64_t> EqualNumbers(std::string_view text) {
  if (const auto number = ParseInteger(text)) return number;
  constexpr std::string_view kAtNoEnd = ",;x*";  // "9x" is a slip
  if (text.empty() || kAtNoEnd.find(text.front()) != text.npos || kAtNoEnd.find(text.back()) != text.npos) return {};
  constexpr std::string_view kBetween = " ,;x*()[]{}";
  std::optional<std::int64_t> all;
  for (std::size_t begin = 0; begin < text.size();) {
    begin = text.find_first_not_of(kBetween, begin);
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(text.find_first_of(kBetween, begin), text.size());
    const auto number = ParseInteger(text.substr(begin, end - begin));
    if (!number || (all && *all != *number)) return std::nullopt;
    all = number;
    begin = end;
  }
  return all;
}

std::string PrecisionWord(const std::string& text) {
  static constexpr std::pair<const char*, const char*> kWords[] = {
      {"float32", "fp32"}, {"float", "fp32"}, {"f32", "fp32"},      {"single", "fp32"}, {"float16", "fp16"},
      {"half", "fp16"},    {"f16", "fp16"},   {"bfloat16", "bf16"}, {"bfloat", "bf16"},
  };
  std::string word = InLowerCase(text);
  if (word.starts_with("torch.")) word.erase(0, word.find('.') + 1);
  for (const auto& [other, ours] : kWords) {
    if (word == other) return ours;
  }
  return word;
}

std::string InLowerCase(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace spillway


#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <string_view>

#include "model/profile/launch_text.h"
#include "model/profile/profile_text.h"

namespace spillway {
namespace {

// The rest of MeasuredKey().
std::string AfterShape(const MeasuredOp& op) {
  std::string text;
  const MeasuredOp usual;
  if (!op.algorithm.empty()) text += ", algorithm " + op.algorithm;
  if (op.math != usual.math) text += ", math " + op.math;
  if (op.precision != usual.precision) text += ", precision " + op.precision;
  if (op.layout != usual.layout) text += ", layout " + op.layout;
  if (op.accumulate) text += ", accumulate yes";
  return text;
}

// One text of the list, part by part; every complaint names its part's place.
class OpReader {
 public:
  OpReader(const Node& node, Diagnostics& diagnostics) : node_(node), diagnostics_(diagnostics) {}
  MeasuredOp Read();

 private:
  struct Part {
    std::string_view text;
    std::size_t offset = 0;  // in the whole text
  };

  Part NextPart();
  void ReadLaunch(const Part& part);
  void FindNames();
  void ReadWord(const Part& part);
  bool ReadName(std::string_view word, std::string_view value);
  void Error(const Part& part, const std::string& message);

  template <typename T>
  void Set(const Part& part, std::string_view word, std::string_view value, std::optional<T> parsed, bool holds,
           const char* expected, T& target) {
    if (parsed && holds) {
      target = *parsed;
    } else {
      Error(part, fmt::format("{}: expected {}, found '{}'", word, expected, value));
    }
  }
  void SetNumber(const Part& part, std::string_view word, std::string_view value, double least, double most,
                 double& target) {
    const std::optional<double> number = ParseNumber(value);
    Set(part, word, value, number, number && *number >= least && *number <= most,
        fmt::format("a number from {} to {}", least, most).c_str(), target);
  }

  const Node& node_;
  Diagnostics& diagnostics_;
  MeasuredOp op_;
  std::string op_name_, pass_name_;
  std::string_view rest_;
  std::set<std::string_view> seen_;
};

void OpReader::Error(const Part& part, const std::string& message) {
  diagnostics_.Error({node_.mark.line, node_.mark.column + static_cast<int>(part.offset)}, message);
}

// Up to the next comma, without the spaces around it.
OpReader::Part OpReader::NextPart() {
  const std::string_view all = node_.scalar;
  const std::size_t comma = rest_.find(',');
  std::string_view text = rest_.substr(0, comma);
  rest_ = comma == rest_.npos ? std::string_view() : rest_.substr(comma + 1);
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return {text, static_cast<std::size_t>(text.data() - all.data())};
}

void OpReader::ReadLaunch(const Part& part) {
  const std::size_t op = part.text.find(' ');
  const std::size_t pass = op == part.text.npos ? op : part.text.find(' ', op + 1);
  if (pass == part.text.npos || pass + 1 == part.text.size()) {
    return Error(part, fmt::format("expected op, pass and shape ('relu forward 32x16x8x8'), found '{}'", part.text));
  }
  op_name_ = part.text.substr(0, op);
  pass_name_ = part.text.substr(op + 1, pass - op - 1);
  op_.shape = part.text.substr(pass + 1);
}

// Names and a shape that this program knows, or the launch keeps no shape.
void OpReader::FindNames() {
  const auto refuse = [this](const std::string& why) {
    if (op_.shape.empty()) return;
    const std::string key = fmt::format("{} {} {}{}", op_name_, pass_name_, op_.shape, AfterShape(op_));
    diagnostics_.Error(node_.mark, fmt::format("measured '{}': {}", key, why));
    op_.shape.clear();
  };
  const auto op = KnownOp(op_name_, refuse);
  const auto pass = KnownPass(pass_name_, refuse);
  if (!op || !pass) return;
  op_.op = *op;
  op_.pass = *pass;
  try {
    LaunchOf(op_);
  } catch (const UserError& error) {
    refuse(error.what());
  }
}

bool OpReader::ReadName(std::string_view word, std::string_view value) {
  std::string* const target = word == "algorithm"   ? &op_.algorithm
                              : word == "math"      ? &op_.math
                              : word == "precision" ? &op_.precision
                              : word == "layout"    ? &op_.layout
                                                    : nullptr;
  if (target != nullptr) *target = value;
  return target != nullptr;
}

void OpReader::ReadWord(const Part& part) {
  static const std::vector<std::string> words = {"algorithm", "math",  "precision", "layout",       "accumulate",
                                                 "time",      "error", "workspace", "copy_slowdown"};
  const std::size_t space = part.text.find(' ');
  const std::string_view word = part.text.substr(0, space);
  const std::string_view value = space == part.text.npos ? std::string_view() : part.text.substr(space + 1);
  if (!seen_.insert(word).second) return Error(part, fmt::format("'{}' comes twice", word));
  if (!value.empty() && ReadName(word, value)) return;
  if (word == "accumulate") return Set<bool>(part, word, value, true, value == "yes", "yes", op_.accumulate);
  if (word == "time") {
    const std::optional<Nanos> time = ParseDuration(value);
    return Set(part, word, value, time, time.value_or(0) > 0, "a duration above zero (123 us)", op_.time);
  }
  if (word == "workspace") {
    return Set(part, word, value, ParseBytes(value), true, "a size (64 KiB)", op_.workspace);
  }
  if (word == "error") return SetNumber(part, word, value, 0, kMostError, op_.error);
  if (word == "copy_slowdown") return SetNumber(part, word, value, 1, kMostSlowdown, op_.copy_slowdown);
  Error(part, fmt::format("expected a word ({}) and its value, found '{}'{}", fmt::join(words, ", "), part.text,
                          DidYouMean(word, words)));
}

MeasuredOp OpReader::Read() {
  if (!node_.IsScalar()) {
    diagnostics_.Error(node_.mark, "expected a text: op, pass and shape of a launch, then what was measured");
    return op_;
  }
  rest_ = node_.scalar;
  const Part launch = NextPart();
  ReadLaunch(launch);
  while (!rest_.empty()) ReadWord(NextPart());
  if (!seen_.contains("time")) Error(launch, "the time is missing (time 123 us)");
  if (!op_.shape.empty()) FindNames();
  return op_;
}

void CheckUnique(const Node& list, const std::vector<MeasuredOp>& ops, Diagnostics& diagnostics) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const std::string key = MeasuredKey(ops[i]);
    if (ops[i].shape.empty() || seen.insert(key).second) continue;
    diagnostics.Error(list.items[i].mark, fmt::format("a second time for {}", key));
  }
}

}  // namespace

std::string MeasuredKey(const MeasuredOp& op) {
  return fmt::format("{} {} {}{}", OpKindName(op.op), PassName(op.pass), op.shape, AfterShape(op));
}

std::string MeasuredOpText(const MeasuredOp& op) {
  std::string text = fmt::format("{}, time {} ns, error {}", MeasuredKey(op), op.time, op.error);
  if (op.workspace != 0) text += fmt::format(", workspace {} B", op.workspace);
  if (op.copy_slowdown != 1) text += fmt::format(", copy_slowdown {}", op.copy_slowdown);
  return text;
}

namespace {

// What stands between `before` and `after`; "" where that is not so.
std::string Between(const std::string& text, const std::string& before, const std::string& after) {
  const std::size_t begin = text.find(before);
  if (begin == std::string::npos) return "";
  const std::size_t from = begin + before.size(), end = text.find(after, from);
  return end == std::string::npos ? "" : text.substr(from, end - from);
}

// As calibrations wrote it into the source's text: "a GPU, driver 550.54, CUDA 12.4, cuDNN 9.1.0, 2026-05-01: medians of
// each launch alone, operands cold".
MeasuredWith OldWords(const std::string& text) {
  MeasuredWith with;
  for (const OperandState state : {OperandState::kCold, OperandState::kWarm}) {
    const std::string& name = OperandStateNames()[static_cast<std::size_t>(state)];
    if (text.find("medians of each launch alone, operands " + name) != std::string::npos) with.operands = state;
  }
  with.driver = Between(text, ", driver ", ", CUDA ");
  with.cuda = Between(text, ", CUDA ", ", cuDNN ");
  with.cudnn = Between(text, ", cuDNN ", ",");
  return with;
}

MeasuredWith ReadMeasuredWith(MapReader& reader, const std::string& text, Diagnostics& diagnostics) {
  MeasuredWith with;
  const bool older = reader.Optional("operands") == nullptr;
  if (older) with = OldWords(text);
  with.operands =
      static_cast<OperandState>(reader.ChoiceOr("operands", OperandStateNames(), static_cast<int>(with.operands)));
  const Node* node = reader.Optional("software");
  if (node == nullptr) return with;
  MapReader software(*node, diagnostics, "software", MeasuredSoftwareKeys());
  with.driver = software.StringOr("driver", "");
  with.cuda = software.StringOr("cuda", "");
  with.cudnn = software.StringOr("cudnn", "");
  software.Finish();
  return with;
}

std::string MeasuredWithText(const MeasuredWith& with) {
  std::string text = fmt::format("      operands: {}\n", OperandStateNames()[static_cast<std::size_t>(with.operands)]);
  std::string software;
  const auto add = [&software](const char* key, const std::string& version) {
    if (!version.empty()) software += fmt::format("{}{}: {}", software.empty() ? "" : ", ", key, Quoted(version));
  };
  add("driver", with.driver);
  add("cuda", with.cuda);
  add("cudnn", with.cudnn);
  return software.empty() ? text : text + fmt::format("      software: {{{}}}\n", software);
}

}  // namespace

void ReadMeasured(const Node& node, Diagnostics& diagnostics, const std::string& owner, Device& device) {
  MapReader reader(node, diagnostics, "measured of " + owner, MeasuredKeys());
  device.measured_source = ReadSource(reader, diagnostics);
  device.measured_with = ReadMeasuredWith(reader, device.measured_source.text, diagnostics);
  if (const Node* ops = reader.Required("ops")) {
    device.measured = ReadList<MeasuredOp>(ops, 0, "measured launch", diagnostics,
                                           [&](const Node& item) { return OpReader(item, diagnostics).Read(); });
    CheckUnique(*ops, device.measured, diagnostics);
  }
  reader.Finish();
}

std::string MeasuredText(const Device& device) {
  std::string text = fmt::format("    measured:\n      source: {}\n{}      ops:\n", SourceText(device.measured_source),
                                 MeasuredWithText(device.measured_with));
  for (const MeasuredOp& op : device.measured) text += fmt::format("        - {}\n", MeasuredOpText(op));
  return text;
}

}  // namespace spillway

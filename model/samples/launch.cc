#include "model/step/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "hw/text/lists.h"
#include "model/kernels/kernel_form.h"
#include "model/samples/ops.h"
#include "model/samples/other_names.h"
#include "model/step/op_kind.h"

namespace spillway {
namespace {

constexpr std::int64_t kLargestSize = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kLargestWindow = 1 << 20;
constexpr double kMostElements = 9007199254740992.0;  // 2^53: counted exactly by a double
constexpr std::int64_t kUsualLrn = 5;                 // channels summed over: AlexNet's, and the library's default

class LaunchReader {
 public:
  LaunchReader(SampleRow& row, const OpWord& op, Sample& sample)
      : row_(row), op_(op), sample_(sample), launch_(sample.launch), shape_(sample.launch.shape) {}
  void Read();

 private:
  void ReadPass();
  void ReadAlgorithm();
  void ReadBest(std::string& name);
  void ReadFormats();
  void RequireSizes();
  void ReadInput();
  void ReadOutput();
  void ReadOperands();
  void ReadWindow();
  void CheckGroups();
  void CheckSize();
  std::int64_t Spread(int axis, std::int64_t size, Column out);
  std::int64_t Slide(int axis, std::int64_t size, Column out);
  std::int64_t Size(Column column, std::int64_t fallback) { return row_.Integer(column, fallback, 1, kLargestSize); }
  OpKind kind() const { return launch_.kind; }
  bool Pools() const { return HasWindow(kind()) && !HasWeights(kind()); }
  bool Convolves() const { return HasWindow(kind()) && HasWeights(kind()); }
  bool Stated() const { return TraitsOf(kind()).stated; }
  bool ChangesImage() const { return kind() == OpKind::kResize || kind() == OpKind::kSlice; }

  SampleRow& row_;
  const OpWord& op_;
  Sample& sample_;
  Launch& launch_;
  OpShape& shape_;
};

void LaunchReader::ReadPass() {
  const std::vector<std::string> words = PassWords(kind());
  const int word = row_.Choice(Column::kPass, words);
  if (word >= 0) {
    launch_.pass = PassOf(kind(), words[static_cast<std::size_t>(word)]);
  } else if (kind() == OpKind::kUpdate) {
    launch_.pass = Pass::kUpdate;
  }
}

void LaunchReader::ReadBest(std::string& name) {
  const std::string_view text = name;
  if (text != kBest && !text.starts_with(std::string(kBest) + ":")) return;
  if (AlgorithmNames(kind(), launch_.pass).empty()) {
    row_.Error(Column::kAlgorithm, fmt::format("algorithm: {} has no choice of algorithms, so none is best", op_.name));
  }
  sample_.best = true;
  name = text == kBest ? "" : name.substr(std::string_view(kBest).size() + 1);
}

void LaunchReader::ReadAlgorithm() {
  std::string name = row_.Text(Column::kAlgorithm);
  ReadBest(name);
  if (name.empty()) return;
  const std::vector<std::string> words = AlgorithmWords(op_, launch_.pass);
  if (!Contains(words, name)) {
    row_.Error(Column::kAlgorithm,
               fmt::format("algorithm: unknown '{}' of {} {}, expected one of {}{}", name, op_.name,
                           PassName(launch_.pass), fmt::join(words, ", "), DidYouMean(name, words)));
    return;
  }
  sample_.algorithm = name;
  launch_.algorithm = AlgorithmByName(kind(), launch_.pass, name);
  if (kind() == OpKind::kMaxPool && name == "average") launch_.kind = OpKind::kAveragePool;
}

void LaunchReader::ReadFormats() {
  static const std::vector<std::string> types = {"fp32", "fp16", "bf16"};
  static const std::vector<std::string> layouts = {"nchw", "nhwc", "nc"};
  row_.RefuseUnread(Matter::kFormat);
  const int type = row_.ChoiceOf(Column::kPrecision, PrecisionWord(row_.Text(Column::kPrecision)), types);
  if (type >= 0) launch_.type = static_cast<DataType>(type);
  const int layout = row_.ChoiceOf(Column::kLayout, InLowerCase(row_.Text(Column::kLayout)), layouts);
  if (layout == 1) launch_.layout = Layout::kNhwc;
  const int math = row_.Choice(Column::kMath, MathWords());
  launch_.math = math >= 0                         ? MathOf(math)
                 : launch_.type == DataType::kFp32 ? MathMode::kFp32
                 : launch_.type == DataType::kFp16 ? MathMode::kFp16
                                                   : MathMode::kBf16;
}

void LaunchReader::RequireSizes() {
  std::vector<Column> needed;
  if (kind() != OpKind::kUpdate) needed = {Column::kPass, Column::kN};
  needed.push_back(Column::kC);
  if (HasWindow(kind())) needed.insert(needed.end(), {Column::kH, Column::kW, Column::kR});
  if (HasWeights(kind())) needed.push_back(Column::kK);
  row_.Require(op_.name, needed);
}

void LaunchReader::ReadInput() {
  shape_.in = {.n = Size(Column::kN, 1),
               .c = Size(Column::kC, 1),
               .d = Size(Column::kD, 1),
               .h = Size(Column::kH, 1),
               .w = Size(Column::kW, 1)};
}

void LaunchReader::ReadOperands() {
  const bool may_be_none = kind() == OpKind::kBatchNorm;
  const bool pairs = TraitsOf(kind()).passes == op_passes::kFactors;  // of one tensor, or of two
  const std::int64_t usual = sample_.algorithm == kGivenStatistics ? 0 : op_.operands;
  shape_.operands = row_.Integer(Column::kOperands, usual, may_be_none ? 0 : 1,
                                 may_be_none ? 1
                                 : pairs     ? 2
                                             : kLargestWindow);
}

// Depth follows height where the window has a depth, and is not touched otherwise.
void LaunchReader::ReadWindow() {
  row_.RefuseUnread(Matter::kWindow);
  const auto read = [this](Column column, std::int64_t fallback, std::int64_t min) {
    return row_.Integer(column, fallback, min, kLargestWindow);
  };
  const bool deep = row_.Has(Column::kT);
  const std::int64_t r = read(Column::kR, 1, 1), pad = read(Column::kPad, 0, 0), stride = read(Column::kStride, 1, 1);
  shape_.window = {read(Column::kT, 1, 1), r, read(Column::kS, r, 1)};
  shape_.pad = {read(Column::kPadD, deep ? pad : 0, 0), pad, read(Column::kPadW, pad, 0)};
  shape_.stride = {read(Column::kStrideD, deep ? stride : 1, 1), stride, read(Column::kStrideW, stride, 1)};
  if (!Convolves()) return;
  const std::int64_t dilation = read(Column::kDilation, 1, 1);
  shape_.dilation = {read(Column::kDilationD, deep ? dilation : 1, 1), dilation, read(Column::kDilationW, dilation, 1)};
}

// Places that the window adds to along one axis. Up to a stride more may follow, which the row then says.
std::int64_t LaunchReader::Spread(int axis, std::int64_t size, Column out) {
  const auto at = static_cast<std::size_t>(axis);
  const std::int64_t stride = shape_.stride[at];
  const std::int64_t least = (size - 1) * stride + shape_.Extent(at) - shape_.pad[at].Sum();
  const std::int64_t stated = Size(out, std::max<std::int64_t>(least, 1));
  if (least >= 1 && stated >= least && stated < least + stride) return stated;
  row_.Error(out, fmt::format("{}: a transposed window of {} with stride {} over {} gives {} to {}, found {}",
                              NameOf(out), shape_.Extent(at), stride, size, least, least + stride - 1, stated));
  return stated;
}

// Positions of the window along one axis. Libraries round down; pooling may round up, which its row then says, but for a
// window that would begin in the padding behind.
std::int64_t LaunchReader::Slide(int axis, std::int64_t size, Column out) {
  const auto at = static_cast<std::size_t>(axis);
  const std::int64_t padded = size + shape_.pad[at].Sum(), window = shape_.Extent(at), stride = shape_.stride[at];
  if (window > padded) {
    row_.Error(Column::kR, fmt::format("a window of {} exceeds the padded input of {}", window, padded));
    return 1;
  }
  if (Pools() && shape_.pad[at].begin >= window) {
    row_.Error(Column::kPad, fmt::format("pad: {} must be less than the window of {}: a window of pooling that lies in "
                                         "the padding alone has no result",
                                         shape_.pad[at].begin, window));
    return 1;
  }
  const std::int64_t down = (padded - window) / stride + 1;
  const bool rest = (padded - window) % stride != 0, begins_inside = down * stride < size + shape_.pad[at].begin;
  const std::int64_t up = down + (Pools() && rest && begins_inside ? 1 : 0);
  const std::int64_t stated = Size(out, down);
  if (stated == down || stated == up) return stated;
  row_.Error(out,
             fmt::format("{}: a window of {} with stride {} over {} gives {}, found {}", NameOf(out), window, stride,
                         padded, up == down ? fmt::format("{}", down) : fmt::format("{} or {}", down, up), stated));
  return down;
}

void LaunchReader::ReadOutput() {
  shape_.out = shape_.in;
  if (HasWindow(kind())) {
    ReadWindow();
    const auto places = kind() == OpKind::kTransposedConvolution ? &LaunchReader::Spread : &LaunchReader::Slide;
    shape_.out.d = (this->*places)(0, shape_.in.d, Column::kOutD);
    shape_.out.h = (this->*places)(1, shape_.in.h, Column::kOutH);
    shape_.out.w = (this->*places)(2, shape_.in.w, Column::kOutW);
  } else if (ChangesImage() || Stated()) {
    shape_.out.d = Size(Column::kOutD, shape_.in.d);
    shape_.out.h = Size(Column::kOutH, shape_.in.h);
    shape_.out.w = Size(Column::kOutW, shape_.in.w);
  }
  const std::int64_t k = Size(Column::kK, shape_.in.c);
  if (Convolves() || Stated() || kind() == OpKind::kConcat) shape_.out.c = k;
  if (kind() == OpKind::kLinear) {
    shape_.out = {.n = shape_.in.n,
                  .c = k,
                  .d = Size(Column::kOutD, 1),
                  .h = Size(Column::kOutH, 1),
                  .w = Size(Column::kOutW, 1)};
  }
  if (Stated()) {
    shape_.groups = Size(Column::kGroups, 1);
    shape_.window = {Size(Column::kR, 1), 1, Size(Column::kS, 1)};
  }
  if (kind() == OpKind::kConcat && k < shape_.in.c) {
    row_.Error(Column::kK,
               fmt::format("k: {} channels of the result are fewer than the first input's {}", k, shape_.in.c));
  }
  if (kind() == OpKind::kLrn) shape_.window[0] = row_.Integer(Column::kR, kUsualLrn, 1, kLargestWindow);
}

void LaunchReader::CheckGroups() {
  if (!Convolves() && kind() != OpKind::kGroupNorm) return;
  row_.RefuseUnread(Matter::kGroups);
  shape_.groups = Size(Column::kGroups, 1);
  if (shape_.in.c % shape_.groups == 0 && shape_.out.c % shape_.groups == 0) return;
  row_.Error(Column::kGroups, fmt::format("groups: {} do not divide {} input and {} output channels", shape_.groups,
                                          shape_.in.c, shape_.out.c));
  shape_.groups = 1;
}

void LaunchReader::CheckSize() {
  const auto elements = [](const Shape& s) {
    return static_cast<double>(s.n) * static_cast<double>(s.c) * static_cast<double>(s.d) * static_cast<double>(s.h) *
           static_cast<double>(s.w);
  };
  double filter = 0;
  if (HasWeights(kind())) {
    filter = static_cast<double>(shape_.in.c) * static_cast<double>(shape_.out.c);
    for (const std::int64_t size : shape_.window) filter *= static_cast<double>(size);
  }
  if (std::max({elements(shape_.in), elements(shape_.out), filter}) <= kMostElements) return;
  row_.Error(Column::kN, "more than 2^53 elements in a tensor");
}

void LaunchReader::Read() {
  launch_.kind = op_.kind;
  ReadPass();
  ReadAlgorithm();
  ReadFormats();
  RequireSizes();
  if (!row_.good()) return;  // sizes that are missing would be complained about again
  ReadInput();
  ReadOperands();
  ReadOutput();
  CheckGroups();
  CheckSize();
  launch_ = AsConvolution(launch_);  // by which it is known
  launch_.accumulate = row_.Integer(Column::kAccumulate, 0, 0, 1) == 1;
  launch_.workspace = row_.Integer(Column::kWorkspaceLimit, kUsualWorkspace, 0, std::numeric_limits<Bytes>::max());
}

}  // namespace

void ReadLaunch(SampleRow& row, const OpWord& op, Sample& sample) { LaunchReader(row, op, sample).Read(); }

}  // namespace spillway

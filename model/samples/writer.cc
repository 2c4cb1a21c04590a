// Samples as text. The inverse of file.cc and launch.cc: what is empty here is their default there.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "model/kernels/kernel_form.h"
#include "model/samples/columns.h"
#include "model/samples/file.h"
#include "model/samples/ops.h"

namespace spillway {
namespace {

class Cells {
 public:
  void Set(Column column, std::string text) { texts_[static_cast<std::size_t>(column)] = std::move(text); }
  void Set(Column column, std::int64_t value) { Set(column, fmt::format("{}", value)); }
  void SetUnless(Column column, std::int64_t value, std::int64_t usual) {
    if (value != usual) Set(column, value);
  }
  void SetTime(Column column, double microseconds) { SetIfKnown(column, microseconds); }
  void SetIfKnown(Column column, double value) {
    if (value > 0) Set(column, fmt::format("{}", value));
  }
  const std::string& Get(std::size_t column) const { return texts_[column]; }

 private:
  std::array<std::string, kColumnNames.size()> texts_;
};

void PutIdentity(const Sample& sample, Cells& cells) {
  cells.Set(Column::kDevice, sample.device);
  cells.Set(Column::kHost, sample.host);
  cells.Set(Column::kDriver, sample.driver);
  cells.Set(Column::kCuda, sample.cuda);
  cells.Set(Column::kCudnn, sample.cudnn);
  cells.Set(Column::kOp, sample.op);
  cells.Set(Column::kKind, sample.kind);
  cells.Set(Column::kContention, sample.contention);
}

std::string AlgorithmCell(const Sample& sample) {
  if (!sample.best) return sample.algorithm;
  return sample.algorithm.empty() ? kBest : fmt::format("{}:{}", kBest, sample.algorithm);
}

void PutOutput(const OpShape& shape, Cells& cells) {
  cells.Set(Column::kOutH, shape.out.h);
  cells.Set(Column::kOutW, shape.out.w);
  cells.SetUnless(Column::kOutD, shape.out.d, 1);
}

void PutWindow(const OpShape& shape, Cells& cells) {
  if (shape.PadBegin() != shape.PadEnd()) throw UserError("a sample states one padding for both sides of an axis");
  cells.Set(Column::kR, shape.window[1]);
  cells.Set(Column::kS, shape.window[2]);
  cells.Set(Column::kPad, shape.pad[1].begin);
  cells.Set(Column::kStride, shape.stride[1]);
  cells.SetUnless(Column::kPadW, shape.pad[2].begin, shape.pad[1].begin);
  cells.SetUnless(Column::kStrideW, shape.stride[2], shape.stride[1]);
  cells.SetUnless(Column::kDilation, shape.dilation[1], 1);
  cells.SetUnless(Column::kDilationW, shape.dilation[2], shape.dilation[1]);
  cells.SetUnless(Column::kT, shape.window[0], 1);
  const bool deep = shape.window[0] != 1;
  cells.SetUnless(Column::kPadD, shape.pad[0].begin, deep ? shape.pad[1].begin : 0);
  cells.SetUnless(Column::kStrideD, shape.stride[0], deep ? shape.stride[1] : 1);
  cells.SetUnless(Column::kDilationD, shape.dilation[0], deep ? shape.dilation[1] : 1);
  PutOutput(shape, cells);
}

// A linear layer of each position.
bool HasPositions(const Launch& launch) { return launch.kind == OpKind::kLinear && launch.shape.out.Spatial() > 1; }

void PutShape(const Launch& launch, Cells& cells) {
  const OpShape& shape = launch.shape;
  cells.Set(Column::kN, shape.in.n);
  cells.Set(Column::kC, shape.in.c);
  cells.SetUnless(Column::kD, shape.in.d, 1);
  const bool slides = HasWindow(launch.kind);
  cells.SetUnless(Column::kH, shape.in.h, slides ? 0 : 1);
  cells.SetUnless(Column::kW, shape.in.w, slides ? 0 : 1);
  if (slides) PutWindow(shape, cells);
  const bool stated = TraitsOf(launch.kind).stated, positions = HasPositions(launch);
  if (launch.kind == OpKind::kResize || launch.kind == OpKind::kSlice || stated || positions) PutOutput(shape, cells);
  if (stated) {
    cells.Set(Column::kR, shape.window[0]);
    cells.Set(Column::kS, shape.window[2]);
  }
  if (launch.kind == OpKind::kLrn) cells.Set(Column::kR, shape.window[0]);
  const bool outputs = HasWeights(launch.kind);
  if (outputs || stated || launch.kind == OpKind::kConcat) cells.Set(Column::kK, shape.out.c);
  if (launch.kind == OpKind::kConvolution || launch.kind == OpKind::kGroupNorm || stated) {
    cells.Set(Column::kGroups, shape.groups);
  }
}

void PutLaunch(const Sample& sample, Cells& cells) {
  const Launch& launch = sample.launch;
  if (sample.op.empty()) cells.Set(Column::kOp, WordOf(launch.kind));
  cells.Set(Column::kPass, PassName(launch.pass));
  cells.Set(Column::kAlgorithm, AlgorithmCell(sample));
  cells.Set(Column::kMath, MathWord(launch.math));
  cells.Set(Column::kPrecision, DataTypeName(launch.type));
  cells.Set(Column::kLayout, LayoutName(launch.layout));
  PutShape(launch, cells);
  cells.Set(Column::kOperands, launch.shape.operands);
  if (launch.accumulate) cells.Set(Column::kAccumulate, 1);
  cells.SetUnless(Column::kWorkspaceLimit, launch.workspace, kUsualWorkspace);
}

void PutCopy(const Sample& sample, Cells& cells) {
  if (sample.op.empty()) cells.Set(Column::kOp, "copy");
  cells.Set(Column::kDirection, sample.direction);
}

void PutResult(const Sample& sample, Cells& cells) {
  cells.SetUnless(Column::kBytes, sample.bytes, 0);
  cells.SetUnless(Column::kRowBytes, sample.row_bytes, 0);
  cells.SetUnless(Column::kPitchBytes, sample.pitch_bytes, 0);
  cells.SetTime(Column::kMedian, sample.microseconds);
  cells.SetTime(Column::kP10, sample.p10);
  cells.SetTime(Column::kP90, sample.p90);
  cells.SetUnless(Column::kSamples, sample.repetitions, 0);
  cells.SetTime(Column::kHostTime, sample.host_microseconds);
  if (sample.workspace >= 0) cells.Set(Column::kWorkspace, sample.workspace);
  cells.SetUnless(Column::kDeterministic, sample.deterministic, -1);
  cells.SetUnless(Column::kHeuristicRank, sample.heuristic_rank, -1);
  cells.SetUnless(Column::kSmClock, sample.sm_clock_mhz, -1);
}

void PutOrigin(const Sample& sample, Cells& cells) {
  cells.Set(Column::kLink, sample.link);
  cells.Set(Column::kHarness, sample.harness);
  cells.Set(Column::kSource, sample.source);
  cells.Set(Column::kNetwork, sample.network);
  cells.Set(Column::kNote, sample.note);
  cells.Set(Column::kDate, sample.date);
  cells.SetUnless(Column::kRound, sample.round, 0);
  cells.Set(Column::kFlags, fmt::format("{}", fmt::join(sample.flags, "; ")));
  cells.SetIfKnown(Column::kLoad, sample.load);
}

Cells CellsOf(const Sample& sample) {
  Cells cells;
  PutIdentity(sample, cells);
  const OpWord* op = FindOpWord(sample.op);
  if (sample.what == SampleKind::kKernel || (op != nullptr && op->shaped)) {
    PutLaunch(sample, cells);
  } else if (sample.what == SampleKind::kCopy) {
    PutCopy(sample, cells);
  } else {
    cells.Set(Column::kAlgorithm, sample.algorithm);
  }
  PutResult(sample, cells);
  PutOrigin(sample, cells);
  return cells;
}

std::string Line(const std::vector<std::string>& texts) {
  std::string line;
  for (const std::string& text : texts) {
    if (&text != &texts.front()) line += ',';
    line += CsvText(text);
  }
  return line + '\n';
}

// A column is used when some row fills it; the required ones always are.
std::vector<std::size_t> UsedColumns(const std::vector<Cells>& rows) {
  std::vector<std::size_t> used;
  for (std::size_t column = 0; column < kColumnNames.size(); ++column) {
    bool any = column == static_cast<std::size_t>(Column::kDevice) || column == static_cast<std::size_t>(Column::kOp) ||
               column == static_cast<std::size_t>(Column::kMedian);
    for (const Cells& row : rows) any = any || !row.Get(column).empty();
    if (any) used.push_back(column);
  }
  return used;
}

}  // namespace

std::string SampleHeader() { return Line({kColumnNames.begin(), kColumnNames.end()}); }

std::string SampleLine(const Sample& sample) {
  const Cells cells = CellsOf(sample);
  std::vector<std::string> line;
  for (std::size_t column = 0; column < kColumnNames.size(); ++column) line.push_back(cells.Get(column));
  return Line(line);
}

std::string WriteSamples(std::span<const Sample> samples) {
  std::vector<Cells> rows;
  for (const Sample& sample : samples) rows.push_back(CellsOf(sample));
  const std::vector<std::size_t> used = UsedColumns(rows);
  std::vector<std::string> line;
  for (const std::size_t column : used) line.emplace_back(kColumnNames[column]);
  std::string text = Line(line);
  for (const Cells& row : rows) {
    line.clear();
    for (const std::size_t column : used) line.push_back(row.Get(column));
    text += Line(line);
  }
  return text;
}

}  // namespace spillway

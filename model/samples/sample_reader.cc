#include "model/samples/sample_reader.h"

#include <fmt/format.h>

#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "hw/text/lists.h"

namespace spillway {
namespace {

constexpr Bytes kMostBytes = Bytes{1} << 50;
constexpr std::int64_t kMostRounds = 1'000'000;

// Of a text with "; " between them.
std::vector<std::string> PartsOf(const std::string& text) {
  constexpr std::string_view kBetween = "; ";
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find(kBetween, begin)) != std::string::npos; begin = end + kBetween.size()) {
    parts.push_back(text.substr(begin, end - begin));
  }
  parts.push_back(text.substr(begin));
  return parts;
}

}  // namespace

std::string SampleReader::Refusal() const {
  const std::string status = row_.Text(Column::kStatus);
  if (!status.empty() && status != "ok" && status != "slow") return "with status " + status;
  // Measurements beside others keep only what fell into the common time, which may be nothing.
  const bool none = row_.Text(Column::kSamples) == "0" && !row_.Has(Column::kMedian);
  return none ? "without a single repetition" : "";
}

void SampleReader::ReadIdentity() {
  sample_.line = row_.line();
  sample_.device = row_.Text(Column::kDevice);
  sample_.host = row_.Text(Column::kHost);
  sample_.driver = row_.Text(Column::kDriver);
  sample_.cuda = row_.Text(Column::kCuda);
  sample_.cudnn = row_.Text(Column::kCudnn);
  sample_.kind = row_.Text(Column::kKind);
  sample_.link = row_.Text(Column::kLink);
  if (row_.Has(Column::kContention)) sample_.contention = row_.Text(Column::kContention);
  sample_.harness = row_.Text(Column::kHarness);
  sample_.source = row_.Text(Column::kSource);
  sample_.network = row_.Text(Column::kNetwork);
  sample_.note = row_.Text(Column::kNote);
  sample_.date = row_.Text(Column::kDate);
  ReadRound();
}

void SampleReader::ReadRound() {
  sample_.round = static_cast<int>(row_.Integer(Column::kRound, 0, 1, kMostRounds));
  if (row_.Has(Column::kFlags)) sample_.flags = PartsOf(row_.Text(Column::kFlags));
  if (!row_.Has(Column::kLoad)) return;
  const auto load = ParseNumber(row_.Text(Column::kLoad));
  if (!load || *load < 0) return row_.Error(Column::kLoad, "load: expected a number from 0 on");
  sample_.load = *load;
}

void SampleReader::ReadOp() {
  sample_.op = row_.Text(Column::kOp);
  const int at = row_.Choice(Column::kOp, NamesOf(OpWords()));
  if (at < 0) return;
  const OpWord& op = OpWords()[static_cast<std::size_t>(at)];
  // A copy without a direction is the kernel that copies a tensor on the device.
  const bool tensor_copy = op.what == SampleKind::kCopy && !row_.Has(Column::kDirection) && row_.Has(Column::kC);
  sample_.what = tensor_copy ? SampleKind::kKernel : op.what;
  if (op.shaped || tensor_copy) {
    ReadKernel(op);
  } else if (sample_.what == SampleKind::kCopy) {
    ReadCopy();
  } else {
    sample_.algorithm = row_.Text(Column::kAlgorithm);
  }
}

void SampleReader::ReadKernel(const OpWord& op) {
  row_.Choice(Column::kKind, KernelKinds());
  ReadLaunch(row_, op, sample_);
}

void SampleReader::ReadCopy() {
  row_.Require("copy", {Column::kDirection, Column::kBytes});
  if (purpose_ == Purpose::kResults) row_.Require("a measured copy", {Column::kKind});
  row_.Choice(Column::kKind, CopyKinds());
  const int direction = row_.Choice(Column::kDirection, CopyDirections());
  if (direction >= 0) sample_.direction = CopyDirections()[static_cast<std::size_t>(direction)];
  if (sample_.kind == "pitched") row_.Require("a pitched copy", {Column::kRowBytes, Column::kPitchBytes});
}

Bytes SampleReader::Size(Column column) { return row_.Integer(column, 0, 1, kMostBytes); }

void SampleReader::ReadBytes() {
  sample_.bytes = Size(Column::kBytes);
  sample_.row_bytes = Size(Column::kRowBytes);
  sample_.pitch_bytes = Size(Column::kPitchBytes);
}

void SampleReader::ReadSpread() {
  const bool other = sample_.what == SampleKind::kOther;  // host costs may round to nothing
  sample_.p10 = row_.Microseconds(Column::kP10, other);
  sample_.p90 = row_.Microseconds(Column::kP90, other);
  if (sample_.p10 <= 0 || sample_.p90 <= 0) return;
  if (sample_.p10 > sample_.microseconds || sample_.p90 < sample_.microseconds) {
    row_.Error(Column::kMedian, fmt::format("median_us: {} lies outside p10_us to p90_us, {} to {}",
                                            sample_.microseconds, sample_.p10, sample_.p90));
  }
  sample_.spread = (sample_.p90 - sample_.p10) / sample_.microseconds;
}

void SampleReader::ReadLibraryWord() {
  constexpr std::int64_t kMostRank = 1000, kMostMegahertz = 100'000;
  sample_.deterministic = static_cast<int>(row_.Integer(Column::kDeterministic, -1, 0, 1));
  sample_.heuristic_rank = static_cast<int>(row_.Integer(Column::kHeuristicRank, -1, 0, kMostRank));
  sample_.sm_clock_mhz = static_cast<int>(row_.Integer(Column::kSmClock, -1, 0, kMostMegahertz));
}

void SampleReader::ReadResult() {
  const bool measured = purpose_ == Purpose::kResults && sample_.what != SampleKind::kOther;
  if (measured) row_.Require("a sample", {Column::kDevice, Column::kMedian});
  sample_.microseconds = row_.Microseconds(Column::kMedian, !measured);
  if (sample_.microseconds > 0) ReadSpread();
  sample_.host_microseconds = row_.Microseconds(Column::kHostTime, true);
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  sample_.repetitions = static_cast<int>(row_.Integer(Column::kSamples, 0, 0, kMost));
}

Sample SampleReader::Read() {
  ReadIdentity();
  ReadOp();
  ReadBytes();
  sample_.workspace = row_.Integer(Column::kWorkspace, kUsualWorkspace, 0, kMostBytes);
  ReadLibraryWord();
  if (Refusal().empty()) ReadResult();
  return std::move(sample_);
}

}  // namespace spillway

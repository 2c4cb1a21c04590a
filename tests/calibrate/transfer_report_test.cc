#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "calibrate/fit/transfer.h"

namespace spillway {
namespace {

// 5 us and 10 bytes per nanosecond from 64 KiB to 64 MiB, 11 sizes; `slow` takes half as long again.
std::vector<Sample> Copies(const std::string& kind, Bytes slow = 0) {
  std::vector<Sample> samples;
  for (Bytes bytes = 64 * kKiB; bytes <= 64 * kMiB; bytes *= 2) {
    Sample sample;
    sample.what = SampleKind::kCopy;
    sample.device = "gpu";
    sample.host = "host, \"old\"";
    sample.link = "local";
    sample.direction = "h2d";
    sample.kind = kind;
    sample.bytes = bytes;
    sample.microseconds = (5 + static_cast<double>(bytes) / 10e3) * (bytes == slow ? 1.5 : 1);
    samples.push_back(sample);
  }
  return samples;
}

std::string RowOf(const TransferReport& report, const std::string& kind) {
  const std::size_t at = report.csv.find("," + kind + ",");
  REQUIRE(at != std::string::npos);
  const std::size_t begin = report.csv.rfind('\n', at) + 1;
  return report.csv.substr(begin, report.csv.find('\n', at) - begin);
}

TEST_CASE("a straight line is predicted by curve and law alike") {
  const TransferReport report = ReportTransfers(FitTransfers(Copies("pinned")));
  CHECK_THAT(RowOf(report, "pinned"),
             Catch::StartsWith("gpu,\"host, \"\"old\"\"\",local,pinned,h2d,11,11,2,0.0000,0.0000,0.0000,0.0000,0.000"));
  CHECK_THAT(RowOf(report, "pinned"), Catch::EndsWith(",0.0000,0.0000"));
  CHECK_THAT(report.markdown, Catch::Contains("| pinned | 11 | 0.0 / 0.0 | 0.0 / 0.0 | 0.0 / 0.0 |"));
}

TEST_CASE("a size that no neighbour tells of is listed with the rates around it") {
  const TransferReport report = ReportTransfers(FitTransfers(Copies("pageable", 4 * kMiB)));
  // Predicted to take what the others tell, two thirds of it: 33 % off. Rates in bytes per nanosecond: of 2 MiB
  // 2097152 / 214715, of 4 MiB 4194304 / 636646, of 8 MiB 8388608 / 843861.
  CHECK_THAT(report.markdown, Catch::Contains("| local | pageable | h2d | 4 MiB | 33 | 9.8 | 6.6 | 9.9 |"));
}

TEST_CASE("too few sizes to leave one out: empty cells, and no part of the table by kind") {
  std::vector<Sample> samples = Copies("pinned");
  samples.resize(3);
  const TransferReport report = ReportTransfers(FitTransfers(samples));
  CHECK_THAT(RowOf(report, "pinned"), Catch::EndsWith(",,,,,,"));
  CHECK_THAT(report.markdown, !Catch::Contains("| pinned | 3 |"));
}

TEST_CASE("kinds of memory are pooled over curves") {
  std::vector<Sample> samples = Copies("pinned");
  for (Sample sample : Copies("pinned")) {
    sample.direction = "d2h";
    samples.push_back(sample);
  }
  const TransferReport report = ReportTransfers(FitTransfers(samples));
  CHECK_THAT(report.markdown, Catch::Contains("| pinned | 22 |"));
  CHECK(ReportTransfers(FitTransfers({})).csv.find('\n') == ReportTransfers(FitTransfers({})).csv.size() - 1);
}

}  // namespace
}  // namespace spillway

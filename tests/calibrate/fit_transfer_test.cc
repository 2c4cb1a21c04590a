#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "calibrate/fit/profile.h"
#include "calibrate/fit/transfer.h"

namespace spillway {
namespace {

// Powers of two.
std::vector<Bytes> Sizes(Bytes from, Bytes to) {
  std::vector<Bytes> sizes;
  for (Bytes bytes = from; bytes <= to; bytes *= 2) sizes.push_back(bytes);
  return sizes;
}

Sample Copy(Bytes bytes, double microseconds, const std::string& direction = "h2d",
            const std::string& kind = "pinned") {
  Sample sample;
  sample.what = SampleKind::kCopy;
  sample.device = "gpu";
  sample.host = "host";
  sample.link = "local";
  sample.bytes = bytes;
  sample.microseconds = microseconds;
  sample.direction = direction;
  sample.kind = kind;
  return sample;
}

// 5 us and `rate` bytes per nanosecond, from 64 KiB to 256 MiB.
void AddCurve(double rate, const std::string& direction, const std::string& kind, std::vector<Sample>* samples) {
  for (const Bytes bytes : Sizes(64 * kKiB, 256 * kMiB)) {
    samples->push_back(Copy(bytes, 5 + static_cast<double>(bytes) / rate / 1000, direction, kind));
  }
}

const FittedCurve& Of(const FittedLink& link, const std::string& kind, std::size_t direction) {
  REQUIRE(link.kinds.count(kind) == 1);
  REQUIRE(link.kinds.at(kind)[direction].has_value());
  return *link.kinds.at(kind)[direction];
}

// Those of all links.
std::vector<std::string> WarningsOf(const TransferFit& fit) {
  std::vector<std::string> warnings;
  for (const FittedLink& link : fit.links) warnings.insert(warnings.end(), link.warnings.begin(), link.warnings.end());
  return warnings;
}

TEST_CASE("Each link, kind of memory and direction has a curve of its own") {
  std::vector<Sample> samples;
  AddCurve(10, "h2d", "pinned", &samples);
  AddCurve(12, "d2h", "pinned", &samples);
  AddCurve(4, "h2d", "pageable", &samples);
  for (Sample& sample : samples) sample.source = "A paper; row 7";
  const std::size_t near = samples.size();
  AddCurve(6, "h2d", "pinned", &samples);
  for (std::size_t i = near; i < samples.size(); ++i) samples[i].link = "remote";
  samples.push_back(Copy(kMiB, 1, "d2d", "device"));  // not across the link

  const TransferFit fit = FitTransfers(samples);
  REQUIRE(fit.links.size() == 2);
  CHECK(WarningsOf(fit).empty());
  const FittedLink& local = fit.links[0];
  CHECK(local.link == "local");
  CHECK(local.kinds.size() == 2);
  // 5 us + 64 MiB at 10, 12 and 4 bytes/ns
  CHECK(Of(local, "pinned", 0).curve.Time(64 * kMiB) == Approx(5000 + 6710886.4).epsilon(1e-4));
  CHECK(Of(local, "pinned", 1).curve.Time(64 * kMiB) == Approx(5000 + 5592405.3).epsilon(1e-4));
  CHECK(Of(local, "pageable", 0).curve.Time(64 * kMiB) == Approx(5000 + 16777216).epsilon(1e-4));
  CHECK_FALSE(local.kinds.at("pageable")[1].has_value());
  CHECK(Of(local, "pinned", 0).samples == 13);
  CHECK(Of(local, "pinned", 0).left_out.size() == 13);
  for (const LeftOutCopy& copy : Of(local, "pinned", 0).left_out) CHECK(copy.Error() < 1e-3);
  CHECK(Of(local, "pinned", 0).copies.front().bytes == 64 * kKiB);
  CHECK(Of(local, "pinned", 0).curve.error == Approx(0.02));
  CHECK(Of(local, "pinned", 0).curve.source.kind == Source::Kind::kPublished);
  CHECK(Of(local, "pinned", 0).curve.source.text.find("A paper") != std::string::npos);
  CHECK(Of(local, "pinned", 0).curve.source.text.find("row 7") == std::string::npos);
  CHECK(fit.links[1].link == "remote");
  CHECK(Of(fit.links[1], "pinned", 0).curve.source.kind == Source::Kind::kMeasured);
}

TEST_CASE("Few rows are said to be few, and their curves to be unsure") {
  // 5 us and 10 bytes/ns: 1 MiB takes 109.9 us, 16 MiB 1682.7 us, 64 MiB 6715.9 us.
  const std::vector<Sample> three{Copy(kMiB, 109.9), Copy(16 * kMiB, 1682.7), Copy(64 * kMiB, 6715.9)};
  TransferFit fit = FitTransfers(three);
  REQUIRE(WarningsOf(fit).size() == 2);
  CHECK(WarningsOf(fit)[0].find("3 sizes") != std::string::npos);
  CHECK(WarningsOf(fit)[1].find("no size below 1 MiB") != std::string::npos);
  CHECK(Of(fit.links[0], "pinned", 0).curve.error >= 0.1);
  CHECK(Of(fit.links[0], "pinned", 0).left_out.empty());
  CHECK(Of(fit.links[0], "pinned", 0).curve.Time(32 * kMiB) == Approx(3360443).epsilon(1e-3));

  fit = FitTransfers(std::span(three).first(2));
  CHECK(WarningsOf(fit).at(0).find("two sizes") != std::string::npos);
  CHECK(Of(fit.links[0], "pinned", 0).curve.error >= 0.2);

  fit = FitTransfers(std::span(three).first(1));
  CHECK(WarningsOf(fit).at(0).find("one size, a latency of 10 us is assumed") != std::string::npos);
  const FittedCurve& one = Of(fit.links[0], "pinned", 0);
  CHECK(one.curve.error >= 0.3);
  CHECK(one.curve.Time(kMiB) == 109900);
  CHECK(one.curve.Time(2 * kMiB) == Approx(209800).epsilon(1e-4));  // 10 us and twice the other 99.9
}

TEST_CASE("A curve of small copies says that it extrapolates") {
  std::vector<Sample> samples;
  for (const Bytes bytes : Sizes(4 * kKiB, 256 * kKiB)) samples.push_back(Copy(bytes, 10));
  const TransferFit fit = FitTransfers(samples);
  REQUIRE(WarningsOf(fit).size() == 1);
  CHECK(WarningsOf(fit)[0].find("no size above 256 KiB") != std::string::npos);
  // Flat times: beyond the last point the rate is twice the mean one, 10 us + 5 us for every 256 KiB.
  CHECK(Of(fit.links[0], "pinned", 0).curve.Time(512 * kKiB) >= 14000);
}

Sample Beside(Sample sample, const std::string& contention, double factor) {
  sample.contention = contention;
  sample.microseconds *= factor;
  return sample;
}

TEST_CASE("The duplex factor is what copies keep of their rate beside the other direction") {
  std::vector<Sample> samples;
  AddCurve(10, "h2d", "pinned", &samples);
  AddCurve(10, "d2h", "pinned", &samples);
  const std::size_t alone = samples.size();
  for (std::size_t i = 0; i < alone; ++i) {
    const bool in = samples[i].direction == "h2d";
    // Small copies feel nothing: they must not count.
    const bool large = samples[i].bytes >= kMiB;
    samples.push_back(Beside(samples[i], in ? "d2h" : "h2d", !large ? 1.0 : in ? 2.0 : 1.25));
  }
  samples.push_back(Beside(samples[12], "kernel", 5));  // beside something else: neither a curve's nor duplex
  const TransferFit fit = FitTransfers(samples);
  REQUIRE(fit.links.size() == 1);
  const FittedLink& link = fit.links[0];
  CHECK(link.DuplexMeasured());
  for (const std::size_t way : {0u, 1u}) {
    const RangedValue& factor = link.duplex[way];
    CHECK(factor.value == Approx(way == 0 ? 0.5 : 0.8).epsilon(1e-3));
    CHECK(factor.low == Approx(factor.value).epsilon(1e-3));
    CHECK(factor.high == Approx(factor.value).epsilon(1e-3));
    CHECK(factor.samples == 9);  // 1 to 256 MiB
    CHECK(factor.source.kind == Source::Kind::kMeasured);
  }
  CHECK(Of(link, "pinned", 0).samples == 13);
}

TEST_CASE("One direction measured stands for both, none is assumed with its range") {
  std::vector<Sample> samples;
  AddCurve(10, "h2d", "pinned", &samples);
  const FittedLink none = FitTransfers(samples).links.at(0);
  CHECK_FALSE(none.DuplexMeasured());
  for (const RangedValue& factor : none.duplex) {
    CHECK(factor.source.kind == Source::Kind::kAssumed);
    CHECK(factor.low < factor.value);
    CHECK(factor.value < factor.high);
    CHECK(factor.high == 1);
  }
  samples.push_back(Beside(samples[12], "d2h", 1.6));
  const FittedLink one = FitTransfers(samples).links.at(0);
  CHECK(one.DuplexMeasured());
  for (const RangedValue& factor : one.duplex) {
    CHECK(factor.value == Approx(0.625).epsilon(1e-3));
    CHECK_THAT(factor.source.text, Catch::Contains("the other taken as the same"));
  }
  CHECK(one.warnings.empty());
}

TEST_CASE("A share that no profile may say is fitted as the least that it may, with a warning") {
  std::vector<Sample> samples;
  AddCurve(10, "h2d", "pinned", &samples);
  samples.push_back(Beside(samples[12], "d2h", 50));
  const FittedLink link = FitTransfers(samples).links.at(0);
  CHECK(link.duplex[0].value == Approx(0.1));
  REQUIRE(link.warnings.size() == 1);
  CHECK_THAT(link.warnings[0], Catch::Contains("h2d copies kept 0.02 of their rate"));
}

TEST_CASE("Pitched copies cost by the row on top of their bytes") {
  std::vector<Sample> samples;
  AddCurve(10, "d2h", "pinned", &samples);
  CHECK(FitTransfers(samples).links.at(0).pitched_row.source.kind == Source::Kind::kAssumed);
  for (const double nanos_per_row : {20.0, 30.0, 90.0}) {
    // 1 MiB as 1025 rows of 1023 bytes: 5 us, the bytes at 10 a nanosecond, 1024 times the row.
    Sample pitched = Copy(1025 * 1023, 5 + 1025 * 1023 / 1e4 + 1.024 * nanos_per_row, "d2h", "pitched");
    pitched.row_bytes = 1023;
    pitched.pitch_bytes = 2048;
    samples.push_back(pitched);
  }
  const FittedLink link = FitTransfers(samples).links.at(0);
  CHECK(link.pitched_row.value == Approx(30).epsilon(0.01));
  CHECK(link.pitched_row.low == Approx(20).epsilon(0.01));
  CHECK(link.pitched_row.high == Approx(90).epsilon(0.01));
  CHECK(link.pitched_row.samples == 3);
  CHECK(link.kinds.count("pitched") == 0);
}

TEST_CASE("The first row of a pitched copy costs nothing extra") {
  std::vector<Sample> samples;
  AddCurve(10, "h2d", "pinned", &samples);
  Sample pitched = Copy(3 * kMiB, 5 + 3 * static_cast<double>(kMiB) / 1e4 + 2 * 40, "h2d", "pitched");  // 40 us a row
  pitched.row_bytes = kMiB;
  samples.push_back(pitched);
  CHECK(FitTransfers(samples).links.at(0).pitched_row.value == Approx(40000).epsilon(1e-3));
}

TEST_CASE("Memory beyond the device's is derived from faults and what must go, never measured") {
  std::vector<Sample> samples;
  AddCurve(50, "d2h", "pinned", &samples);
  CHECK_FALSE(FitTransfers(samples).links.at(0).oversubscribed_rate.has_value());
  AddCurve(10, "h2d", "managed_touch", &samples);
  AddCurve(40, "d2h", "managed_prefetch", &samples);
  const RangedValue rate = FitTransfers(samples).links.at(0).oversubscribed_rate.value();
  CHECK(rate.value == Approx(8).epsilon(1e-3));  // 1 / (1 / 10 + 1 / 40)
  CHECK(rate.low == Approx(4).epsilon(1e-3));
  CHECK(rate.high == Approx(10).epsilon(1e-3));
  CHECK(rate.source.kind == Source::Kind::kAssumed);
}

TEST_CASE("Fitted curves go into a profile's link, if both directions are there") {
  std::vector<Sample> samples;
  AddCurve(10, "h2d", "pinned", &samples);
  Link link;
  link.name = "kept";
  CHECK_FALSE(SetCurves(FitTransfers(samples).links.at(0), &link));
  CHECK(link.curves[0].points.empty());
  AddCurve(12, "d2h", "pinned", &samples);
  AddCurve(3, "h2d", "pageable", &samples);
  samples.push_back(Beside(samples[12], "d2h", 2));
  CHECK(SetCurves(FitTransfers(samples).links.at(0), &link));
  CHECK(link.name == "kept");
  CHECK(link.curves[1].Time(64 * kMiB) == Approx(5000 + 5592405.3).epsilon(1e-4));
  CHECK(link.duplex_factor[0] == Approx(0.5).epsilon(1e-3));
  CHECK(link.other_memory.empty());
  AddCurve(4, "d2h", "pageable", &samples);
  CHECK(SetCurves(FitTransfers(samples).links.at(0), &link));
  const OtherMemory* const pageable = link.FindOtherMemory(OtherMemory::Kind::kPageable);
  REQUIRE(pageable != nullptr);
  CHECK(pageable->curves[0].Time(64 * kMiB) == Approx(5000 + 22369621.3).epsilon(1e-4));
  CHECK(SetCurves(FitTransfers(samples).links.at(0), &link));
  CHECK(link.other_memory.size() == 1);  // replaced, not added
}

Sample Kernel(OpKind kind, double microseconds, const std::string& contention, std::int64_t batch = 8) {
  Sample sample;
  sample.what = SampleKind::kKernel;
  sample.device = "gpu";
  sample.launch.kind = kind;
  sample.launch.shape.in.n = sample.launch.shape.out.n = batch;
  sample.microseconds = microseconds;
  sample.contention = contention;
  return sample;
}

TEST_CASE("Kernels beside copies are compared with their twins alone") {
  std::vector<Sample> samples{Kernel(OpKind::kRelu, 100, "none"),    Kernel(OpKind::kRelu, 104, "none"),
                              Kernel(OpKind::kRelu, 127.5, "h2d"),   Kernel(OpKind::kRelu, 153, "h2d"),
                              Kernel(OpKind::kRelu, 112.2, "d2h"),   Kernel(OpKind::kRelu, 500, "h2d", 16),
                              Kernel(OpKind::kMaxPool, 100, "none"), Kernel(OpKind::kMaxPool, 99, "h2d"),
                              Kernel(OpKind::kDropout, 100, "none")};
  samples[3].launch.shape.in.h = samples[3].launch.shape.out.h = 3;  // has no twin
  const std::vector<FittedSlowdown> found = FitTransfers(samples).slowdowns;
  REQUIRE(found.size() == 2);
  CHECK(found[0].kind == OpKind::kRelu);  // 127.5 / 102 = 1.25, 112.2 / 102 = 1.1
  CHECK(found[0].factor.value == Approx(1.175));
  CHECK(found[0].factor.low == Approx(1.1));
  CHECK(found[0].factor.high == Approx(1.25));
  CHECK(found[0].factor.samples == 2);
  CHECK(found[1].kind == OpKind::kMaxPool);
  CHECK(found[1].factor.value == 1);  // a copy never makes a kernel faster
}

TEST_CASE("The order of the samples changes nothing") {
  std::vector<Sample> samples;
  AddCurve(10, "h2d", "pinned", &samples);
  AddCurve(4, "d2h", "pageable", &samples);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i].microseconds *= 1 + 0.02 * static_cast<double>(i % 3);
  const FittedLink forward = FitTransfers(samples).links.at(0);
  std::reverse(samples.begin(), samples.end());
  const FittedLink backward = FitTransfers(samples).links.at(0);
  CHECK(Of(forward, "pinned", 0).curve == Of(backward, "pinned", 0).curve);
  CHECK(Of(forward, "pageable", 1).curve == Of(backward, "pageable", 1).curve);
}

}  // namespace
}  // namespace spillway

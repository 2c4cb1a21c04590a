// Files of samples that are larger than what anybody needs of them.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "model/samples/file.h"
#include "model/samples/merger.h"
#include "tests/temporary_folder.h"

namespace spillway {
namespace {

using Catch::Contains;

constexpr const char* kColumns = "device,op,pass,n,c,contention,median_us\n";

// Each of `count` operations three times, once beside a copy; times say which row it was.
std::vector<std::string> RowsOf(int count) {
  std::vector<std::string> rows;
  for (int n = 1; n <= count; ++n) {
    for (const double time : {10.0, 11.0, 12.0}) rows.push_back(fmt::format("X,relu,forward,{},100,,{}\n", n, time));
    rows.push_back(fmt::format("X,relu,forward,{},100,h2d,14\n", n));
  }
  return rows;
}

SampleSet ReadRows(const std::vector<std::string>& rows, const SampleLimits& limits) {
  TemporaryFolder folder("merger");
  std::string text = kColumns;
  for (const std::string& row : rows) text += row;
  const std::string path = folder.Write("f.csv", text);
  return ReadSamples({&path, 1}, limits);
}

// By batch: the time alone and beside a copy; 0: not there.
std::map<std::int64_t, std::pair<double, double>> TimesOf(const SampleSet& set) {
  std::map<std::int64_t, std::pair<double, double>> times;
  for (const Sample& s : set.samples) {
    auto& [alone, beside] = times[s.launch.shape.in.n];
    (s.contention == "none" ? alone : beside) = s.microseconds;
  }
  return times;
}

}  // namespace

TEST_CASE("of more operations than are needed some are taken, whatever the order of rows") {
  std::vector<std::string> rows = RowsOf(3000);
  const SampleSet all = ReadRows(rows, {}), some = ReadRows(rows, {.kernels = 1000});
  CHECK(all.samples.size() == 6000);
  CHECK(some.samples.size() <= 1000);
  CHECK(some.samples.size() > 300);
  const auto times = TimesOf(some);
  for (const auto& [batch, both] : times) CHECK((both.first == 11 && both.second == 14));  // the median, and its twin
  CHECK_THAT(some.warnings.back(),
             Contains("f.csv: warning: 12000 rows of X relu forward fp32 are more than are needed: ") &&
                 Contains(fmt::format("{} operations are taken", some.samples.size())));
  std::reverse(rows.begin(), rows.end());
  CHECK(TimesOf(ReadRows(rows, {.kernels = 1000})) == times);
  // A limit that is not reached changes nothing; nor does that of copies.
  CHECK(TimesOf(ReadRows(rows, {.kernels = 6000, .copies = 1})) == TimesOf(all));
}

TEST_CASE("each kind of operation has the whole limit") {
  std::vector<std::string> rows = RowsOf(500);
  for (const char* other : {"Y,relu,forward", "X,relu,backward", "X,lrn,forward"}) {
    for (int n = 1; n <= 50; ++n) rows.push_back(fmt::format("{},{},100,,7\n", other, n));
  }
  for (int bytes = 1; bytes <= 50; ++bytes) {
    rows.push_back(fmt::format("X,lrn,backward,{},100,,7\n", bytes));
  }
  const SampleSet set = ReadRows(rows, {.kernels = 200});
  CHECK(std::count_if(set.samples.begin(), set.samples.end(), [](const Sample& s) { return s.microseconds == 7; }) ==
        200);
  CHECK(set.samples.size() <= 400);
}

TEST_CASE("a warning that not all operations are taken names the file in which their kind begins") {
  TemporaryFolder folder("merger");
  std::string text = kColumns;
  for (int n = 1; n <= 500; ++n) text += fmt::format("Y,relu,forward,{},100,,7\n", n);
  const std::vector<std::string> files = {folder.Write("first.csv", kColumns + RowsOf(1).front()),
                                          folder.Write("second.csv", text)};
  const SampleSet set = ReadSamples(files, {.kernels = 100});
  REQUIRE(set.warnings.size() == 1);
  CHECK_THAT(set.warnings[0], Contains("second.csv: warning: 500 rows of Y relu forward"));
}

TEST_CASE("operations that no hash tells apart all stay") {
  std::vector<std::string> rows;
  for (int k = 0; k < 300; ++k) rows.push_back(fmt::format("X,relu,forward,1,100,beside {},7\n", k));
  CHECK(ReadRows(rows, {.kernels = 100}).samples.size() == 300);
}

TEST_CASE("a table takes no more memory than its text, its operations and some bytes for each other row") {
  std::string text = "device,op,pass,n,c,median_us,harness,source,network,note\n";
  constexpr int kRows = 200'000;
  text.reserve(kRows * 120);
  for (int row = 0; row < kRows; ++row) {
    text += fmt::format("X,relu,forward,{},1000,{},a harness of some length,a source that is even longer,resnet50,{}\n",
                        1 + row % 100, 10 + row % 7, row);
  }
  const auto kilobytes = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  [[maybe_unused]] const auto before = kilobytes();  // the address sanitizer keeps what is freed
  const SampleSet set = ParseSamples(std::move(text), "f.csv");
  CHECK(set.samples.size() == 100);
  CHECK(set.samples[0].rows == kRows / 100);
#ifndef __SANITIZE_ADDRESS__
  CHECK(kilobytes() - before < 40'000);  // 200,000 samples are 180 MB
#endif
}

}  // namespace spillway

// The page of a folder: which files go into it, and that they come out again as they were.
#include "reports/html/page.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "hw/text/document.h"
#include "reports/html/packed.h"
#include "tests/temporary_folder.h"
#include "tests/text.h"

namespace spillway {
namespace {

std::string Inflated(const std::string& gzip) { return Unpacked(gzip, "t.gz", 1 << 20); }

// What the page reads of a row besides.
const std::string kShownOnly =
    R"(, "precision": "", "reason": "", "step_time_low_s": 1, "step_time_high_s": 1, "samples_per_second": 1,)"
    R"( "lower_bound_s": 1, "peak_bytes": 1, "keep": 1, "swap": 1, "recompute": 1, "bytes_out": 1, "bytes_in": 1,)"
    R"( "stall_out_s": 0, "stall_in_s": 0, "stall_host_s": 0, "other_s": 0, "recompute_time_s": 0,)"
    R"( "compute_time_s": 1, "link": 1, "gap": 0, "loss": 0, "measured_share": 0, "published_share": 0,)"
    R"( "assumed_share": 1)";

std::string RowText(const std::string& point, int batch, int feasible, double time) {
  return R"({"scenario": "s", "network": "n", "batch": )" + std::to_string(batch) +
         R"(, "machine": "m", "memory_limit_bytes": 5, "strategy": "a", "feasible": )" + std::to_string(feasible) +
         R"(, "step_time_s": )" + (feasible == 1 ? std::to_string(time) : "null") + kShownOnly + R"(, "point": ")" +
         point + R"("})";
}
std::string ResultsText(const std::vector<std::string>& rows) {
  std::string text;
  for (const std::string& row : rows) text += (text.empty() ? "" : ", ") + row;
  return R"({"results": [)" + text + R"(], "expectations": []})";
}

TEST_CASE("base64 by the vectors of RFC 4648") {
  CHECK(Base64("").empty());
  CHECK(Base64("f") == "Zg==");
  CHECK(Base64("fo") == "Zm8=");
  CHECK(Base64("foobar") == "Zm9vYmFy");
  CHECK(Base64("\xff\xfe\xfd") == "//79");
}

TEST_CASE("what is compressed comes out as it was, with the same bytes each time") {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "</script> \"\x01\xc3\xbc " + std::to_string(i * i);
  CHECK(Inflated(Gzip(text)) == text);
  CHECK(Gzip(text) == Gzip(text));
  CHECK(Inflated(Gzip("")).empty());
  CHECK(GzipWithin(text, Gzip(text).size()) == Gzip(text));
  CHECK_FALSE(GzipWithin(text, Gzip(text).size() - 1).has_value());
  CHECK_FALSE(GzipWithin(text, 0).has_value());
  CHECK(Inflated("plain") == "plain");
}

TEST_CASE("what is compressed and damaged, cut off or too large is refused with its name") {
  const std::string gzip = Gzip(std::string(1000, 'x') + "y");
  CHECK_THROWS_WITH(Inflated(gzip.substr(0, gzip.size() - 4)),
                    Catch::Contains("t.gz: error: compressed (gzip), and damaged"));
  CHECK_THROWS_WITH(Inflated(Replaced(gzip, gzip.substr(12, 2), "zz")), Catch::Contains("t.gz: error"));
  CHECK_THROWS_WITH(Unpacked(gzip, "t.gz", 1000),
                    Catch::Contains("t.gz: error: compressed (gzip), and more than 1000 bytes"));
  CHECK(Unpacked(gzip, "t.gz", 1001).size() == 1001);
}

TEST_CASE("the hardest come first: the fastest at the largest batch, and what is slow beside its fastest") {
  // At batch 2 nothing takes 1.25 times the fastest; at batch 1 slow1 does.
  const std::string results =
      ResultsText({RowText("slow1", 1, 1, 3), RowText("fast1", 1, 1, 2), RowText("middle1", 1, 1, 2.5),
                   RowText("none", 1, 0, 0), RowText("fast2", 2, 1, 5), RowText("slow2", 2, 1, 6)});
  CHECK(WantedTimelines(results, "r") ==
        std::vector<std::string>{"timelines/fast2.trace.json", "timelines/slow1.trace.json",
                                 "timelines/fast1.trace.json", "timelines/slow2.trace.json",
                                 "timelines/middle1.trace.json"});
  // Only the slowest of the largest such batch is told of: fast0 waits for its turn, and slow0 behind everything.
  const std::string more = ResultsText(
      {RowText("fast0", 1, 1, 1), RowText("slow0", 1, 1, 9), RowText("fast1", 8, 1, 2), RowText("slow1", 8, 1, 9)});
  CHECK(WantedTimelines(more, "r") ==
        std::vector<std::string>{"timelines/fast1.trace.json", "timelines/slow1.trace.json",
                                 "timelines/fast0.trace.json", "timelines/slow0.trace.json"});
}

TEST_CASE("names that would leave the folder, or the element that holds them, are no files") {
  CHECK(WantedTimelines(ResultsText({RowText("../../etc/x", 1, 1, 1), RowText("a<b", 2, 1, 1)}), "r").empty());
}

TEST_CASE("results that no run wrote are refused with their name") {
  for (const char* text : {"{", "[]", R"({"rows": []})", R"({"results": []})", R"({"results": [{"feasible": 1}]})",
                           R"({"results": {"feasible": 1}})"}) {
    CHECK_THROWS_WITH(WantedTimelines(text, "out/results.json"),
                      Catch::Contains("out/results.json: error: not what a run"));
  }
}

TEST_CASE("a row that lacks one key of those that the page shows is refused, and results of another version") {
  const std::string row = RowText("p", 1, 1, 2), whole = ResultsText({row, row});
  CHECK(WantedTimelines(whole, "r").size() == 2);
  const std::string lacking = ResultsText({row, Replaced(row, "\"gap\": 0", "\"hole\": 0")});
  CHECK_THROWS_WITH(WantedTimelines(lacking, "r"), Catch::Contains("row 2 lacks 1 of the 33 keys"));
  const auto headed = [&](const std::string& head) {
    return Replaced(whole, "{\"results\"", "{" + head + "\"results\"");
  };
  for (const char* head :
       {R"("format": "spillway-results", "version": 1, )", R"("format": "spillway-results", "version": 2, )"}) {
    CHECK(WantedTimelines(headed(head), "r").size() == 2);
  }
  for (const char* head : {R"("format": "spillway-results", "version": 3, )", R"("format": "other", "version": 1, )"}) {
    CHECK_THROWS_WITH(WantedTimelines(headed(head), "r"),
                      Catch::Contains("r: error: expected spillway-results of versions 1 to 2"));
  }
}

TEST_CASE("a table that no validation wrote is refused with its name") {
  const TemporaryFolder folder("no-validation");
  folder.Write("validation.csv", "garbage\n");
  CHECK_THROWS_WITH(ReportPage(folder.Path("")),
                    Catch::Contains("validation.csv:1: error: not what a validation writes"));
}

TEST_CASE("a timeline for which there is no room leaves the room to those behind it") {
  const TemporaryFolder folder("room");
  std::string noise;  // that no compression makes smaller than the room there is
  std::uint64_t state = 1;
  while (noise.size() < 2 * kMostTimelineBytes) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    noise += static_cast<char>(' ' + (state >> 40) % 90);
  }
  std::filesystem::create_directories(folder.Path("timelines"));
  folder.Write("timelines/large.trace.json", noise);
  folder.Write("timelines/small.trace.json", "{}");
  folder.Write("results.json", ResultsText({RowText("small", 1, 1, 2), RowText("large", 2, 1, 2)}));
  const std::string page = ReportPage(folder.Path(""));
  CHECK_FALSE(Contains(page, "large.trace.json\""));
  CHECK(Contains(page, "data-file=\"timelines/small.trace.json\""));
}

TEST_CASE("a page holds the folder's files, each compressed, and no name as markup") {
  const TemporaryFolder folder("page");
  folder.Write("results.json", ResultsText({RowText("p</script>", 1, 1, 2)}));
  const std::string page = ReportPage(folder.Path(""));
  const std::string mark = "<script type=\"application/gzip\" data-file=\"results.json\">";
  REQUIRE(Contains(page, mark));
  const std::size_t begin = page.find(mark) + mark.size();
  const std::string packed = page.substr(begin, page.find("</script>", begin) - begin);
  CHECK(packed == Base64(Gzip(folder.Read("results.json"))));
  CHECK_FALSE(Contains(page, "p</script>"));
  CHECK_FALSE(Contains(page, "data-file=\"validation.csv\""));
  CHECK(page.ends_with("</html>\n"));
}

TEST_CASE("of a validation the measured points, farthest off first, and their ops and timelines in the page") {
  const std::string head = "network,batch,device,memory_limit_bytes,link_rate,strategy,predicted_s,measured_s,";
  const std::string rows = head + "error,reason,point\r\nn,1,d,1,0,a,1,2,-0.5,\"no, \"\"two\nlines\"\"\",near\r\n" +
                           "n,1,d,1,0,b,1,,,,never\nn,1,d,1,0,c,3,1,2.0,,far\nn,1,d,1,0,c,3,1,9,,../out\n" +
                           "n,1,d,1,0,random 1,3,1,2.5,,\n";
  CHECK(MeasuredPoints(rows) == std::vector<std::string>{"far", "near"});
  CHECK(MeasuredPoints(head + "error\nn,1,d,1,0,a,1,2,0.5\n").empty());
  const TemporaryFolder folder("validated");
  std::filesystem::create_directories(folder.Path("timelines"));
  std::filesystem::create_directories(folder.Path("ops"));
  folder.Write("validation.csv", rows);
  for (const char* point : {"far", "never"}) {
    folder.Write(std::string("ops/") + point + ".csv", "instruction\n");
    folder.Write(std::string("timelines/") + point + ".trace.json", "{}");
  }
  const std::string page = ReportPage(folder.Path(""));
  CHECK(Contains(page, "data-file=\"ops/far.csv\""));
  CHECK(Contains(page, "data-file=\"timelines/far.trace.json\""));
  CHECK_FALSE(Contains(page, "never"));
  CHECK_FALSE(Contains(page, "data-file=\"ops/near.csv\""));  // there is no such file
}

TEST_CASE("a folder without results has no page") {
  const TemporaryFolder folder("no-page");
  CHECK_THROWS_WITH(ReportPage(folder.Path("")), Catch::Contains("nothing to show here"));
}

}  // namespace
}  // namespace spillway

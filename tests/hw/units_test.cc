#include "hw/text/units.h"

#include <catch2/catch.hpp>
#include <limits>
#include <random>

namespace spillway {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

struct Case {
  const char* text;
  std::int64_t value;
};

TEST_CASE("sizes are read with their unit") {
  const Case cases[] = {{"0 B", 0},
                        {"7 B", 7},
                        {"1 kB", 1000},
                        {"1 KB", 1000},
                        {"1 KiB", 1024},
                        {"2 MB", 2'000'000},
                        {"2MiB", 2'097'152},
                        {"16 GB", 16'000'000'000},
                        {"16 GiB", 17'179'869'184},
                        {"1 TB", 1'000'000'000'000},
                        {"1 TiB", 1'099'511'627'776},
                        {"1.5 KiB", 1536},
                        {"16.1 GB", 16'100'000'000},
                        {"1e3 MB", 1'000'000'000},
                        {"9007199254740993 B", 9007199254740993},  // 2^53 + 1: a double would lose the 1
                        {"9223372036854775807 B", kMax}};
  for (const Case& c : cases) {
    INFO(c.text);
    REQUIRE(ParseBytes(c.text) == c.value);
  }
}

TEST_CASE("durations are read with their unit") {
  const Case cases[] = {{"0 ns", 0},     {"5 ns", 5}, {"310 us", 310'000}, {"1.5ms", 1500'000}, {"2 s", 2'000'000'000},
                        {"0.25 us", 250}};
  for (const Case& c : cases) {
    INFO(c.text);
    REQUIRE(ParseDuration(c.text) == c.value);
  }
}

TEST_CASE("what is not exactly a quantity is refused") {
  for (const char* text : {"",
                           " ",
                           "16",
                           "GB",
                           "16 gb",
                           "16 Gb",
                           "-1 GB",
                           "+1 GB",
                           "1,5 GB",
                           "1 GB ",
                           " 1 GB",
                           "1 GB x",
                           "0x10 B",
                           "12_000 B",
                           "nan B",
                           "inf GB",
                           "1.5 B",
                           "1..5 GB",
                           "1e400 B",
                           "9223372036854775808 B",
                           "9000000 TiB",
                           "1e30 GB",
                           "9223372036854.775808 MB",
                           "5 us",
                           "1 GB/s"}) {
    INFO(text);
    REQUIRE_FALSE(ParseBytes(text).has_value());
  }
  for (const char* text : {"5", "5 sec", "5 S", "-5 us", "0.5 ns", "5 us/s", "10000000000 s", "5 GB"}) {
    INFO(text);
    REQUIRE_FALSE(ParseDuration(text).has_value());
  }
}

TEST_CASE("rates come out per nanosecond") {
  REQUIRE(ParseBandwidth("12.5 GB/s") == 12.5);
  REQUIRE(ParseBandwidth("900 MB/s") == 0.9);
  REQUIRE(ParseBandwidth("0.9 TB/s") == 900);
  REQUIRE(ParseFlopRate("15.7 TFLOP/s") == Approx(15700));
  REQUIRE(ParseFlopRate("1 GFLOP/s") == 1);
  for (const char* text : {"12.5", "12.5 GB", "-1 GB/s", "1 GiB/s", "x GB/s", "1e308 TB/s", ""}) {
    INFO(text);
    REQUIRE_FALSE(ParseBandwidth(text).has_value());
  }
  for (const char* text : {"15.7", "15.7 TFLOPS", "1 GB/s", "-1 TFLOP/s"}) {
    INFO(text);
    REQUIRE_FALSE(ParseFlopRate(text).has_value());
  }
}

TEST_CASE("whole numbers are decimal digits") {
  for (const char* text : {"010", "00", "-07"}) REQUIRE_FALSE(ParseInteger(text).has_value());  // eight, or ten?
  REQUIRE(ParseInteger("0") == 0);
  REQUIRE(ParseInteger("-3") == -3);
  REQUIRE(ParseInteger("9223372036854775807") == kMax);
  for (const char* text : {"", "-", "0x10", "1e3", "12_000", "+5", "5 ", " 5", "5.0", "9223372036854775808", "abc"}) {
    INFO(text);
    REQUIRE_FALSE(ParseInteger(text).has_value());
  }
}

TEST_CASE("numbers are finite and decimal") {
  REQUIRE(ParseNumber("0.25") == 0.25);
  REQUIRE(ParseNumber("-2") == -2);
  REQUIRE(ParseNumber("1e-3") == 0.001);
  for (const char* text : {"", "nan", "inf", "-inf", "1e999", "0x1p3", "+1", "1,5", "1 "}) {
    INFO(text);
    REQUIRE_FALSE(ParseNumber(text).has_value());
  }
}

TEST_CASE("people see three significant digits") {
  struct Shown {
    std::int64_t value;
    const char* bytes;
    const char* time;
  };
  const Shown cases[] = {{0, "0 B", "0 ns"},
                         {999, "999 B", "999 ns"},
                         {1000, "1.00 kB", "1.00 us"},
                         {12'345, "12.3 kB", "12.3 us"},
                         {310'000, "310 kB", "310 us"},
                         {999'499, "999 kB", "999 us"},
                         {999'500, "1.00 MB", "1.00 ms"},  // rounds up into the next unit
                         {99'960, "100 kB", "100 us"},
                         {16'100'000'000, "16.1 GB", "16.1 s"},
                         {2'049'999'999, "2.05 GB", "2.05 s"},
                         {1'005'000'000, "1.01 GB", "1.01 s"},
                         {-1500, "-1.50 kB", "-1.50 us"},
                         {kMax, "9220000 TB", "9220000000 s"}};
  for (const Shown& c : cases) {
    REQUIRE(FormatBytes(c.value) == c.bytes);
    REQUIRE(FormatDuration(c.value) == c.time);
  }
  REQUIRE(FormatBytes(std::numeric_limits<std::int64_t>::min()) == "-9220000 TB");
}

TEST_CASE("files get the largest unit that is exact") {
  REQUIRE(FormatBytesExact(0) == "0 B");
  REQUIRE(FormatBytesExact(1'000'000'000'000) == "1 TB");
  REQUIRE(FormatBytesExact(17'179'869'184) == "16 GiB");
  REQUIRE(FormatBytesExact(1'024'000) == "1000 KiB");  // as well 1024 kB, but KiB is the larger unit
  REQUIRE(FormatBytesExact(1'025) == "1025 B");
  REQUIRE(FormatDurationExact(0) == "0 ns");
  REQUIRE(FormatDurationExact(1'500'000) == "1500 us");
  REQUIRE(FormatDurationExact(3'000'000'000) == "3 s");
  REQUIRE(FormatDurationExact(3'000'000'001) == "3000000001 ns");
}

TEST_CASE("exact text reads back as the same value") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    // Of every magnitude, half of them with many factors of two or ten.
    std::int64_t value = static_cast<std::int64_t>(random() >> (1 + random() % 62));
    if (i % 4 == 0) value = value / 1000 * 1000;
    if (i % 4 == 1) value = value / 1024 * 1024;
    REQUIRE(ParseBytes(FormatBytesExact(value)) == value);
    REQUIRE(ParseDuration(FormatDurationExact(value)) == value);
  }
  REQUIRE(ParseBytes(FormatBytesExact(kMax)) == kMax);
}

}  // namespace
TEST_CASE("a leading zero is refused in numbers and quantities; one before the point is none") {
  REQUIRE_FALSE(ParseNumber("010").has_value());
  REQUIRE(ParseNumber("0.5") == 0.5);
  REQUIRE(ParseNumber("0") == 0);
  REQUIRE_FALSE(ParseBytes("010 GB").has_value());
  REQUIRE_FALSE(ParseBandwidth("010 GB/s").has_value());
  REQUIRE_FALSE(ParseFlopRate("010 TFLOP/s").has_value());
  REQUIRE(ParseBytes("0 B") == 0);
  REQUIRE(ParseBytes("0.5 kB") == 500);
}

TEST_CASE("two sizes in one message get the digits that tell them apart") {
  using Pair = std::pair<std::string, std::string>;
  REQUIRE(FormatBytesApart(9'060'000'000, 8'000'000'000) == Pair("9.06 GB", "8.00 GB"));
  REQUIRE(FormatBytesApart(9'061'000'000, 9'060'000'000) == Pair("9.061 GB", "9.060 GB"));
  REQUIRE(FormatBytesApart(9'060'000'001, 9'060'000'000) == Pair("9.060000001 GB", "9.060000000 GB"));
  REQUIRE(FormatBytesApart(12'345, 12'345) == Pair("12.3 kB", "12.3 kB"));
  REQUIRE(FormatBytesApart(1001, 1000) == Pair("1.001 kB", "1.000 kB"));
  REQUIRE(FormatBytesApart(7, 8) == Pair("7 B", "8 B"));
}

TEST_CASE("a limit is rounded up, to four digits") {
  REQUIRE(FormatBytesUp(12'603'404 * kKiB) == "12.91 GB");  // 12 905 885 696 bytes
  REQUIRE(FormatBytesUp(1'000'000'000) == "1.000 GB");
  REQUIRE(FormatBytesUp(1'000'000'001) == "1.001 GB");
  REQUIRE(FormatBytesUp(999'999) == "1.000 MB");
  REQUIRE(FormatBytesUp(512) == "512 B");
  for (const Bytes bytes : {Bytes{1}, Bytes{1023}, Bytes{123'456'789}, 77 * kGiB + 1, 11 * kGiB * 1024 - 1}) {
    REQUIRE(ParseBytes(FormatBytesUp(bytes)) >= bytes);
    REQUIRE(static_cast<double>(*ParseBytes(FormatBytesUp(bytes))) < 1.001 * static_cast<double>(bytes) + 1);
  }
}

}  // namespace spillway

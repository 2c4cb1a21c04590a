// Typed values of a map, what is wrong with others, and tables of keys that cannot lie about what is read.
#include <catch2/catch.hpp>
#include <functional>
#include <limits>
#include <string>

#include "hw/text/document.h"
#include "hw/text/keys.h"
#include "tests/text.h"
#include "tests/user_errors.h"

namespace spillway {
namespace {

constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();

TEST_CASE("typed values are read") {
  const Document document = ParseDocument(
      "s: text\ni: 42\nn: 0.5\nb: true\nsize: 2 KiB\ntime: 3 us\nrate: 12 GB/s\nflops: 2 TFLOP/s\nkind: blue\n"
      "list: [a, b]\nnothing: ~\n",
      "f.yaml");
  Diagnostics diagnostics(document);
  MapReader r(document.root, diagnostics, "thing");
  REQUIRE(r.RequiredString("s") == "text");
  REQUIRE(r.RequiredInteger("i", 0, 100) == 42);
  REQUIRE(r.RequiredNumber("n", 0, 1) == 0.5);
  REQUIRE(r.BoolOr("b", false));
  REQUIRE(r.RequiredBytes("size") == 2048);
  REQUIRE(r.RequiredDuration("time") == 3000);
  REQUIRE(r.RequiredBandwidth("rate") == 12);
  REQUIRE(r.RequiredFlopRate("flops") == 2000);
  REQUIRE(r.ChoiceOr("kind", {"red", "blue"}, 0) == 1);
  REQUIRE(r.StringsOrNone("list") == std::vector<std::string>{"a", "b"});
  REQUIRE(r.IntegerOr("nothing", 7, 0, 9) == 7);  // null is absent
  REQUIRE(r.StringOr("x1", "d") == "d");
  REQUIRE(r.NumberOr("x2", 0.1, 0, 1) == 0.1);
  REQUIRE_FALSE(r.BoolOr("x3", false));
  REQUIRE(r.BytesOr("x4", 5) == 5);
  REQUIRE(r.DurationOr("x5", 6) == 6);
  REQUIRE(r.ChoiceOr("x6", {"red"}, -1) == -1);
  REQUIRE(r.StringsOrNone("x7").empty());
  REQUIRE(r.MarkOf("i").line == 2);
  REQUIRE(r.MarkOf("absent").line == 1);
  r.Finish();
  REQUIRE(diagnostics.empty());
}

struct BadValue {
  const char* value;
  std::function<void(MapReader&)> read;
  const char* message;  // of the first line, after "f.yaml:1:4: error: "
};

TEST_CASE("values of the wrong kind are refused with what was expected") {
  const BadValue cases[] = {
      {"two", [](MapReader& r) { r.RequiredInteger("k", 0, 64); },
       "k: expected a whole number from 0 to 64, found 'two'"},
      {"65", [](MapReader& r) { r.IntegerOr("k", 1, 0, 64); }, "k: expected a whole number from 0 to 64, found '65'"},
      {"0x10", [](MapReader& r) { r.IntegerOr("k", 1, 1, kAny); },
       "k: expected a whole number from 1 up, found '0x10'"},
      {"010", [](MapReader& r) { r.IntegerOr("k", 1, 1, 64); },
       "k: expected a whole number from 1 to 64, found '010', which is eight to some and ten to others: no leading "
       "zeros"},
      {"010 GB", [](MapReader& r) { r.BytesOr("k", 0); }, "k: '010 GB' begins with a zero; write it without"},
      {"nan", [](MapReader& r) { r.RequiredNumber("k", 0, 1); }, "k: expected a number from 0 to 1, found 'nan'"},
      {"1.5", [](MapReader& r) { r.NumberOr("k", 0, 0, 1); }, "k: expected a number from 0 to 1, found '1.5'"},
      {"yes", [](MapReader& r) { r.BoolOr("k", false); },
       "k: expected true or false, found 'yes'; did you mean 'true'?"},
      {"16", [](MapReader& r) { r.RequiredBytes("k"); }, "k: '16' has no unit; write for example 16 GiB or 16 GB"},
      {"16 gb", [](MapReader& r) { r.BytesOr("k", 0); },
       "k: unknown unit 'gb', expected one of B kB KB MB GB TB KiB MiB GiB TiB; did you mean 'GB'?"},
      {"-1 GB", [](MapReader& r) { r.BytesOr("k", 0); },
       "k: expected a size that fits, such as 16 GiB or 16 GB, found '-1 GB'"},
      {"99999999 TB", [](MapReader& r) { r.BytesOr("k", 0); },
       "k: expected a size that fits, such as 16 GiB or 16 GB, found '99999999 TB'"},
      {"5", [](MapReader& r) { r.DurationOr("k", 0); }, "k: '5' has no unit; write for example 5 us or 1.5 ms"},
      {"5 msec", [](MapReader& r) { r.RequiredDuration("k"); }, "k: unknown unit 'msec', expected one of ns us ms s"},
      {"''", [](MapReader& r) { r.RequiredString("k"); }, "k: expected a text, found ''"},
      {"[a]", [](MapReader& r) { r.RequiredString("k"); }, "k: expected a single value, found a list"},
      {"{a: b}", [](MapReader& r) { r.StringOr("k", ""); }, "k: expected a single value, found a map"},
      {"a", [](MapReader& r) { r.StringsOrNone("k"); }, "k: expected a list, found a single value"},
      {"bleu",
       [](MapReader& r) {
         r.ChoiceOr("k", {"red", "blue"}, 0);
       },
       "k: unknown value 'bleu', expected one of red, blue; did you mean 'blue'?"},
      {"green",
       [](MapReader& r) {
         r.ChoiceOr("k", {"red", "blue"}, 0);
       },
       "k: unknown value 'green', expected one of red, blue"},
      {"blu",
       [](MapReader& r) {
         r.ChoiceOr("k", {"red", "blue"}, 0);
       },
       "k: unknown value 'blu', expected one of red, blue; did you mean 'blue'?"},
      {"~", [](MapReader& r) { r.RequiredString("k"); }, "'k' in thing has no value"},
      {"3", [](MapReader& r) { r.Check(r.IntegerOr("k", 0, 0, 9) > 3, "k", "too few"); }, "k: too few"},
  };
  for (const BadValue& c : cases) {
    const Document document = ParseDocument(std::string("k: ") + c.value + "\n", "f.yaml");
    Diagnostics diagnostics(document);
    MapReader reader(document.root, diagnostics, "thing");
    c.read(reader);
    reader.Finish();
    const std::string message = ErrorOf([&] { diagnostics.ThrowIfAny(); });
    REQUIRE(message.substr(0, message.find('\n')) == std::string("f.yaml:1:4: error: ") + c.message);
  }
}

// A reader of the key `k` in "k: 3\n", by a table with the row given.
void ReadBy(const KeyRow& row, const std::function<void(MapReader&)>& read, const char* text = "k: 3\n") {
  const KeyTable table{.title = "thing", .keys = {row}};
  const Document document = ParseDocument(text, "f.yaml");
  Diagnostics diagnostics(document);
  MapReader reader(document.root, diagnostics, "thing", table);
  read(reader);
  reader.Finish();
}

TEST_CASE("a table of keys cannot lie about what is read") {
  const KeyRow row{"k", WholeNumberFrom(0, 9), "7", "a number"};
  REQUIRE_NOTHROW(ReadBy(row, [](MapReader& r) { r.IntegerOr("k", 7, 0, 9); }));
  using Lie = std::logic_error;
  REQUIRE_THROWS_AS(ReadBy(row, [](MapReader&) {}), Lie);                                    // not read
  REQUIRE_THROWS_AS(ReadBy(row, [](MapReader& r) { r.IntegerOr("other", 7, 0, 9); }), Lie);  // not listed
  REQUIRE_THROWS_AS(ReadBy(row, [](MapReader& r) { r.IntegerOr("k", 7, 0, 10); }), Lie);     // another range
  REQUIRE_THROWS_AS(ReadBy(row, [](MapReader& r) { r.IntegerOr("k", 6, 0, 9); }), Lie);      // another default
  REQUIRE_THROWS_AS(ReadBy(row, [](MapReader& r) { r.BytesOr("k", 7); }), Lie);              // another kind
  const auto required = [](MapReader& r) { r.RequiredInteger("k", 0, 9); };
  REQUIRE_THROWS_AS(ReadBy(row, required, "j: 3\n"), Lie);  // required, and not said so
  KeyRow said = row;
  said.otherwise = kRequiredKey;
  REQUIRE_NOTHROW(ReadBy(said, required, "j: 3\n"));  // the user is told: unknown key, missing key
  REQUIRE_THROWS_AS(ReadBy(
                        said, [](MapReader& r) { r.IntegerOr("k", 7, 0, 9); }, "j: 3\n"),
                    Lie);
}

TEST_CASE("keys that a table lists are what a misspelt one is held against") {
  const KeyTable common{.title = "any", .keys = {{"name", kAnyText, "none", "what it is called"}}};
  const KeyTable table{.title = "thing", .keys = {{"stride", kAnyText, "none", "a text"}}, .also = &common};
  const Document document = ParseDocument("strid: 3\nnmae: x\n", "f.yaml");
  Diagnostics diagnostics(document);
  MapReader reader(document.root, diagnostics, "thing", table);
  reader.StringOr("stride", "");
  reader.StringOr("name", "");
  reader.Finish();
  const std::string errors = ErrorOf([&] { diagnostics.ThrowIfAny(); });
  REQUIRE_THAT(errors, Catch::Contains("unknown key 'strid' in thing; did you mean 'stride'?"));
  REQUIRE_THAT(errors, Catch::Contains("unknown key 'nmae' in thing; did you mean 'name'?"));
}

TEST_CASE("all mistakes of a map are reported at once, each once") {
  const Document document = ParseDocument("nam: x\ncount: many\nmap: 3\n", "f.yaml");
  Diagnostics diagnostics(document);
  MapReader r(document.root, diagnostics, "scenario");
  REQUIRE(r.RequiredString("name").empty());
  const std::int64_t count = r.RequiredInteger("count", 1, 9);
  REQUIRE(count == 1);
  r.Check(false, "count", "not said: reported already");
  r.Check(false, "absent", "not said: absent");
  MapReader inner(*r.Required("map"), diagnostics, "map");
  inner.RequiredString("anything");  // not said: there is no map
  inner.Finish();
  r.Finish();
  try {
    diagnostics.ThrowIfAny();
    FAIL("nothing was thrown");
  } catch (const UserError& error) {
    REQUIRE(error.messages().size() == 4);
    REQUIRE(Contains(error.messages()[0], "f.yaml:1:1: error: missing key 'name' in scenario"));
    REQUIRE(Contains(error.messages()[1], "f.yaml:1:1: error: unknown key 'nam' in scenario; did you mean 'name'?"));
    REQUIRE(Contains(error.messages()[2], "f.yaml:2:8: error: count: expected a whole number"));
    REQUIRE(Contains(error.messages()[3], "f.yaml:3:6: error: map: expected a map, found a single value"));
  }
}

}  // namespace
}  // namespace spillway

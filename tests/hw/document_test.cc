#include "hw/text/document.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <random>

#include "hw/text/keys.h"
#include "tests/text.h"
#include "tests/user_errors.h"

namespace spillway {
namespace {

constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();

std::string ParseError(const std::string& text) {
  return ErrorOf([&] {
    const Document document = ParseDocument(text, "f.yaml");
    Diagnostics(document).ThrowIfAny();
  });
}

TEST_CASE("a document keeps values, order and positions") {
  const Document document = ParseDocument("b: 1\na:\n  - x\n  - {y: '~', z: ~, e: }\n", "f.yaml");
  const Node& root = document.root;
  REQUIRE(root.entries.size() == 2);
  REQUIRE(root.entries[0].key == "b");
  REQUIRE(root.Find("b")->scalar == "1");
  REQUIRE(root.Find("b")->mark.line == 1);
  REQUIRE(root.Find("b")->mark.column == 4);
  REQUIRE(root.entries[1].mark.line == 2);
  REQUIRE(root.Find("c") == nullptr);
  const Node& list = *root.Find("a");
  REQUIRE(list.IsSequence());
  REQUIRE(list.items.at(0).scalar == "x");
  REQUIRE(list.items.at(1).Find("y")->scalar == "~");  // quoted: a text
  REQUIRE(list.items.at(1).Find("z")->kind == Node::Kind::kNull);
  REQUIRE(list.items.at(1).Find("e")->kind == Node::Kind::kNull);
  REQUIRE(list.items.at(1).mark.line == 4);
  REQUIRE(list.items.at(1).mark.column == 5);
}

TEST_CASE("scalars keep their text") {
  const Document document = ParseDocument("a: 010\nb: yes\nc: \"x\\ty\"\nd: |\n  one\n  two\n", "f.yaml");
  REQUIRE(document.root.Find("a")->scalar == "010");
  REQUIRE(document.root.Find("b")->scalar == "yes");
  REQUIRE(document.root.Find("c")->scalar == "x\ty");
  REQUIRE(document.root.Find("d")->scalar == "one\ntwo\n");
}

TEST_CASE("an alias is a copy") {
  const Document document = ParseDocument("a: &x {k: [1, 2]}\nb: *x\n", "f.yaml");
  REQUIRE(document.root.Find("b")->Find("k")->items.at(1).scalar == "2");
}

TEST_CASE("a byte order mark and other line ends are read") {
  REQUIRE(ParseDocument("\xEF\xBB\xBF"
                        "a: 1\r\nb: 2\r\n",
                        "f.yaml")
              .root.Find("b")
              ->scalar == "2");
}

struct BadText {
  const char* name;
  std::string text;
  std::string place;    // how the message begins
  std::string problem;  // what it contains
};

std::string Nested(int levels) {
  return "a: " + std::string(static_cast<std::size_t>(levels), '[') +
         std::string(static_cast<std::size_t>(levels), ']');
}

// Nine lists, each of ten copies of the one before: 10^9 values.
std::string AliasBomb() {
  std::string text = "l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string before = "*l" + std::to_string(i - 1);
    text += "l" + std::to_string(i) + ": &l" + std::to_string(i) + " [" + before;
    for (int k = 1; k < 10; ++k) text += ", " + before;
    text += "]\n";
  }
  return text;
}

// A megabyte of text, a hundred times.
std::string TextBomb() {
  std::string text = "a: &a " + std::string(1 << 20, 'x') + "\nb:\n";
  for (int i = 0; i < 100; ++i) text += "  - *a\n";
  return text;
}

TEST_CASE("texts that are no document are refused with a reason") {
  using namespace std::string_literals;
  const BadText cases[] = {
      {"empty", "", "f.yaml: error: ", "the file is empty"},
      {"comments only", "# nothing\n\n", "f.yaml: error: ", "the file is empty"},
      {"null", "~\n", "f.yaml: error: ", "the file is empty"},
      {"list", "- a\n- b\n", "f.yaml:1:1: error: ", "found a list"},
      {"scalar", "hello\n", "f.yaml:1:1: error: ", "found a single value"},
      {"tab", "a:\n\tb: 1\n", "f.yaml:2:1: error: ", "tab used for indentation"},
      {"tab after spaces", "a:\n  \tb: 1\n", "f.yaml:2:3: error: ", "tab used for indentation"},
      {"duplicate", "a: 1\nb: 2\na: 3\n", "f.yaml:3:1: error: ", "duplicate key 'a' (first at line 1)"},
      {"duplicate inside", "m:\n  a: 1\n  a: 1\n", "f.yaml:3:3: error: ", "duplicate key 'a' (first at line 2)"},
      {"merge key", "a: &x {b: 1}\nc:\n  <<: *x\n", "f.yaml:3:3: error: ", "merge keys ('<<') are not supported"},
      {"tag", "a: !!int 5\n", "f.yaml:1:4: error: ", "tag"},
      {"key is a list", "? [a, b]\n: 1\n", "f.yaml:1:3: error: ", "plain name"},
      {"key is null", "~: 1\n", "f.yaml:1:1: error: ", "plain name"},
      {"two documents", "a: 1\n---\nb: 2\n", "f.yaml:2:1: error: ", "second document"},
      {"unclosed", "a: [1, 2\n", "f.yaml:", "not valid YAML"},
      {"unknown alias", "a: *nobody\n", "f.yaml:1:", "not valid YAML"},
      {"alias in itself", "a: &x [1, *x]\n", "f.yaml:1:11: error: ", "inside the value it names"},
      {"deep", Nested(64), "f.yaml:1:67: error: ", "nested deeper than 64"},  // the root map is level one
      {"very deep", Nested(20000), "f.yaml:1:67: error: ", "nested deeper than 64"},
      {"alias bomb", AliasBomb(), "f.yaml:", "more than 1000000 values"},
      {"text bomb", TextBomb(), "f.yaml:", "more than 64 MiB of text"},
      {"NUL", "a: 1\nb: \0\n"s, "f.yaml:2:4: error: ", "byte 0x00 is a control character"},
      {"escape", "a: \x1b[0m\n", "f.yaml:1:4: error: ", "byte 0x1b"},
      {"bad UTF-8", "a: \xff\xfe\n", "f.yaml:1:4: error: ", "byte 0xff is not UTF-8"},
      {"cut UTF-8", "a: \xe2\x82", "f.yaml:1:4: error: ", "not UTF-8"},
      {"overlong UTF-8", "a: \xc0\x80\n", "f.yaml:1:4: error: ", "not UTF-8"},
      {"surrogate", "a: \xed\xa0\x80\n", "f.yaml:1:4: error: ", "not UTF-8"},
      {"ELF",
       "\x7f"
       "ELF\x02\x01\x01"s,
       "f.yaml:1:1: error: ", "not a YAML text"},
      {"too large", std::string((16 << 20) + 1, 'a'), "f.yaml: error: ", "larger than 16 MiB"},
  };
  for (const BadText& c : cases) {
    const std::string message = ParseError(c.text);
    INFO(c.name << ": " << message.substr(0, 300));
    CHECK(message.rfind(c.place, 0) == 0);
    CHECK(Contains(message, c.problem));
  }
}

TEST_CASE("of a key that comes twice the first value counts, and reading goes on to the other mistakes") {
  const Document document = ParseDocument("a: 1\na: 2\nb: x\nm: {c: 1, c: 2}\n", "f.yaml");
  CHECK(document.root.entries.size() == 3);
  CHECK(document.root.Find("a")->scalar == "1");
  Diagnostics diagnostics(document);
  diagnostics.Error({3, 4}, "wrong");
  const std::string message = ErrorOf([&] { diagnostics.ThrowIfAny(); });
  const std::size_t first = message.find("f.yaml:2:1: error: duplicate key 'a' (first at line 1)");
  const std::size_t second = message.find("f.yaml:3:4: error: wrong");
  const std::size_t third = message.find("f.yaml:4:11: error: duplicate key 'c' (first at line 4)");
  CHECK(first == 0);
  CHECK((first < second && second < third && third != std::string::npos));
}

TEST_CASE("a duplicate key is reported beside what ends reading") {
  const std::string message = ParseError("a: 1\na: 2\nb: [1, 2\n");
  CHECK(Contains(message, "f.yaml:2:1: error: duplicate key 'a'"));
  CHECK(Contains(message, "not valid YAML"));
}

TEST_CASE("nesting of 64 levels is read") { REQUIRE(ParseError(Nested(63)) == "no error"); }

TEST_CASE("a tab inside a line is no indentation") {
  REQUIRE(ParseError("a: 1\t# one\n\t\nb: 'x\ty'\n") == "no error");
}

TEST_CASE("files that cannot be read are refused by name") {
  const std::string folder =
      (std::filesystem::temp_directory_path() / ("document_test." + std::to_string(getpid()))).string();
  std::filesystem::create_directories(folder);
  REQUIRE(ErrorOf([&] { LoadDocument(folder); }) == folder + ": error: is a directory, expected a YAML file");
  REQUIRE(ErrorOf([&] { LoadDocument(folder + "/no.yaml"); }) == folder + "/no.yaml: error: no such file");
  const std::string large = folder + "/large.yaml";
  std::ofstream(large) << "a: 1\n";
  REQUIRE(LoadDocument(large).root.Find("a")->scalar == "1");
  std::filesystem::resize_file(large, (16 << 20) + 1);
  REQUIRE(ErrorOf([&] { LoadDocument(large); }) == large + ": error: larger than 16 MiB");
  if (getuid() != 0) {  // root reads everything
    std::filesystem::permissions(large, std::filesystem::perms::none);
    REQUIRE(ErrorOf([&] { LoadDocument(large); }) == large + ": error: cannot be read: Permission denied");
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("messages show the place, sorted") {
  const Document document = ParseDocument("name: x\nmemory_limits: 8 GB\n", "s.yaml");
  Diagnostics diagnostics(document);
  diagnostics.Error({2, 16}, "second");
  diagnostics.Error({1, 1}, "first");
  diagnostics.Error({}, "whole file");
  REQUIRE(ErrorOf([&] { diagnostics.ThrowIfAny(); }) ==
          "s.yaml: error: whole file\n"
          "s.yaml:1:1: error: first\n"
          "    1 | name: x\n"
          "      | ^\n"
          "s.yaml:2:16: error: second\n"
          "    2 | memory_limits: 8 GB\n"
          "      |                ^");
}

TEST_CASE("excerpts fit 120 columns and the caret stays under its character") {
  const std::string line = "k: " + std::string(400, 'x') + "Y" + std::string(400, 'x');
  const Document document = ParseDocument("ä: [ö, ü]\n" + line + "\n", "s.yaml");
  for (const int column : {1, 100, 404, 804, 5000}) {
    Diagnostics diagnostics(document);
    diagnostics.Error({2, column}, "here");
    const std::string message = ErrorOf([&] { diagnostics.ThrowIfAny(); });
    const std::size_t source = message.find('\n') + 1;
    const std::size_t caret = message.find('\n', source) + 1;
    INFO(message);
    REQUIRE(caret - source - 1 <= 120);
    REQUIRE(message.size() - caret <= 121);
    if (column == 404) REQUIRE(message[source + (message.find('^') - caret)] == 'Y');
  }
  Diagnostics diagnostics(document);
  diagnostics.Error({1, 9}, "here");  // ü: byte 9, character 7
  REQUIRE(Contains(ErrorOf([&] { diagnostics.ThrowIfAny(); }), "\n      |       ^"));
}

TEST_CASE("after a hundred messages the rest is counted") {
  const Document document = ParseDocument("a: 1\n", "s.yaml");
  Diagnostics diagnostics(document);
  for (int i = 0; i < 250; ++i) diagnostics.Error({1, 1}, "wrong");
  try {
    diagnostics.ThrowIfAny();
    FAIL("nothing was thrown");
  } catch (const UserError& error) {
    REQUIRE(error.messages().size() == 101);
    REQUIRE(error.messages().back() == "s.yaml: error: 150 more errors");
  }
}

TEST_CASE("values from a file do not spoil the layout of messages") {
  const Document document = ParseDocument("a: 1\n", "s.yaml");
  Diagnostics diagnostics(document);
  diagnostics.Error({}, "found 'x\ny'");
  diagnostics.Error({}, std::string(5000, 'z'));
  const std::string message = ErrorOf([&] { diagnostics.ThrowIfAny(); });
  REQUIRE(Contains(message, "found 'x?y'"));
  REQUIRE(message.size() < 700);
}

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
      {"yes", [](MapReader& r) { r.BoolOr("k", false); }, "k: expected true or false, found 'yes'"},
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

TEST_CASE("a beginning stands for the shortest name that has it") {
  const std::vector<std::string> names = {"v100-x86-pcie3-long", "v100-x86-pcie3", "vgg16"};
  REQUIRE(NearestName("v100-x86", names) == "v100-x86-pcie3");  // six of fourteen letters are missing
  REQUIRE(NearestName("vgg", names) == "vgg16");
  REQUIRE(NearestName("vg", names).empty());        // too short to mean one name
  REQUIRE(NearestName("x86", names).empty());       // inside, not at the beginning
  REQUIRE(NearestName("vgg61", names) == "vgg16");  // a small distance goes first
}

TEST_CASE("the nearest name is at most a third away") {
  const std::vector<std::string> names = {"vgg16", "resnet50", "alexnet"};
  REQUIRE(NearestName("vgg61", names) == "vgg16");  // one swap
  REQUIRE(NearestName("vgf", names).empty());       // two letters of five are missing, one is wrong
  REQUIRE(NearestName("vgg-16", names) == "vgg16");
  REQUIRE(NearestName("ResNet50", names) == "resnet50");
  REQUIRE(NearestName("resnet", names) == "resnet50");
  REQUIRE(NearestName("transformer", names).empty());
  REQUIRE(NearestName("", names).empty());
  REQUIRE(NearestName("x", {}).empty());
  REQUIRE(NearestName(std::string(1 << 20, 'x'), names).empty());
  REQUIRE(DidYouMean("alexnett", names) == "; did you mean 'alexnet'?");
  REQUIRE(DidYouMean("zzz", names).empty());
}

// Either a map or a UserError; anything else (a crash, another exception) fails the test.
bool Parses(const std::string& text) {
  try {
    return ParseDocument(text, "f.yaml").root.IsMap();
  } catch (const UserError& error) {
    return error.messages().empty();  // an error says something
  }
}

TEST_CASE("random bytes are read or refused") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::string text(random() % 200, ' ');
    for (char& c : text) c = static_cast<char>(random());
    CHECK_NOTHROW(Parses(text));
  }
}

TEST_CASE("random YAML-like text is read or refused") {
  const std::string_view pieces[] = {"a",     "b",     ": ", "- ",  "\n", "  ", "    ", "[", "]", "{",  "}",
                                     ", ",    "'",     "\"", "&x ", "*x", "<<", "|",    ">", "!", "? ", "#",
                                     "---\n", "...\n", "%",  "@",   "`",  "~",  "\\",   "ü", "1", "\t", "\r"};
  std::mt19937_64 random(11);
  int parsed = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = round % 2 == 0 ? "" : "k:";
    for (std::uint64_t i = random() % 24; i > 0; --i) text += pieces[random() % std::size(pieces)];
    CHECK_NOTHROW(parsed += Parses(text) ? 1 : 0);
  }
  REQUIRE(parsed > 100);  // the mix is not all rubbish
}

TEST_CASE("a damaged good file is read or refused") {
  std::ifstream stream(SPILLWAY_SOURCE_DIR "/hw/unit.yaml");
  const std::string good{std::istreambuf_iterator<char>(stream), {}};
  REQUIRE(Parses(good));
  std::mt19937_64 random(13);
  for (int round = 0; round < 1000; ++round) {
    std::string text = good;
    for (std::uint64_t i = 1 + random() % 4; i > 0; --i) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0)
        text.erase(at, random() % 20);
      else
        text[at] = static_cast<char>(' ' + random() % 95);
    }
    CHECK_NOTHROW(Parses(text));
  }
}

}  // namespace
}  // namespace spillway

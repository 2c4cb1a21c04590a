#include "hw/text/document.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <random>

#include "tests/text.h"
#include "tests/user_errors.h"

namespace spillway {
namespace {

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
      {"too large", std::string((64 << 20) + 1, 'a'), "f.yaml: error: ", "larger than 64 MiB"},
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
  std::filesystem::resize_file(large, (64 << 20) + 1);
  REQUIRE(ErrorOf([&] { LoadDocument(large); }) == large + ": error: larger than 64 MiB");
  if (getuid() != 0) {  // root reads everything
    std::filesystem::permissions(large, std::filesystem::perms::none);
    REQUIRE(ErrorOf([&] { LoadDocument(large); }) == large + ": error: cannot be read: Permission denied");
  }
  std::filesystem::remove_all(folder);
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

#include "hw/text/text_file.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <thread>

#include "tests/temporary_folder.h"
#include "tests/text.h"
#include "tests/user_errors.h"

namespace spillway {
namespace {

using std::chrono::milliseconds;
using namespace std::string_literals;

std::string Fifo(const TemporaryFolder& folder) {
  const std::string path = folder.Path("fifo");
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  return path;
}

TEST_CASE("a FIFO that nobody writes into is refused, not waited for") {
  const TemporaryFolder folder("fifo-alone");
  const std::string path = Fifo(folder);
  CHECK(ErrorOf([&] { ReadTextFile(path, "a YAML file", 100, milliseconds(20)); }) ==
        path + ": error: is a FIFO that nobody writes into, expected a YAML file");
}

TEST_CASE("a FIFO that is written to is read to its end") {
  const TemporaryFolder folder("fifo-fed");
  const std::string path = Fifo(folder);
  const std::string text(100'000, 'x');  // more than a pipe holds
  const std::jthread writer([&] { std::ofstream(path) << text; });
  CHECK(ReadTextFile(path, "a YAML file", 1'000'000) == text);
}

TEST_CASE("of a file that is too long one byte more than allowed is read") {
  const TemporaryFolder folder("long");
  CHECK(ReadTextFile(folder.Write("f", "0123456789"), "a file", 10) == "0123456789");
  CHECK(ReadTextFile(folder.Write("f", "0123456789"), "a file", 4) == "01234");
  CHECK(ReadTextFile("/dev/zero", "a file", 4).size() == 5);
}

TEST_CASE("a file that cannot be read says why") {
  const TemporaryFolder folder("unreadable");
  CHECK(Contains(ErrorOf([&] { ReadTextFile(folder.Path("none"), "a file", 9); }), "none: error: no such file"));
  CHECK(Contains(ErrorOf([&] { ReadTextFile(folder.Path(""), "a CSV file", 9); }),
                 "error: is a directory, expected a CSV file"));
  CHECK(Contains(ErrorOf([&] { ReadTextFile(folder.Path(std::string(300, 'n')), "a file", 9); }),
                 "error: cannot be read: File name too long"));
}

std::string NotText(const std::string& text) {
  const Document document{"f", text, {}, {}};
  Diagnostics diagnostics(document);
  const bool is_text = IsText(text, "a CSV text", Returns::kBeforeLineFeeds, diagnostics);
  const std::string error = ErrorOf([&] { diagnostics.ThrowIfAny(); });
  CHECK(is_text == (error == "no error"));
  return error.substr(0, error.find('\n'));
}

TEST_CASE("what is no text is named") {
  CHECK(NotText("a,b\r\n\t1\n") == "no error");
  CHECK(NotText("") == "no error");
  CHECK(NotText("a\n\0b"s) == "f:2:1: error: byte 0x00 is a control character (NUL); this is not a CSV text");
  CHECK(NotText("a\rb") == "f:1:2: error: byte 0x0d is a control character; this is not a CSV text");
  CHECK(NotText("a\xff") == "f:1:2: error: byte 0xff is not UTF-8; this is not a CSV text");
}

TEST_CASE("text in UTF-16 is named, with its mark and without") {
  const std::string message = "f:1:1: error: this is a text in UTF-16; expected a CSV text in UTF-8";
  CHECK(NotText("\xff\xfe"s + "o\0p\0"s) == message);
  CHECK(NotText("\xfe\xff"s + "\0o\0p"s) == message);
  CHECK(NotText("o\0p\0,\0"s) == message);
  CHECK(NotText("\0o\0p\0,"s) == message);
  CHECK(Contains(NotText("\0\0\0\0"s), "(NUL)"));
}

}  // namespace
}  // namespace spillway

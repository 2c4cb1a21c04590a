#include "model/samples/csv.h"

#include <catch2/catch.hpp>
#include <new>

#include "tests/temporary_folder.h"

namespace spillway {
namespace {

std::vector<CsvRow> RowsOf(const Document& document, Diagnostics& diagnostics) {
  std::vector<CsvRow> rows(CheckCsv(document, diagnostics));
  Diagnostics again(document);
  CsvRows reader(document, again);
  for (CsvRow& row : rows) REQUIRE(reader.Next(row));
  return rows;
}

// The cells as "a|b" per row.
std::vector<std::string> Rows(const std::string& text) {
  const Document document{"f.csv", text, {}, {}};
  Diagnostics diagnostics(document);
  std::vector<std::string> rows;
  for (const CsvRow& row : RowsOf(document, diagnostics)) {
    std::string joined;
    for (const CsvCell& cell : row) joined += (&cell == &row.front() ? "" : "|") + cell.text;
    rows.push_back(joined);
  }
  diagnostics.ThrowIfAny();
  return rows;
}

std::string ErrorOf(const std::string& text) {
  try {
    Rows(text);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

using Lines = std::vector<std::string>;

TEST_CASE("cells are split at commas, lines at LF or CRLF") {
  CHECK(Rows("a,b\n1,2\n") == Lines{"a|b", "1|2"});
  CHECK(Rows("a,b\r\n1,2") == Lines{"a|b", "1|2"});
  CHECK(Rows("\xEF\xBB\xBF"
             "a,b\n\n\n1,\n") == Lines{"a|b", "1|"});
  CHECK(Rows(" a ,\tb\n") == Lines{"a|b"});
  CHECK(Rows(",\n") == Lines{"|"});
  CHECK(Rows("").empty());
}

TEST_CASE("a quoted cell holds commas, quotes, spaces and line breaks") {
  CHECK(Rows("\"a,b\",c\n") == Lines{"a,b|c"});
  CHECK(Rows("\"say \"\"x\"\"\"\n") == Lines{"say \"x\""});
  CHECK(Rows("\" a \",\"1\n2\"\n3\n") == Lines{" a |1\n2", "3"});
  CHECK(Rows("\"\"\n") == Lines{""});
}

TEST_CASE("cells know where they stood") {
  const Document document{"f.csv", "a,\"b\nc\",d\n  e,f\n", {}, {}};
  Diagnostics diagnostics(document);
  const std::vector<CsvRow> rows = RowsOf(document, diagnostics);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0][1].mark.column == 3);
  CHECK(rows[0][2].mark.line == 2);  // `d` follows the quoted line break
  CHECK(rows[0][2].mark.column == 4);
  CHECK(rows[1][0].mark.line == 3);
  CHECK(rows[1][0].mark.column == 3);
}

TEST_CASE("what is no CSV is reported where it stands") {
  CHECK(ErrorOf("a\n1,x\"y\"\n").find("f.csv:2:4: error: a quote within an unquoted cell") == 0);
  CHECK(ErrorOf("a\n\"x\"y,2\n").find("f.csv:2:4: error: 'y' after the closing quote") == 0);
  CHECK(ErrorOf("a\n1,\"x\n").find("f.csv:2:3: error: this quote is never closed") == 0);
  CHECK(ErrorOf(std::string("a,\0b\n", 5)).find("f.csv:1:3: error: byte 0x00 is a control character") == 0);
  CHECK(ErrorOf("a\n\xff\xfe\n").find("f.csv:2:1: error: byte 0xff is not UTF-8") == 0);
  CHECK(ErrorOf("a\rb\n").find("f.csv:1:2: error: byte 0x0d is a control character") == 0);
}

TEST_CASE("a written cell reads as it was") {
  for (const std::string text : {"", "plain", "a,b", "\"", " spaced ", "two\nlines", "crlf\r\n", "\xC3\xA9"}) {
    INFO(text);
    CHECK(Rows("x," + CsvText(text) + ",y\n") == Lines{"x|" + text + "|y"});
  }
  CHECK(CsvText("plain") == "plain");
  CHECK(CsvText("a\"b") == "\"a\"\"b\"");
}

TEST_CASE("row by row is the same as all at once") {
  for (const std::string text : {"a,b\n1,2\n", "", "\n\n", "a\n\n\"x\ny\",2\r\n\n3",
                                 "\xEF\xBB\xBF"
                                 "a,b\n,\n,,"}) {
    INFO(text);
    const Document document{"f.csv", text, {}, {}};
    Diagnostics diagnostics(document);
    CsvRows rows(document, diagnostics);
    Lines each;
    for (CsvRow row; rows.Next(row);) {
      each.emplace_back();
      for (const CsvCell& cell : row) each.back() += (&cell == &row.front() ? "" : "|") + cell.text;
    }
    CHECK(each == Rows(text));
    CHECK(CheckCsv(document, diagnostics) == each.size());
  }
}

TEST_CASE("a file names itself where memory ends") {
  const Document document{"large.csv", std::string(100'000, 'x'), {}, {}};
  CHECK_THROWS_WITH(WithinMemory(document, [] { throw std::bad_alloc(); }),
                    "large.csv: error: memory ended while this file of 100 kB was read; give it in parts");
  CHECK_THROWS_WITH(WithinMemory(document, [] { throw UserError("another"); }), "another");
  // There was no room for the text.
  const TemporaryFolder folder("csv-memory");
  const Document unread{folder.Write("u.csv", std::string(2'000, 'x')), {}, {}, {}};
  CHECK_THROWS_WITH(WithinMemory(unread, [] { throw std::bad_alloc(); }),
                    Catch::Contains("while this file of 2.00 kB was read"));
}

TEST_CASE("files that cannot be read say why") {
  const TemporaryFolder folder("csv");
  CHECK(LoadCsvText(folder.Write("a.csv", "x\n")).text == "x\n");
  CHECK_THROWS_WITH(LoadCsvText(folder.Path("none.csv")), Catch::EndsWith("none.csv: error: no such file"));
  CHECK_THROWS_WITH(LoadCsvText(folder.Path("")), Catch::EndsWith("error: is a directory, expected a CSV file"));
}

}  // namespace
}  // namespace spillway

// The pages of the tree, *.md: their paths, links and commands are real, sentences are short, and each folder says what
// it holds.
#include "tests/scenarios/pages.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "scenarios/file/scenario.h"
#include "tests/command_line.h"
#include "tests/markdown.h"
#include "tests/temporary_folder.h"
#include "tests/text.h"

namespace spillway {
namespace {

namespace fs = std::filesystem;

// Pages whose sentences are held; a new page joins them.
const std::vector<std::string> kHeldPages = {"CHANGELOG.md",
                                             "CONTRIBUTING.md",
                                             "LIMITS.md",
                                             "README.md",
                                             "calibrate/README.md",
                                             "calibrate/devices/cpu/README.md",
                                             "calibrate/devices/cuda/README.md",
                                             "calibrate/devices/cuda/plugin/README.md",
                                             "calibrate/validate/README.md",
                                             "hw/accuracy/README.md",
                                             "model/README.md",
                                             "model/recorded/README.md",
                                             "model/samples/README.md",
                                             "reports/README.md",
                                             "reports/dump/README.md",
                                             "reports/html/README.md",
                                             "scenarios/README.md",
                                             "scenarios/claims/README.md",
                                             "scenarios/claims/pooch.md",
                                             "scenarios/frameworks.md",
                                             "sim/README.md",
                                             "sim/bounds/README.md",
                                             "sim/plan/README.md",
                                             "sim/strategies/README.md",
                                             "sim/strategies/best/README.md",
                                             "sim/strategies/dtr/README.md",
                                             "sim/strategies/ooc_cudnn/README.md",
                                             "sim/strategies/pooch/README.md",
                                             "sim/strategies/ucudnn/README.md",
                                             "tests/README.md"};

TEST_CASE("README is read in ten minutes") { CHECK(PageAt("README.md").text.size() <= 12 * 1024); }

TEST_CASE("every link of a page leads to a file and a heading that are there") {
  for (const Page& page : Pages()) {
    for (const std::string& paragraph : Paragraphs(page.markdown)) {
      for (const std::string& link : Links(CodeSpans(paragraph).second).first) {
        if (link.find(':') != std::string::npos || link.find(' ') != std::string::npos)
          continue;  // another place, code
        INFO(page.path << ": " << link);
        const std::size_t mark = std::min(link.find('#'), link.size());
        const fs::path target =
            mark == 0 ? SourceRoot() / page.path : SourceRoot() / page.folder / link.substr(0, mark);
        CHECK(fs::exists(target));
        if (mark < link.size()) CHECK(HasAnchor(target, link.substr(mark + 1)));
      }
    }
  }
}

TEST_CASE("every path, source file and test that a page names is there") {
  for (const Page& page : Pages()) {
    for (const std::string& paragraph : Paragraphs(page.markdown)) {
      for (const std::string& span : CodeSpans(paragraph).first) {
        for (const std::string& word : WordsOf(span)) {
          INFO(page.path << ": " << word);
          CHECK(IsReal(word, page));
        }
      }
    }
    for (const std::string& line : page.markdown.code) {
      for (const std::string& word : CommandOf(line)) {
        INFO(page.path << ": " << line);
        CHECK((!BeginsInTheTree(word) || IsReal(word, page)));
      }
    }
  }
}

TEST_CASE("every command of a page is one that the program takes") {
  for (const Page& page : Pages()) {
    for (const std::string& line : page.markdown.code) {
      const std::vector<std::string> words = CommandOf(line);
      if (words.empty()) continue;
      const Arguments arguments = ParseArguments(words);
      INFO(page.path << ": " << line << "\n" << arguments.text);
      CHECK(arguments.status == kExitDone);
    }
    for (const std::string& paragraph : Paragraphs(page.markdown)) {
      for (const std::string& span : CodeSpans(paragraph).first) {  // a mention may leave out what a verb wants
        const std::vector<std::string> words = CommandOf(span);
        if (words.empty() || span.find("...") != std::string::npos || words[0] == "1") continue;
        const Arguments arguments = ParseArguments(words);
        INFO(page.path << ": " << span << "\n" << arguments.text);
        CHECK_FALSE(Contains(arguments.text, "unknown"));
      }
    }
  }
}

TEST_CASE("README's own question is a scenario, and its plan is taken, certified, run and compared") {
  const Page& readme = PageAt("README.md");
  const std::size_t begin = readme.text.find("```yaml\n") + 8;
  const std::string question = readme.text.substr(begin, readme.text.find("```", begin) - begin);
  const TemporaryFolder folder("readme");
  const std::string scenario = folder.Write("mine.yaml", question);
  CHECK(LoadScenario(scenario).strategies.size() == 5);
  int commands = 0;
  for (const std::string& line : readme.markdown.code) {
    std::vector<std::string> words = CommandOf(line);
    if (words.size() < 2 || words[1] != "mine.yaml") continue;
    for (std::string& word : words) {
      if (word.ends_with(".yaml")) word = folder.Path(word);
    }
    const Outcome outcome = Spillway(words);
    INFO(line << "\n" << outcome.err);
    CHECK(outcome.status == kExitDone);
    ++commands;
    if (words[0] == "plan") folder.Write("edited.yaml", folder.Read("plan.yaml"));
  }
  CHECK(commands == 4);
}

TEST_CASE("the sentences of pages have 20 words in the median, and 40 at most") {
  for (const std::string& path : kHeldPages) {
    std::vector<std::size_t> counts;
    for (const std::string& sentence : Sentences(PageAt(path).markdown)) {
      INFO(path << ": " << sentence);
      counts.push_back(WordCount(sentence));
      CHECK(counts.back() <= 40);
    }
    INFO(path);
    REQUIRE(!counts.empty());
    std::nth_element(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 2), counts.end());
    CHECK(counts[counts.size() / 2] <= 20);
  }
}

// By a page of its own, or by a line of CONTRIBUTING.md: | `folder/` | what it holds |.
TEST_CASE("each folder of three files and more says what it holds") {
  std::set<std::string> told;
  for (const std::string& row : Paragraphs(PageAt("CONTRIBUTING.md").markdown)) {
    const std::size_t end = row.find("/` | ");
    if (!row.starts_with("| `") || end == std::string::npos) continue;
    const std::string folder = row.substr(3, end - 3);
    INFO(row);
    CHECK(TheTree().contains(folder));
    CHECK(told.insert(folder).second);
    const std::size_t words = WordCount(row.substr(end + 5));
    CHECK(words >= 1);
    CHECK(words <= 25);
  }
  for (const auto& [folder, files] : TheTree()) {
    if (files.size() < 3 || folder.empty()) continue;
    INFO(folder << " needs a README.md or a line in CONTRIBUTING.md, one of them");
    const bool has_page = std::find(files.begin(), files.end(), "README.md") != files.end();
    CHECK(told.contains(folder) != has_page);
  }
}

TEST_CASE("a page is taken apart into code, spans, links and sentences") {
  const Markdown page = ParseMarkdown(
      "# A `b` page, 2.0\n\nFirst sentence. Second [one](a/b.md#c), with `code` in\nit: Third!\n\n- item\n- an 80 % "
      "one. And more\n\n| a | b |\n\n```\n./run list machines # all\n```\n\n    spillway run x\n<!-- hidden -->\n");
  CHECK(page.code == std::vector<std::string>{"./run list machines # all", "    spillway run x"});
  CHECK(Sentences(page) == std::vector<std::string>{"First sentence.", "Second [one, with X in it:", "Third!", "- item",
                                                    "- an 80 % one.", "And more"});
  CHECK(WordCount("- an 80 % one.") == 3);
  CHECK(AnchorOf("# A `b` page, 2.0") == "a-b-page-20");
  CHECK(CommandOf(page.code[0]) == std::vector<std::string>{"list", "machines"});
  CHECK(CommandOf("./run") == std::vector<std::string>{});
  CHECK_FALSE(IsReal("sim/plan/nowhere.h", PageAt("README.md")));
  CHECK_FALSE(IsReal("nowhere_test", PageAt("README.md")));
  CHECK(IsReal("pages_test", PageAt("README.md")));
  CHECK(IsReal("scenarios/pooch-fig*.yaml", PageAt("README.md")));
  CHECK_FALSE(IsReal("scenarios/nowhere*.yaml", PageAt("README.md")));
}

}  // namespace
}  // namespace spillway

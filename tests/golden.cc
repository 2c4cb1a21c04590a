#include "tests/golden.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

namespace spillway {

namespace {

namespace fs = std::filesystem;

std::optional<std::string> ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void WriteFile(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

// `golden` from the root, `actual` from where new texts are kept.
std::string Difference(const std::string& golden, const std::string& actual, const std::string& text) {
  const fs::path actual_path = fs::path(SPILLWAY_GOLDEN_ACTUAL_DIR) / actual;
  const std::optional<std::string> approved = ReadFile(fs::path(SPILLWAY_SOURCE_DIR) / golden);
  if (approved == text) {
    fs::remove(actual_path);
    return {};
  }
  WriteFile(actual_path, text);
  const std::string difference = approved ? FirstDifference(*approved, text) : "there is no golden text yet";
  return golden + ": " + difference + "\n(tests/approve accepts the new text)";
}

}  // namespace

std::string FirstDifference(const std::string& golden, const std::string& actual) {
  std::istringstream golden_lines(golden), actual_lines(actual);
  std::string golden_line, actual_line;
  for (int number = 1;; ++number) {
    bool golden_ended = !std::getline(golden_lines, golden_line);
    bool actual_ended = !std::getline(actual_lines, actual_line);
    if (golden_ended && actual_ended) return golden == actual ? "" : "the newline at the end";
    if (golden_ended != actual_ended || golden_line != actual_line) {
      return "line " + std::to_string(number) + ":\n  golden: " + (golden_ended ? "(end)" : golden_line) +
             "\n  actual: " + (actual_ended ? "(end)" : actual_line);
    }
  }
}

std::string GoldenDifference(const std::string& name, const std::string& text) {
  return Difference("tests/golden/" + name + ".txt", name + ".txt", text);
}

std::string PageDifference(const std::string& page, const std::string& text) { return Difference(page, page, text); }

std::string PageWithSections(const std::string& page, const std::map<std::string, std::string>& texts) {
  std::string whole = ReadFile(fs::path(SPILLWAY_SOURCE_DIR) / page).value();
  for (const auto& [section, text] : texts) {
    const std::size_t begin = whole.find('\n', whole.find("<!-- begin " + section)) + 1;
    whole.replace(begin, whole.find("<!-- end " + section) - begin, text);
  }
  return whole;
}

}  // namespace spillway

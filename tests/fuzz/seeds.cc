#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <sstream>

#include "tests/fuzz/fuzz.h"

namespace spillway::fuzz {

std::vector<std::string> YamlFiles(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(fs::path(SPILLWAY_SOURCE_DIR) / folder)) {
    if (entry.path().extension() == ".yaml") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const fs::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return texts;
}

std::vector<std::string> Shortened(std::vector<std::string> texts) {
  for (std::size_t k = 0; k < texts.size(); ++k) {
    std::istringstream lines(texts[k]);
    std::string kept;
    std::map<std::size_t, std::size_t> items;  // so far, of the list at this indentation
    std::size_t skipped = std::numeric_limits<std::size_t>::max();
    for (std::string line; std::getline(lines, line);) {
      const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
      if (indent > skipped) continue;  // belongs to an item that was left out
      const bool item = line.compare(indent, 2, "- ") == 0 && line.compare(indent, 3, "- [") != 0;  // not of curves
      items.erase(item ? items.upper_bound(indent) : items.lower_bound(indent), items.end());
      const std::size_t number = item ? items[indent]++ : 0;
      const bool keep = number < 3 || number % 16 == k % 16;
      skipped = keep ? std::numeric_limits<std::size_t>::max() : indent;
      if (keep) kept += line + "\n";
    }
    texts[k] = kept;
  }
  return texts;
}

std::string Text(const std::uint8_t* data, std::size_t size) { return {data, data + size}; }

}  // namespace spillway::fuzz

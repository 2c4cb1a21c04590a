// The pages of the tree as tests see them: their paths and the commands in them.
#ifndef SPILLWAY_TESTS_SCENARIOS_PAGES_H_
#define SPILLWAY_TESTS_SCENARIOS_PAGES_H_

#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/markdown.h"

namespace spillway {

inline const std::filesystem::path& SourceRoot() {
  static const std::filesystem::path kPath = SPILLWAY_SOURCE_DIR;
  return kPath;
}

// Files that pages name and users make.
inline const std::set<std::string> kMadeByUsers = {"spillway_torch.py",  "hw/cpu.yaml",         "hw/gpu.yaml",
                                                   "hw/h200-pcie5.yaml", "hw/mine.samples.csv", "hw/mine.yaml"};

inline bool IsMade(const std::string& folder) {
  return folder.starts_with("build") || folder == "out" || folder == "node_modules" || folder == "__pycache__" ||
         (folder.starts_with(".") && folder != ".ci");
}

// All that was written by hand, relative to the root: folders with their files.
using Tree = std::map<std::string, std::vector<std::string>>;

inline const Tree& TheTree() {
  static const Tree kTree = [] {
    Tree tree;
    for (std::filesystem::recursive_directory_iterator it(SourceRoot()), end; it != end; ++it) {
      const std::string name = it->path().filename().string(),
                        path = std::filesystem::relative(it->path(), SourceRoot()).string();
      if (it->is_directory()) {
        if (IsMade(name)) it.disable_recursion_pending();
      } else {
        tree[std::filesystem::path(path).parent_path().string()].push_back(name);
      }
    }
    return tree;
  }();
  return kTree;
}

struct Page {
  std::string path, folder, text;
  Markdown markdown;
};

inline const std::vector<Page>& Pages() {
  static const std::vector<Page> kPages = [] {
    std::vector<Page> pages;
    for (const auto& [folder, files] : TheTree()) {
      for (const std::string& file : files) {
        if (!file.ends_with(".md")) continue;
        std::ostringstream text;
        text << std::ifstream(SourceRoot() / folder / file).rdbuf();
        pages.push_back(
            {(std::filesystem::path(folder) / file).string(), folder, text.str(), ParseMarkdown(text.str())});
      }
    }
    return pages;
  }();
  return kPages;
}

inline const Page& PageAt(const std::string& path) {
  const auto page = std::find_if(Pages().begin(), Pages().end(), [&](const Page& p) { return p.path == path; });
  INFO(path);
  REQUIRE(page != Pages().end());
  return *page;
}

inline bool HasAnchor(const std::filesystem::path& path, const std::string& anchor) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#") && AnchorOf(line) == anchor) return true;
  }
  return false;
}

// Is there a file whose path ends so, at a '/'?
inline bool IsEndOfAFile(const std::string& path) {
  static const std::set<std::string> kEnds = [] {
    std::set<std::string> ends;
    for (const auto& [folder, files] : TheTree()) {
      for (const std::string& file : files) {
        std::string full = (std::filesystem::path(folder) / file).string();
        for (ends.insert(full); full.find('/') != std::string::npos; ends.insert(full))
          full = full.substr(full.find('/') + 1);
        ends.insert(std::filesystem::path(file).stem().string());
      }
    }
    return ends;
  }();
  return kEnds.contains(path);
}

// With one '*', in the last part of the path.
inline bool AnyFileLike(const std::string& pattern) {
  const std::string name = std::filesystem::path(pattern).filename().string(), begin = name.substr(0, name.find('*')),
                    end = name.substr(name.find('*') + 1);
  const auto folder = TheTree().find(std::filesystem::path(pattern).parent_path().string());
  return folder != TheTree().end() && std::any_of(folder->second.begin(), folder->second.end(), [&](const auto& file) {
           return file.starts_with(begin) && file.ends_with(end);
         });
}

inline bool BeginsInTheTree(const std::string& word) {
  static const std::set<std::string> kTops = {".ci",     "calibrate", "cmake", "hw",       "model",
                                              "reports", "sim",       "tests", "scenarios"};
  return kTops.contains(word.substr(0, word.find('/'))) && word.find('/') != std::string::npos;
}

inline bool IsPath(const std::string& word) {
  return !word.empty() &&
         word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./*") ==
             std::string::npos;
}

// A path from the root or from the page; a source file or a test may be named by the end of its path.
inline bool IsReal(const std::string& word, const Page& page) {
  static const std::set<std::string> kSources = {".cc", ".cu", ".h", ".inc", ".js", ".mjs", ".py", ".sh"};
  if (!IsPath(word) || kMadeByUsers.contains(word)) return true;
  const bool in_tree = BeginsInTheTree(word);
  if (word.find('*') != std::string::npos) return !in_tree || word.find("**") != std::string::npos || AnyFileLike(word);
  if (in_tree)
    return std::filesystem::exists(SourceRoot() / word) || std::filesystem::exists(SourceRoot() / page.folder / word) ||
           IsEndOfAFile(word);
  const bool source = kSources.contains(std::filesystem::path(word).extension().string()),
             test = word.ends_with("_test");
  if (!source && !test) return true;
  return IsEndOfAFile(word) || std::filesystem::exists(SourceRoot() / page.folder / word);
}

// The words of a line as a shell has them, until a comment or another command. Brackets of a synopsis are left out.
inline std::vector<std::string> ShellWords(const std::string& line) {
  std::vector<std::string> words = {""};
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == '"' || (!quoted && (c == '[' || c == ']'))) continue;
    if (!quoted && std::string("#|>&;").find(c) != std::string::npos) break;
    if (!quoted && c == ' ')
      words.emplace_back();
    else
      words.back() += c;
  }
  std::erase(words, "");
  return words;
}

// The words behind the program's name; none where the line calls something else, or the program without a verb.
inline std::vector<std::string> CommandOf(const std::string& line) {
  static const std::set<std::string> kNames = {"./run", "spillway", "build/spillway", "./build/spillway"};
  std::vector<std::string> words = ShellWords(line);
  if (words.size() < 2 || !kNames.contains(words[0])) return {};
  words.erase(words.begin());
  for (std::string& word : words) {  // FILE, N: a value
    if (std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isupper(c) != 0; })) word = "1";
  }
  return words;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SCENARIOS_PAGES_H_

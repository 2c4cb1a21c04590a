#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "calibrate/measure/journal.h"
#include "hw/text/document.h"
#include "hw/text/lists.h"

namespace spillway {

std::string InflightPath(const std::string& journal) { return journal.empty() ? "" : journal + ".inflight"; }

BenchInflight::BenchInflight(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  std::ifstream file(path_, std::ios::binary);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) left_.push_back(line);
  }
  if (file.bad()) throw UserError(fmt::format("{}: error: cannot be read", path_));
}

bool BenchInflight::Skips(const Sample& sample) const {
  return !left_.empty() && Contains(left_, BenchKeyLine(sample));
}

void BenchInflight::Begin(const Sample& sample) { Write(BenchKeyLine(sample)); }
void BenchInflight::End() { Write(""); }

void BenchInflight::Write(const std::string& last) const {
  if (path_.empty()) return;
  if (left_.empty() && last.empty()) {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
    return;
  }
  std::ofstream file(path_, std::ios::binary | std::ios::trunc);
  for (const std::string& line : left_) file << line << '\n';
  if (!last.empty()) file << last << '\n';
  file.flush();
  if (!file) throw UserError(fmt::format("{}: error: what is being measured cannot be written there", path_));
}

}  // namespace spillway

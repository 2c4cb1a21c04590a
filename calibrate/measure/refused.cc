#include "calibrate/measure/refused.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "calibrate/measure/journal.h"

namespace spillway {
namespace {

constexpr char kBetween = '\t';

std::string OneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r' || c == kBetween; }, ' ');
  return text;
}

}  // namespace

std::string RefusedPath(const std::string& journal) { return journal.empty() ? "" : journal + ".refused"; }

BenchRefused::BenchRefused(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  std::ifstream file(path_, std::ios::binary);
  for (std::string line; std::getline(file, line);) {
    torn_ = file.eof();
    const std::size_t end = line.rfind(kBetween);
    if (end != std::string::npos) messages_.emplace(line.substr(0, end), line.substr(end + 1));
  }
  if (file.bad()) throw UserError(fmt::format("{}: error: cannot be read", path_));
}

bool BenchRefused::Has(const Sample& sample) const {
  return !messages_.empty() && messages_.contains(BenchKeyLine(sample));
}

bool BenchRefused::Tell(const Sample& sample, std::vector<std::string>* messages) {
  if (messages_.empty()) return false;
  const auto found = messages_.find(BenchKeyLine(sample));
  if (found == messages_.end()) return false;
  if (told_.insert(found->first).second) messages->push_back(found->second);
  return true;
}

void BenchRefused::Add(const Sample& sample, const std::string& message) {
  const std::string key = BenchKeyLine(sample);
  told_.insert(key);
  if (!messages_.emplace(key, OneLine(message)).second || path_.empty()) return;
  std::ofstream file(path_, std::ios::binary | std::ios::app);
  if (torn_) file << '\n';
  torn_ = false;
  file << key << kBetween << messages_[key] << '\n' << std::flush;
  if (!file) throw UserError(fmt::format("{}: error: what the device refuses cannot be written there", path_));
}

}  // namespace spillway

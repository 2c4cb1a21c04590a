#include "calibrate/validate/journal.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>
#include <type_traits>
#include <utility>

#include "hw/text/document.h"
#include "hw/text/text_file.h"
#include "model/util/hash.h"

namespace spillway {

namespace {

namespace fs = std::filesystem;

constexpr const char *kJournal = "validation.journal", *kTitle = "spillway validation journal 3", *kCase = "case";

// ---- what there is to write, once for both ways -------------------------------------------------------------------

template <typename Archive>
void Fields(Archive& a, ErrorSplit& s) {
  a(s.kernels, s.seen, s.modelled, s.isolated, s.context, s.copies, s.replay, s.gaps, s.seen_share, s.perturbation,
    s.forward, s.recomputed, s.backward);
}
template <typename Archive>
void Fields(Archive& a, Numerics& n) {
  a(n.kind, n.largest_difference, n.tensor, n.allowed);
}
template <typename Archive>
void Fields(Archive& a, ValidationRow& r) {
  a(r.strategy, r.stratum, r.random, r.feasible, r.reason, r.failed, r.refused, r.predicted, r.as_calibrated, r.at_pace,
    r.step_times, r.moments, r.tracked, r.tracked_error, r.measured, r.measured_low, r.measured_high, r.measured_spread,
    r.clock_mhz, r.lowest_clock_mhz, r.split, r.predicted_peak, r.measured_peak, r.predicted_device, r.measured_device,
    r.predicted_host, r.measured_host, r.numerics);
}
template <typename Archive>
void Fields(Archive& a, MeasuredLink& l) {
  a(l.stated_rate, l.in_rate, l.out_rate, l.in_latency, l.out_latency, l.in_duplex, l.out_duplex);
}
template <typename Archive>
void Fields(Archive& a, PaceGroup& g) {
  a(g.factor, g.low, g.high, g.launches, g.of_other, g.meanwhile, g.meanwhile_low, g.meanwhile_high, g.applied);
}
template <typename Archive>
void Fields(Archive& a, MeasuredPace& p) {
  a(p.products, p.others);
}
template <typename Archive>
void Fields(Archive& a, MachineNoise& n) {
  a(n.load, n.room, n.rounds, n.launches);
}
template <typename Archive>
void Fields(Archive& a, ValidationCase& c) {
  a(c.scenario, c.network, c.network_base, c.machine, c.device, c.batch, c.memory_limit, c.link, c.pace, c.noise,
    c.profile_reserve, c.measured_reserve, c.in_core, c.in_core_predicted, c.in_core_split, c.tau, c.pairs,
    c.clear_pairs, c.clear_right, c.best_predicted, c.best_measured, c.regret, c.regret_low, c.regret_high,
    c.best_or_noise);
}
template <typename Archive>
void Fields(Archive& a, ClassCounts& c) {
  a(c.keep, c.swap, c.recompute);
}
template <typename Archive>
void Fields(Archive& a, FinishedCase& f) {
  a(f.place, f.rows, f.models, f.notes, f.reserve, f.no_memory, f.classes);
}

// ---- the two ways ---------------------------------------------------------------------------------------------------

// A word that is never empty and has no spaces.
std::string WordOf(const std::string& text) {
  std::string word = "=";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    word += byte <= ' ' || c == '%' ? fmt::format("%{:02X}", byte) : std::string(1, c);
  }
  return word;
}

std::string TextOf(const std::string& word) {
  std::string text;
  for (std::size_t i = 1; i < word.size(); ++i) {
    if (word[i] != '%') {
      text += word[i];
      continue;
    }
    text += static_cast<char>(std::strtol(word.substr(i + 1, 2).c_str(), nullptr, 16));
    i += 2;
  }
  return text;
}

class Writer {
 public:
  template <typename... Values>
  void operator()(Values&... values) {
    (Put(values), ...);
  }
  std::string line = kCase;

 private:
  void Put(std::string& text) { line += " " + WordOf(text); }
  void Put(double& value) { line += fmt::format(" {:a}", value); }
  template <typename T>
  void Put(std::vector<T>& values) {
    line += fmt::format(" {}", values.size());
    for (T& value : values) Put(value);
  }
  template <typename T>
  void Put(T& value) {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      line += fmt::format(" {}", static_cast<std::int64_t>(value));
    } else {
      Fields(*this, value);
    }
  }
};

// A word that is not what is expected ends the reading.
class Reader {
 public:
  explicit Reader(const std::string& line) : words_(line) { good = Next() == kCase; }
  template <typename... Values>
  void operator()(Values&... values) {
    (Take(values), ...);
  }
  bool AtEnd() { return good && Next().empty(); }
  bool good = true;

 private:
  std::string Next() {
    std::string word;
    words_ >> word;
    return word;
  }
  void Take(std::string& text) {
    const std::string word = Next();
    good = good && word.starts_with('=');
    if (good) text = TextOf(word);
  }
  void Take(double& value) {
    const std::string word = Next();
    char* end = nullptr;
    value = std::strtod(word.c_str(), &end);
    good = good && !word.empty() && *end == '\0';
  }
  template <typename T>
  void Take(std::vector<T>& values) {
    std::int64_t size = 0;
    Take(size);
    for (std::int64_t k = 0; good && k < size; ++k) Take(values.emplace_back());
  }
  template <typename T>
  void Take(T& value) {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      const std::string word = Next();
      char* end = nullptr;
      value = static_cast<T>(std::strtoll(word.c_str(), &end, 10));
      good = good && !word.empty() && *end == '\0';
    } else {
      Fields(*this, value);
    }
  }
  std::istringstream words_;
};

// ---- the file -------------------------------------------------------------------------------------------------------

std::string FactLine(const JournalFact& fact) {
  return fmt::format("{} {:016x} {}", fact.what, Hasher().Add(std::string_view(fact.text)).Value(),
                     WordOf(fact.summary));
}

std::vector<std::string> WholeLinesOf(const fs::path& path) {
  WholeLines whole(path);
  std::vector<std::string> lines;
  for (std::string line; whole.Next(line);) lines.push_back(std::move(line));
  return lines;
}

// Behind the hash.
std::string SummaryIn(const std::string& line) {
  const std::size_t first = line.find(' '), second = line.find(' ', first + 1);
  return second == std::string::npos ? line : TextOf(line.substr(second + 1));
}

}  // namespace

std::string CaseLine(const FinishedCase& finished) {
  FinishedCase copy = finished;  // Fields() is for reading, too
  Writer writer;
  Fields(writer, copy);
  return writer.line + "\n";
}

std::optional<FinishedCase> ParseCaseLine(const std::string& line) {
  FinishedCase finished;
  Reader reader(line);
  if (reader.good) Fields(reader, finished);
  return reader.AtEnd() ? std::optional(std::move(finished)) : std::nullopt;
}

ValidationJournal::ValidationJournal(const fs::path& folder, JournalIdentity identity)
    : path_(folder.empty() ? folder : folder / kJournal), identity_(std::move(identity)) {}

std::string ValidationJournal::Head() const {
  std::string head = std::string(kTitle) + "\n";
  for (const JournalFact& fact : identity_) head += FactLine(fact) + "\n";
  return head;
}

void ValidationJournal::CheckHead(const std::vector<std::string>& lines) const {
  const auto at = [&](std::size_t k) { return k < lines.size() ? lines[k] : std::string(); };
  if (at(0) != kTitle) {
    throw UserError(
        fmt::format("{}:1: error: no journal that this version of spillway writes; leave --resume away to "
                    "measure all cases anew",
                    path_.string()));
  }
  std::vector<std::string> differ;
  for (std::size_t k = 0; k < identity_.size(); ++k) {
    const std::string there = at(k + 1);
    if (there == FactLine(identity_[k])) continue;
    const std::string what = SummaryIn(there) == identity_[k].summary ? "it has changed since" : SummaryIn(there);
    differ.push_back(
        fmt::format("{}:{}: error: the {} differs: there {}, now {}; leave --resume away to measure all cases anew, or "
                    "name another "
                    "folder by --out",
                    path_.string(), k + 2, identity_[k].what, what, identity_[k].summary));
  }
  if (!differ.empty()) throw UserError(std::move(differ));
}

std::vector<FinishedCase> ValidationJournal::Resume() {
  std::error_code none;
  if (path_.empty()) throw UserError("--resume: goes on in a folder of results; name it by --out");
  if (!fs::exists(path_, none)) {
    if (!fs::exists(path_.parent_path() / "validation.csv", none) ||
        fs::exists(path_.parent_path() / "validation.partial", none)) {
      return {};  // it was ended before its first case was finished
    }
    throw UserError(fmt::format("--resume: the validation in {} is complete; leave it away to measure all cases anew",
                                path_.parent_path().string()));
  }
  const std::vector<std::string> lines = WholeLinesOf(path_);
  if (lines.size() <= identity_.size()) return {};  // killed while it was begun
  CheckHead(lines);
  std::vector<FinishedCase> finished;
  for (std::size_t k = identity_.size() + 1; k < lines.size(); ++k) {
    std::optional<FinishedCase> found = ParseCaseLine(lines[k]);
    if (!found && k + 1 == lines.size()) break;
    if (!found) throw UserError(fmt::format("{}: error: no case", LineOf(finished.size())));
    finished.push_back(std::move(*found));
  }
  // Whole again, whatever was torn.
  std::uintmax_t bytes = 0;
  for (std::size_t k = 0; k < identity_.size() + 1 + finished.size(); ++k) bytes += lines[k].size() + 1;
  fs::resize_file(path_, bytes, none);
  begun_ = true;
  return finished;
}

void ValidationJournal::Append(const FinishedCase& finished) {
  if (path_.empty()) return;
  errno = 0;
  std::ofstream file(path_, std::ios::binary | (begun_ ? std::ios::app : std::ios::trunc));
  if (!begun_) file << Head();
  begun_ = true;
  file << CaseLine(finished) << std::flush;
  if (file) return;
  throw UserError(fmt::format("cannot write '{}'{}", path_.string(),
                              errno == 0 ? "" : ": " + std::system_category().message(errno)));
}

std::string ValidationJournal::LineOf(std::size_t known) const {
  return fmt::format("{}:{}", path_.string(), identity_.size() + 2 + known);  // behind the title and the facts
}

void ValidationJournal::Remove() const {
  std::error_code none;
  if (!path_.empty()) fs::remove(path_, none);
}

}  // namespace spillway

// The journal of a calibration: one row of a samples file for each thing measured, written as soon as it is known.
//
// If the process is killed at any moment, all rows but perhaps the last are whole. A reader drops an incomplete last
// line. Two rows measure the same item if they are equal except for results, network, and the machine around the device
// (row.h). Their rounds number the repetitions of an item.
#ifndef SPILLWAY_CALIBRATE_MEASURE_JOURNAL_H_
#define SPILLWAY_CALIBRATE_MEASURE_JOURNAL_H_

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "model/samples/sample.h"

namespace spillway {

// Flags of rows.
constexpr const char* kNoisyNote = "noisy";
constexpr const char* kCutShortNote = "cut short";
constexpr const char* kThrottledNote = "throttled";  // the device held its clocks back meanwhile

constexpr const char* kUnheldNote = "not held";  // the host's part may be in its time

int RoundOf(const Sample& sample);  // 1 where the row does not say
bool HasFlag(const Sample& sample, const std::string& flag);

// The key of a measurement: the row's fields without results, and without fields that may differ between machines
// (row.h).
std::string BenchKey(const Sample& sample);
std::string BenchKeyLine(const Sample& sample);  // without its line feed

class BenchJournal {
 public:
  // `path`: "" keeps the rows in memory only.
  explicit BenchJournal(std::string path) : path_(std::move(path)) {}

  // Reads what an earlier run left and cuts a torn last line off; without a file it begins one. `identity`: device,
  // host, driver, CUDA and cuDNN of the rows that this run would write. Rows of another host or patch of the driver are
  // taken as they are, and a sentence about each such machine is returned; anything else that differs (row.h) is a
  // UserError that says what, as is a file with other columns, or one that cannot be read, cut or written. A journal of
  // before rounds, flags and load had columns is written anew with them.
  std::vector<std::string> Resume(const Sample& identity);
  // UserError if the file exists, or cannot be written.
  void Create();

  bool Has(const Sample& sample, int round) const { return Find(sample, round) != nullptr; }
  const Sample* Find(const Sample& sample, int round) const;  // nullptr: not measured yet
  // Adds a row and writes it at once. UserError when that fails.
  void Append(const Sample& sample);

  const std::vector<Sample>& samples() const { return samples_; }
  int resumed() const { return resumed_; }  // rows that were there already
  const std::string& path() const { return path_; }

 private:
  void Begin();
  void Open(bool with_header);
  void Take(Sample sample);
  std::string path_;
  std::ofstream file_;
  std::vector<Sample> samples_;
  std::map<std::pair<std::string, int>, std::size_t> places_;
  int resumed_ = 0;
};

// ---- The measurement in progress, noted in a file next to the journal. If a launch hangs or kills the process, its
// name is known afterwards, and the next run leaves it out.
//
// The file has one line, a BenchKey, for each such launch; without such launches it is removed.

// The path of the file for the journal at `journal`; "" for "".
std::string InflightPath(const std::string& journal);

class BenchInflight {
 public:
  // Reads what earlier runs left. `path`: "" keeps nothing. UserError if it cannot be read.
  explicit BenchInflight(std::string path);
  // True if an earlier run ended while this item was measured, in any round.
  bool Skips(const Sample& sample) const;
  void Begin(const Sample& sample);  // UserError if it cannot be written
  void End();                        // likewise; not called when the run ends by an exception, so that the line stays
  const std::string& path() const { return path_; }

 private:
  void Write(const std::string& last) const;
  std::string path_;
  std::vector<std::string> left_;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_MEASURE_JOURNAL_H_

// The journal of a calibration: a samples file with one row for each measurement, written as soon as it ends.
//
// If the process is killed, only the last line may be torn; Resume cuts such a line off. Two rows are of the same
// measurement if they have the same BenchKey and the same round. The round counts repetitions, from 1.
#ifndef SPILLWAY_CALIBRATE_MEASURE_JOURNAL_H_
#define SPILLWAY_CALIBRATE_MEASURE_JOURNAL_H_

#include <fstream>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "model/samples/sample.h"

namespace spillway {

class BenchTarget;
struct BenchItem;
struct BenchVariant;
struct LoopResult;

// Flags in the column `flags`.
constexpr const char* kNoisyNote = "noisy";
constexpr const char* kCutShortNote = "cut short";
constexpr const char* kThrottledNote = "throttled";  // the device lowered its clocks during the measurement
constexpr const char* kUnheldNote = "not held";      // the stream was not held, so the time may include host time

int RoundOf(const Sample& sample);  // 1 if the row states no round
bool HasFlag(const Sample& sample, const std::string& flag);

// The identity of a measurement, as a line of the samples file. It leaves out results, round, flags, load, date and
// network, and the facts that may change from machine to machine (SetupRefusals).
std::string BenchKey(const Sample& sample);
std::string BenchKeyLine(const Sample& sample);  // without its line feed

class BenchJournal {
 public:
  // `path`: the file; "" keeps the rows in memory only.
  explicit BenchJournal(std::string path) : path_(std::move(path)) {}

  // Reads the rows of an earlier run and cuts off a torn last line. Without a file it begins one. `identity`: device,
  // host, driver, CUDA and cuDNN of this run. Returns a warning for each other host or driver patch among the rows
  // (SetupWarnings). Throws UserError if a row differs otherwise (SetupRefusals), if the file has other columns, or if
  // it cannot be read, cut or written.
  std::vector<std::string> Resume(const Sample& identity);
  // Begins the file. Throws UserError if it exists or cannot be written.
  void Create();

  bool Has(const Sample& sample, int round) const { return Find(sample, round) != nullptr; }
  const Sample* Find(const Sample& sample, int round) const;  // nullptr: not measured yet
  // Adds a row and writes it at once. Throws UserError if the file cannot be written.
  void Append(const Sample& sample);

  const std::vector<Sample>& samples() const { return samples_; }
  int resumed() const { return resumed_; }  // number of rows that Resume read
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

// ---- The measurement in progress, in a file in the journal's folder. If a measurement hangs or ends the process, the
// file names it, and a resumed run leaves this measurement out.
//
// The file has a line, a BenchKey, for each such measurement. Without any there is no file.

// The path of the file for the journal at `journal`; "" for "".
std::string InflightPath(const std::string& journal);

class BenchInflight {
 public:
  // Reads the lines of earlier runs. `path`: "" reads and writes nothing. Throws UserError if the file cannot be read.
  explicit BenchInflight(std::string path);
  // True if an earlier run ended during this measurement, in any round.
  bool Skips(const Sample& sample) const;
  // Begin writes the measurement's line, End removes it. If an exception ends the run, End is not called and the line
  // stays. Both throw UserError if the file cannot be written.
  void Begin(const Sample& sample);
  void End();
  const std::string& path() const { return path_; }

 private:
  void Write(const std::string& last) const;
  std::string path_;
  std::vector<std::string> left_;
};

// ---- The row of a measurement: first its identity, then its results.

// A row with all columns of BenchKey and no results.
Sample BareRow(const BenchTarget& target, const BenchItem& item, const BenchVariant& variant);

// Adds times, properties of the algorithm, network, round, flags and `load`, the host's load. The caller adds the date.
void FillRow(const BenchItem& item, const BenchVariant& variant, const LoopResult& result, double load, Sample* row);

// ---- The set-up of a row: device, host, driver and libraries.
//
// A rented GPU may come back in another host, with a newer driver patch. Times on the same device and libraries stay
// nearly the same there. So one journal may hold rows of both set-ups, each with its own names, and nothing is measured
// twice.
//
//   warning    another host (processor and cores), or another driver patch: the digits after the first dot of "driver
//              580.159.03"
//   refusal    another device, driver branch, CUDA or cuDNN; for kernels also another protocol (Sample::kind)

// The column `driver` without the driver's patch: "spillway 0.1, driver 580, cuBLAS 13.1". Unchanged if it names no
// driver.
std::string DriverBranch(const std::string& driver);

// A sentence for each difference that forbids the row `there` in a journal that this run, `here`, writes to.
std::vector<std::string> SetupRefusals(const Sample& there, const Sample& here);

// A sentence for each set-up of `rows` that has another host or driver than `here`: its number of rows and both
// set-ups.
std::vector<std::string> SetupWarnings(std::span<const Sample> rows, const Sample& here);

// A sentence for each set-up of `rows`, in the order of the rows; empty if there is only one.
std::vector<std::string> SetupNotes(std::span<const Sample> rows);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_MEASURE_JOURNAL_H_

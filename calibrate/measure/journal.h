// The journal of a calibration: one row of a samples file for each thing measured, written as soon as it is known.
//
// If the process is killed at any moment, all rows but perhaps the last are whole. A reader drops an incomplete last
// line. Two rows measure the same item if they are equal except for results, network, and the machine around the device
// (row.h). Their rounds number the repetitions of an item.
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
  // taken as they are, and a sentence about each such machine is returned; anything else that differs (SetupRefusals) is a
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

// ---- The row of a measurement: what was measured, then what came out.

// All that tells rows apart (BenchKey) but the round, and nothing measured.
Sample BareRow(const BenchTarget& target, const BenchItem& item, const BenchVariant& variant);

// Adds times, the algorithm's properties, the network, round and flags, and `load`, which is the host's. The date is the
// caller's.
void FillRow(const BenchItem& item, const BenchVariant& variant, const LoopResult& result, double load, Sample* row);

// ---- The set-up that rows of a journal come from: what may change from one machine to the next while rows keep their
// worth, and what may not.
//
// A rented GPU comes back as another machine: another host, the driver a patch newer. Kernels and copies of the same
// device on the same libraries are near enough the same there, so that rows of both stand in one journal, each under
// its own name, and nothing is measured twice. Another device, library, protocol or branch of the driver is another
// journal's matter.
//
//   told       host: processor and cores; the driver's patch: what stands behind the first dot of "driver 580.159.03"
//   refused    all else of device, driver, cuda, cudnn; of kernels the protocol (Sample::kind)

// The column `driver` less the driver's patch: "spillway 0.1, driver 580, cuBLAS 13.1". Without a driver in it as it is.
std::string DriverBranch(const std::string& driver);

// What keeps a row of `there` out of a journal that this run, `here`, writes to: a sentence for each thing that differs.
std::vector<std::string> SetupRefusals(const Sample& there, const Sample& here);

// Of the rows that are of another set-up than `here`, one sentence for each such set-up: how many, which, and which one
// this is.
std::vector<std::string> SetupWarnings(std::span<const Sample> rows, const Sample& here);

// Of rows from several set-ups a sentence for each of these, in the order of the rows; nothing where there is one.
std::vector<std::string> SetupNotes(std::span<const Sample> rows);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_MEASURE_JOURNAL_H_

// Samples merged as they are read: an operation that was measured several times is one sample, however many rows tell of
// it. Of its first row all is kept, of each other one the result alone.
//
//   SampleMerger merger(set);
//   merger.Add(std::move(sample));   // row by row, in file order
//   merger.Finish();                 // medians, and warnings of rows that disagree
//
// A reader who needs no more than so many operations of a kind says so. Where more come, every second is taken, then
// every fourth, and so on, by a hash of the operation. Which are taken depends neither on the order of the rows nor on
// their times. A warning says how many were. A kernel's kind is its device, op, pass and math mode; a copy's is all but
// its size. Each further row of an operation that is taken adds some bytes.
//
// Tested by sample_file_test (tests/).
#ifndef SPILLWAY_MODEL_SAMPLES_MERGER_H_
#define SPILLWAY_MODEL_SAMPLES_MERGER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/samples/file.h"
#include "model/samples/sample.h"

namespace spillway {

// Adds to the samples and warnings of a set, which must outlive it.
class SampleMerger {
 public:
  explicit SampleMerger(SampleSet& set, const SampleLimits& limits = {}) : set_(set), limits_(limits) {}
  void Add(Sample sample);
  void Finish();  // once, after the last row

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  // What a row has beside its operation.
  struct Result {
    double microseconds = 0, p10 = 0, p90 = 0, spread = 0;
    Bytes workspace = 0;
    int repetitions = 0, rows = 1, file = 0, line = 0;
    std::uint32_t next = kNone;  // of the same operation
  };
  // By sample of the set.
  struct Operation {
    std::uint64_t hash = 0, twin = 0;  // of the operation; of what it has in common with itself beside copies
    std::uint32_t kind = 0, first = kNone, last = kNone;  // results of its other rows
  };
  struct Kind {
    std::string name;
    std::uint64_t every = 1;  // by the hash one of so many is taken
    std::size_t taken = 0, rows = 0, limit = SampleLimits::kNone;
    int file = 0;  // of its first row
  };
  static Result ResultOf(const Sample& sample);
  Operation* Find(std::uint64_t hash, const Sample& sample);
  Kind& KindOf(const Sample& sample, std::uint32_t& number);
  void Halve(std::uint32_t number);
  void Keep(std::uint32_t kind, std::uint64_t every);
  void AddResult(Operation& operation, const Sample& sample);
  void Compare(const std::vector<Result>& rows);
  void Warn(const std::vector<Result>& rows, const Result& fastest, const Result& slowest);
  static void Merge(const std::vector<Result>& rows, Sample& merged);
  void Summarise();
  std::string Place(const Result& row) const;

  SampleSet& set_;
  const SampleLimits limits_;
  std::vector<Operation> operations_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;  // into operations_
  std::deque<Result> results_;
  std::vector<Kind> kinds_;
  std::map<std::string, std::uint32_t> kind_numbers_;
  std::string first_;  // an example of rows that agree
  std::size_t agreeing_ = 0, disagreeing_ = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_MODEL_SAMPLES_MERGER_H_

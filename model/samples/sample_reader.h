// A row of a samples file, read as a sample.
//
// Tested by sample_file_test.
#ifndef SPILLWAY_MODEL_SAMPLES_SAMPLE_READER_H_
#define SPILLWAY_MODEL_SAMPLES_SAMPLE_READER_H_

#include <string>

#include "model/samples/columns.h"
#include "model/samples/ops.h"
#include "model/samples/sample.h"

namespace spillway {

// What a row must hold: a result, or only the operation (Operations).
enum class Purpose { kResults, kOperations };

// Mistakes go to the row.
class SampleReader {
 public:
  SampleReader(SampleRow& row, Purpose purpose) : row_(row), purpose_(purpose) {}
  // REQUIRES: the row has an op.
  Sample Read();
  std::string Refusal() const;  // empty for a row that holds a result

 private:
  void ReadIdentity();
  void ReadRound();
  void ReadOp();
  void ReadKernel(const OpWord& op);
  void ReadCopy();
  void ReadBytes();
  void ReadResult();
  void ReadSpread();
  void ReadLibraryWord();
  Bytes Size(Column column);

  SampleRow& row_;
  Purpose purpose_;
  Sample sample_;
};

}  // namespace spillway

#endif  // SPILLWAY_MODEL_SAMPLES_SAMPLE_READER_H_

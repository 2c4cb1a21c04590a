// What is being measured, written beside the journal while it is: whatever never ends, or takes the process with it, is
// known by name afterwards, and the run that goes on leaves it out.
//
// The file has one line, a BenchKey, for each such launch; it is gone when nothing hangs.
#ifndef SPILLWAY_CALIBRATE_MEASURE_INFLIGHT_H_
#define SPILLWAY_CALIBRATE_MEASURE_INFLIGHT_H_

#include <string>
#include <vector>

#include "calibrate/sample/sample.h"

namespace spillway {

// Of the journal at `journal`; "" for "".
std::string InflightPath(const std::string& journal);

class BenchInflight {
 public:
  // Reads what earlier runs left. `path`: "" keeps nothing. UserError if it cannot be read.
  explicit BenchInflight(std::string path);
  // Whether an earlier run ended while it was measured, in whatever round.
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

#endif  // SPILLWAY_CALIBRATE_MEASURE_INFLIGHT_H_

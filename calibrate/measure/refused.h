// What the device refused, written beside the journal: the run that goes on neither prepares nor runs it again, and
// still tells why.
//
// The file has one line for each: a BenchKey, a tab, the message. It is there only when something was refused; without it
// everything is tried again.
#ifndef SPILLWAY_CALIBRATE_MEASURE_REFUSED_H_
#define SPILLWAY_CALIBRATE_MEASURE_REFUSED_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "hw/text/document.h"
#include "model/samples/sample.h"

namespace spillway {

// It is the matter of this machine at this time, and may be otherwise another time, so that it is not remembered.
class NotRemembered : public UserError {
 public:
  using UserError::UserError;
};
// There is too little memory for it.
class NoRoom : public NotRemembered {
 public:
  using NotRemembered::NotRemembered;
};

// Of the journal at `journal`; "" for "".
std::string RefusedPath(const std::string& journal);

class BenchRefused {
 public:
  // Reads what earlier runs were refused; of a line that was torn what is whole. `path`: "" keeps it in memory only.
  // UserError if it cannot be read.
  explicit BenchRefused(std::string path);
  bool Has(const Sample& sample) const;  // in whatever round
  // Likewise; adds the message to `messages` unless it, or Add(), was called with the sample before.
  bool Tell(const Sample& sample, std::vector<std::string>* messages);
  void Add(const Sample& sample, const std::string& message);  // written at once; UserError if it cannot be

 private:
  std::string path_;
  bool torn_ = false;  // the file's last line
  std::map<std::string, std::string> messages_;
  std::set<std::string> told_;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_MEASURE_REFUSED_H_

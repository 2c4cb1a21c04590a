// The memory of a recorded step over its calls, in core, by module: the rows of `spillway show step`, and its picture.
//
// Names of modules are cut to their first parts, `encoder.stages` for `encoder.stages.2.conv1`. Then the group
// that is largest at the peak is split by one more part of its names, repeatedly. Splitting ends when more than
// kMostModules groups have bytes at the peak, unless one group has over half of them. Of more groups the smallest are
// summed up.
#ifndef SPILLWAY_MODEL_RECORDED_MODULE_MEMORY_H_
#define SPILLWAY_MODEL_RECORDED_MODULE_MEMORY_H_

#include <string>
#include <vector>

#include "model/recorded/footprint.h"

namespace spillway {

constexpr std::size_t kMostModules = 12;

struct ModuleMemory {
  struct Row {
    std::string module;          // "" = none
    int summed = 0;              // of the last row: so many modules; 0: this one
    std::vector<Bytes> bytes{};  // by op; over all rows they sum up to Footprint::in_core
  };
  std::vector<Row> rows;  // the largest at the peak first, the sum of others last
};
ModuleMemory MemoryByModule(const RecordedStep& recorded, OpId peak);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_RECORDED_MODULE_MEMORY_H_

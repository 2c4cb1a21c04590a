#include "calibrate/validate/memory.h"

#include <malloc.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>

namespace spillway {

namespace {

Bytes OwnStatusBytes(std::string_view key) {
  std::ifstream file("/proc/self/status");
  std::ostringstream text;
  text << file.rdbuf();
  return StatusBytes(text.str(), key);
}

}  // namespace

Bytes OwnProcessMemory::Resident() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  return OwnStatusBytes("VmRSS");
}

Bytes OwnProcessMemory::Peak() { return told_ ? OwnStatusBytes("VmHWM") : Resident(); }

void OwnProcessMemory::StartPeak() {
  const Bytes resident = Resident();
  std::ofstream("/proc/self/clear_refs") << "5";  // sets the high-water mark back to what is resident now
  told_ = OwnStatusBytes("VmHWM") <= resident + kMiB;
}

void SessionMemoryWatch::BeginStep() {
  memory_.StartPeak();
  device_.BeginStep();
}

void SessionMemoryWatch::EndStep() {
  device_.EndStep();
  most_ = std::max(most_, memory_.Peak());
}

Bytes SessionMemoryWatch::Growth() const { return before_ < 0 || most_ < 0 ? -1 : std::max<Bytes>(0, most_ - before_); }

Bytes StatusBytes(std::string_view status, std::string_view key) {
  for (std::size_t begin = 0; begin < status.size();) {
    const std::size_t end = std::min(status.find('\n', begin), status.size());
    std::string_view line = status.substr(begin, end - begin);
    begin = end + 1;
    if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ':') continue;
    line.remove_prefix(std::min(line.find_first_of("0123456789"), line.size()));
    Bytes kilobytes = -1;
    const auto read = std::from_chars(line.data(), line.data() + line.size(), kilobytes);
    return read.ec == std::errc() ? kilobytes * kKiB : -1;
  }
  return -1;
}

}  // namespace spillway

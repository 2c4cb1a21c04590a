#include "calibrate/host/host_facts.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <sstream>
#include <thread>

#include "calibrate/host/pin.h"

namespace spillway {
namespace {

// The text behind the first "key : " of a file of such lines; "" if there is none.
std::string ValueOf(const char* path, const std::string& key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with(key)) continue;
    const std::size_t begin = line.find_first_not_of(" \t:", key.size());
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

// "1024K" as /sys writes it.
Bytes CacheSize(int index) {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
  Bytes number = 0;
  char unit = 0;
  if (!(file >> number)) return 0;
  file >> unit;
  return unit == 'M' ? number * kMiB : unit == 'K' ? number * kKiB : number;
}

// Of the cache of that level which data go through; 0: none.
Bytes CacheOfLevel(int level) {
  for (int index = 0; index < 8; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/level");
    int found = 0;
    if (file >> found && found == level) return CacheSize(index);
  }
  return 0;
}

}  // namespace

HostFacts ReadHostFacts() {
  HostFacts facts;
  facts.processor = ValueOf("/proc/cpuinfo", "model name");
  if (facts.processor.empty()) facts.processor = "processor";
  facts.cores = std::max<int>(1, static_cast<int>(AllowedCores().size()));
  facts.memory = ReadHostMemory();
  facts.l2_cache = CacheOfLevel(2);
  facts.l3_cache = CacheOfLevel(3);
  return facts;
}

Bytes ReadHostMemory() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<Bytes>(pages) * static_cast<Bytes>(page) : 0;
}

int OnlineCores() { return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN))); }

double ReadLoad() {
  std::ifstream file("/proc/loadavg");
  double load = 0;
  return file >> load ? load : 0;
}

Nanos ThreadClock::Now() const {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<Nanos>(now.tv_sec) * kSecond + static_cast<Nanos>(now.tv_nsec);
}

double MeasureWaiting(const Clock& wall, const Clock& own, const WaitingOptions& options) {
  const Nanos begin = wall.Now(), own_begin = own.Now();
  Nanos passed = 0, had = 0;
  do {
    // Some ten microseconds, so that looking at the clocks takes a small part of the time. It neither sleeps nor yields.
    volatile std::uint32_t state = 1;
    for (int k = 0; k < 10'000; ++k) state = state * 1664525u + 1013904223u;
    had = own.Now() - own_begin;
    passed = wall.Now() - begin;
  } while (had < options.own && passed < options.limit);
  return had > 0 ? std::max(1.0, static_cast<double>(passed) / static_cast<double>(had)) : 0;
}

}  // namespace spillway

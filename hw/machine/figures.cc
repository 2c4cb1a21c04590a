#include "hw/machine/figures.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace spillway {
namespace {

// A time beyond any use, far from overflow when a few of them are added.
constexpr double kLongest = 1e18;

}  // namespace

const char* SourceKindName(Source::Kind kind) {
  switch (kind) {
    case Source::Kind::kMeasured:
      return "measured";
    case Source::Kind::kPublished:
      return "published";
    case Source::Kind::kAssumed:
      return "assumed";
  }
  return "";
}

Nanos TransferCurve::Time(Bytes bytes) const {
  assert(points.size() >= 2);
  if (bytes <= points.front().bytes) return points.front().time;
  std::size_t end = 1;  // of the interval that holds `bytes`, or the last one
  while (end + 1 < points.size() && points[end].bytes < bytes) ++end;
  const Point& from = points[end - 1];
  const Point& to = points[end];
  const double rate = static_cast<double>(to.time - from.time) / static_cast<double>(to.bytes - from.bytes);
  const double time = static_cast<double>(from.time) + rate * static_cast<double>(bytes - from.bytes);
  return static_cast<Nanos>(std::llround(std::fmin(time, kLongest)));
}

double TransferCurve::Rate() const {
  assert(points.size() >= 2);
  const Point &from = points[points.size() - 2], &to = points.back();
  return static_cast<double>(to.bytes - from.bytes) / static_cast<double>(std::max<Nanos>(1, to.time - from.time));
}

const std::vector<std::string>& OtherMemoryNames() {
  static const std::vector<std::string> kNames = {"pageable", "managed_prefetch", "managed_touch"};
  return kNames;
}

const char* OtherMemoryName(OtherMemory::Kind kind) {
  return OtherMemoryNames().at(static_cast<std::size_t>(kind)).c_str();
}

const OtherMemory* Link::FindOtherMemory(OtherMemory::Kind kind) const {
  const auto found = std::find_if(other_memory.begin(), other_memory.end(),
                                  [kind](const OtherMemory& memory) { return memory.kind == kind; });
  return found == other_memory.end() ? nullptr : &*found;
}

double UsualHostError(const Link& link) {
  const bool measured =
      link.curves[0].source.kind == Source::Kind::kMeasured && link.curves[1].source.kind == Source::Kind::kMeasured;
  return measured ? 0 : kOtherHostError;
}

}  // namespace spillway

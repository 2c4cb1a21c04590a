#include "hw/machine/figures.h"
#include "hw/machine/hardware_text.h"

namespace spillway {

namespace {

constexpr const char* kRequired = "required";

KeyRow CurveRow(const char* name, const char* meaning) { return {name, "a map", kRequired, meaning, {&CurveKeys()}}; }

}  // namespace

KeyRow SourceRow() { return {"source", "a map", kRequired, "where these numbers come from", {&SourceKeys()}}; }
KeyRow ErrorRow(const char* name, const char* usual, const char* meaning) {
  return {name, NumberFrom(0, kMostError), usual, meaning};
}

const KeyTable& SourceKeys() {
  static const KeyTable kTable{.title = "source",
                               .keys = {{"measured", kAnyText, "", "device, driver, library, date and spread"},
                                        {"published", kAnyText, "", "in which publication"},
                                        {"assumed", kAnyText, "", "why"}},
                               .note = "Where a group of numbers comes from: exactly one of the three."};
  return kTable;
}

KeyRow PeakRow() {
  return {"peak",
          std::string(kAFlopRate) + ", or a map by math mode",
          kRequired,
          "fp32 operations; 1 GFLOP/s is one per nanosecond",
          {&PeakKeys()}};
}

const KeyTable& PeakKeys() {
  constexpr const char* kOfFp32 = "that of fp32, as an assumption";
  static const KeyTable kTable{
      .title = "peak by math mode",
      .keys = {{"fp32", kAFlopRate, kRequired, "without tensor cores"},
               {"tf32", kAFlopRate, kOfFp32, "products of fp32 numbers rounded to TF32"},
               {"fp16", kAFlopRate, kOfFp32, "products of fp16 numbers"},
               {"bf16", kAFlopRate, kOfFp32, "products of bf16 numbers"},
               SourceRow()},
      .note = "Dense, with sums in fp32. Data sheets also state rates with sparsity, which are double."};
  return kTable;
}

const KeyTable& CurveKeys() {
  static const KeyTable kTable{
      .title = "curve of a link",
      .keys = {{"points", "a list of [size, time]", kRequired,
                "at least two, such as [64 KiB, 15 us]; sizes increasing, times not decreasing, the last interval "
                "takes time"},
               ErrorRow("error", "0.1", "relative, one standard deviation"),
               SourceRow()},
      .note = "How long one contiguous copy takes."};
  return kTable;
}

const KeyTable& OtherMemoryKeys() {
  static const KeyTable kTable{
      .title = "other memory of a link",
      .keys = {{"kind", OneOf(OtherMemoryNames()), kRequired,
                "not pinned, or unified memory: prefetched, or fetched by page faults; each at most once"},
               {"note", kAnyText, "none", "what was not measured, say"},
               CurveRow("host_to_device", "as for pinned memory"),
               CurveRow("device_to_host", "likewise")}};
  return kTable;
}

const KeyTable& DuplexKeys() {
  static const KeyTable kTable{
      .title = "duplex of a link",
      .keys = {{"factor", NumberFrom(kLeastDuplexFactor, 1), "from the two keys below",
                "rate of each direction while both are busy, against its rate alone; 1: full duplex"},
               {"host_to_device", NumberFrom(kLeastDuplexFactor, 1), "`factor`",
                "the same of copies to the device, where the directions differ"},
               {"device_to_host", NumberFrom(kLeastDuplexFactor, 1), "`factor`", "the same of copies to the host"},
               SourceRow()}};
  return kTable;
}

const KeyTable& LinkKeys() {
  static const KeyTable kTable{
      .title = "link",
      .keys = {{"name", kAnyText, kRequired, "unique among the links"},
               {"host", kAnyText, kRequired, "name of the host it leads to"},
               {"device", kAnyText, kRequired, "name of the device it leads to"},
               CurveRow("host_to_device", "copies from pinned memory"),
               CurveRow("device_to_host", "copies to pinned memory"),
               {"other_memory", "a list of maps", "none", "copies of memory that is not pinned", {&OtherMemoryKeys()}},
               {"duplex", "a map", kRequired, "copies in both directions at once", {&DuplexKeys()}},
               ErrorRow("host_error", "0 where both curves are measured, else 0.08",
                        "what all copies share where the curves are of another host, one standard deviation")}};
  return kTable;
}

}  // namespace spillway

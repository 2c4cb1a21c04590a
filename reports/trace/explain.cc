#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "hw/text/document.h"
#include "hw/text/lists.h"
#include "hw/text/units.h"
#include "reports/tables/text.h"
#include "reports/trace/trace.h"

namespace spillway {

namespace {

using Told = nlohmann::json;

constexpr const char* kMeaningOfR =
    "              r: time to recompute the map / time the step would save if the map's copies took no time\n";

struct Slice {
  std::string name, category;
  Nanos start = 0, end = 0;
  Told args;
  Nanos Time() const { return end - start; }
};

struct TimelineFile {
  Told head;
  std::vector<Slice> slices;  // by start
};

std::string InUnits(Nanos time) {
  const auto value = static_cast<double>(time);
  if (time >= kSecond) return ShortNumber(value / 1e9) + " s";
  if (time >= kMillisecond) return ShortNumber(value / 1e6) + " ms";
  if (time >= kMicrosecond) return ShortNumber(value / 1e3) + " us";
  return fmt::format("{} ns", time);
}

Nanos NanosOf(const Told& microseconds) { return std::llround(microseconds.get<double>() * 1000); }

TimelineFile ReadTimeline(const std::string& text) {
  Told document = Told::parse(text);
  TimelineFile read{.head = document.at("otherData"), .slices = {}};
  std::set<std::int64_t> measured;  // processes: what is explained are predictions
  for (Told& e : document.at("traceEvents")) {
    if (e.at("ph") == "M" && e.at("name") == "process_name" &&
        e.at("args").at("name").get<std::string>().ends_with(" (measured)")) {
      measured.insert(e.at("pid").get<std::int64_t>());
    }
    if (e.at("ph") != "X" || measured.contains(e.value("pid", std::int64_t{0}))) continue;
    const Nanos start = NanosOf(e.at("ts"));
    read.slices.push_back({.name = e.at("name"),
                           .category = e.at("cat"),
                           .start = start,
                           .end = start + NanosOf(e.at("dur")),
                           .args = std::move(e.at("args"))});
  }
  return read;
}

// What `tell` says of the timeline in `text`. What is not there, or of another type, it finds out where it reads it.
template <typename TellOf>
std::string ToldOf(const std::string& text, const std::string& file, const TellOf& tell) {
  try {
    return tell(ReadTimeline(text));
  } catch (const Told::exception&) {
    throw UserError(
        fmt::format("{}: error: no timeline with the decisions of a plan: expected timelines/POINT.trace.json "
                    "of a run's folder",
                    file));
  }
}

// The instruction that a stall waited for, -1: the host or nothing known.
std::int64_t By(const Slice& slice) { return slice.args.value("by", std::int64_t{-1}); }
std::int64_t InstructionOf(const Slice& slice) { return slice.args.value("instruction", std::int64_t{-1}); }
bool IsCopyOf(const Slice& slice, const std::string& map) {
  return slice.category == "copy" && slice.args.value("map", std::string()) == map;
}

std::string PlaceText(const Told& head) {
  return fmt::format("{} at batch {} on {}, {} of device memory, step {}", head.value("strategy", ""),
                     head.value("batch", 0), head.value("machine", ""),
                     FormatBytes(head.value("memory_limit_bytes", Bytes{0})),
                     InUnits(head.value("step_time_ns", Nanos{0})));
}

const char* PastOf(const std::string& action) {
  return action == "keep" ? "kept" : action == "swap" ? "swapped" : "recomputed";
}

struct MapCosts {
  Bytes out = 0, in = 0;
  Nanos stall = 0, again = 0;
  int copies = 0, kernels = 0;
};

// A recomputation is the map's where the op that runs again is one that writes it: its layer's, as the map is called.
MapCosts CostsOf(const TimelineFile& timeline, const std::string& map) {
  MapCosts costs;
  std::set<std::int64_t> copies;
  for (const Slice& slice : timeline.slices) {
    if (IsCopyOf(slice, map)) {
      ++costs.copies;
      copies.insert(InstructionOf(slice));
      (slice.name.starts_with("swap-in") ? costs.in : costs.out) += slice.args.value("bytes", Bytes{0});
    }
    if (slice.category == "recompute" && slice.name.starts_with("recompute " + map + ":")) {
      ++costs.kernels;
      costs.again += slice.Time();
    }
  }
  for (const Slice& slice : timeline.slices) {
    if (slice.category == "stall" && copies.contains(By(slice))) costs.stall += slice.Time();
  }
  return costs;
}

// What the classes that were not chosen would take at least: of the machine, not of the step, in which copies may hide.
std::string ElseText(const Told& map, const std::string& action) {
  const Nanos copies = map.at("copy_out_ns").get<Nanos>() + map.at("copy_in_ns").get<Nanos>();
  const Nanos again = map.at("again_ns").get<Nanos>();
  std::string text;
  if (action != "keep") {
    text += fmt::format("  keep        {} more device memory from {} to {}\n", FormatBytes(map.at("bytes")),
                        map.at("after").get<std::string>(),
                        map.at("before").is_null() ? std::string("the end") : map.at("before").get<std::string>());
  }
  if (action != "swap") text += fmt::format("  swap        {} of copies, unless kernels hide them\n", InUnits(copies));
  if (action != "recompute" && again > 0) {
    text += fmt::format("  recompute   {} of kernels, if their inputs are on the device\n", InUnits(again));
  }
  const bool copy_cheaper = action == "keep" ? again == 0 || copies < again : action == "recompute";
  text += fmt::format("  next best without more memory: {}\n",
                      action == "swap" ? (again > 0 ? "recompute" : "none, since the map cannot be recomputed")
                      : copy_cheaper   ? "swap"
                                       : "recompute");
  return text;
}

std::string MapText(const TimelineFile& timeline, const std::string& file, const std::string& name) {
  std::vector<std::string> names;
  for (const Told& map : timeline.head.at("maps")) names.push_back(map.at("name"));
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    throw UserError(fmt::format("{}: error: no map '{}'{}", file, name, DidYouMean(name, names)));
  const Told& map = timeline.head.at("maps")[static_cast<std::size_t>(found - names.begin())];
  const std::string action = map.at("class"), reason = map.at("reason");
  const MapCosts costs = CostsOf(timeline, name);
  std::string text = fmt::format("{}: {}, {}, {} by {}\n", name, map.at("shape").get<std::string>(),
                                 FormatBytes(map.at("bytes")), PastOf(action), PlaceText(timeline.head));
  const char* const undecided = action == "keep" ? "no decision: a map that fits is kept" : "the plan gives no reason";
  text += fmt::format("  why         {}\n", reason.empty() ? undecided : reason);
  if (reason.starts_with("r = ")) text += kMeaningOfR;
  if (map.contains("leaves_after")) {
    text += fmt::format("  stays       on the device from {} until {} is done, then leaves\n",
                        map.at("after").get<std::string>(), map.at("leaves_after").get<std::string>());
  }
  text += fmt::format("  moved       {} out, {} in, by {} cop{}\n", FormatBytes(costs.out), FormatBytes(costs.in),
                      costs.copies, costs.copies == 1 ? "y" : "ies");
  text += fmt::format("  stall       compute waits {} for copies of the map\n", InUnits(costs.stall));
  text += fmt::format("  recompute   {} of kernels of the map's layer, {} run{}\n", InUnits(costs.again), costs.kernels,
                      costs.kernels == 1 ? "" : "s");
  return text + "alternatives\n" + ElseText(map, action);
}

std::string OpText(const TimelineFile& timeline, const std::string& file, const std::string& name) {
  std::string text = fmt::format("{} by {}\n", name, PlaceText(timeline.head));
  std::set<std::string> names;
  int runs = 0;
  for (const Slice& slice : timeline.slices) {
    if (slice.category != "kernel" && slice.category != "recompute") continue;
    const std::string op = slice.category == "recompute" ? slice.name.substr(slice.name.find(' ') + 1) : slice.name;
    names.insert(op);
    if (op != name) continue;
    ++runs;
    text += fmt::format("  {} at {} for {}{}\n", slice.category == "recompute" ? "recomputed" : "runs ",
                        InUnits(slice.start), InUnits(slice.Time()),
                        slice.args.contains("reason") ? ", " + slice.args.at("reason").get<std::string>() : "");
    if (slice.args.contains("algorithm")) {
      text += fmt::format("    algorithm {}, {} of workspace\n", slice.args.at("algorithm").get<std::string>(),
                          FormatBytes(slice.args.at("workspace")));
    }
    if (slice.args.contains("source")) {
      text += fmt::format("    time {} ({}), shape {}\n", slice.args.at("source").get<std::string>(),
                          slice.args.at("how").get<std::string>(), slice.args.at("shape").get<std::string>());
    }
    if (slice.args.contains("calls")) {
      text += fmt::format("    in {} calls of the library, for parts of the batch: it takes no tensor so large\n",
                          slice.args.at("calls").get<int>());
    }
    for (const Slice& stall : timeline.slices) {
      if (stall.category != "stall" || stall.end != slice.start) continue;
      text += fmt::format("    compute first {} for {}\n", stall.name, InUnits(stall.Time()));
    }
  }
  if (runs > 0) return text;
  throw UserError(fmt::format("{}: error: no op '{}'{}", file, name, DidYouMean(name, {names.begin(), names.end()})));
}

}  // namespace

std::string ExplainMap(const std::string& trace, const std::string& file, const std::string& name) {
  return ToldOf(trace, file, [&](const TimelineFile& timeline) { return MapText(timeline, file, name); });
}
std::string ExplainOp(const std::string& trace, const std::string& file, const std::string& name) {
  return ToldOf(trace, file, [&](const TimelineFile& timeline) { return OpText(timeline, file, name); });
}

}  // namespace spillway

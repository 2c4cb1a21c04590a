#include "reports/rows/run_journal.h"

#include <nlohmann/json.hpp>

namespace spillway {

namespace {

using Json = nlohmann::ordered_json;
constexpr int kFormat = 1;  // of the lines

// Calls visit("name", field) for every field of a row, const or not: what is written is what is read.
template <typename Row, typename Visit>
void ForEachField(Row& row, const Visit& visit) {
  // As many names as ResultRow has fields, in its order: with a new one this does not compile. Add it here and below.
  auto& [scenario, network, network_base, options, batch, sample_elements, precision, devices, machine, machine_base,
         beside_link, link_rate, emulation, memory_limit, memory_model, strategy, runtime, choices, feasible, reason,
         step_time, step_time_low, step_time_high, draws, lower_bound, binding_bound, bound_scope, widest_bound, peak,
         live_peak, host_peak, classes, bytes_out, bytes_in, recompute_time, compute_time, stall_out, stall_in,
         stall_host, evaluations, search, measured_share, published_share, assumed_share, cost_source, memory_by_class,
         bound_by, mean_by_class, accumulate, numbers, page_rate, network_wide, parameter_bytes, parameters, point] =
      row;
  visit("point", point);
  visit("scenario", scenario);
  visit("network", network);
  visit("network_base", network_base);
  visit("options", options);
  visit("batch", batch);
  visit("sample_elements", sample_elements);
  visit("precision", precision);
  visit("devices", devices);
  visit("machine", machine);
  visit("machine_base", machine_base);
  visit("beside_link", beside_link);
  visit("link_rate", link_rate);
  visit("emulation", emulation);
  visit("memory_limit", memory_limit);
  visit("memory_model", memory_model);
  visit("strategy", strategy);
  visit("runtime", runtime);
  visit("choices", choices);
  visit("feasible", feasible);
  visit("reason", reason);
  visit("step_time", step_time);
  visit("step_time_low", step_time_low);
  visit("step_time_high", step_time_high);
  visit("lower_bound", lower_bound);
  visit("binding_bound", binding_bound);
  visit("bound_algorithms", bound_scope.algorithms);
  visit("bound_workspace", bound_scope.workspace);
  visit("bound_copy_streams", bound_scope.copy_streams);
  visit("bound_copy_chunk", bound_scope.copy_chunk);
  visit("bound_parts", bound_scope.parts);
  visit("bound_accumulate", bound_scope.accumulate);
  visit("bound_managed", bound_scope.managed);
  visit("widest_bound", widest_bound);
  visit("peak", peak);
  visit("live_peak", live_peak);
  visit("host_peak", host_peak);
  visit("keep", classes.keep);
  visit("swap", classes.swap);
  visit("recompute", classes.recompute);
  visit("bytes_out", bytes_out);
  visit("bytes_in", bytes_in);
  visit("recompute_time", recompute_time);
  visit("compute_time", compute_time);
  visit("stall_out", stall_out);
  visit("stall_in", stall_in);
  visit("stall_host", stall_host);
  visit("evaluations", evaluations);
  visit("search", search);
  visit("measured_share", measured_share);
  visit("published_share", published_share);
  visit("assumed_share", assumed_share);
  visit("cost_source", cost_source);
  visit("memory_by_class", memory_by_class);
  visit("bound_by", bound_by);
  visit("mean_by_class", mean_by_class);
  visit("accumulate", accumulate);
  visit("numbers", numbers);
  visit("page_rate", page_rate);
  visit("network_wide", network_wide);
  visit("parameter_bytes", parameter_bytes);
  visit("parameters", parameters);
  visit("draws", draws);
}

std::string Line(const Json& object) { return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

template <typename T, typename Read>
std::optional<T> Parsed(std::string_view line, const Read& read) {
  try {
    const Json object = Json::parse(line);
    T result;
    read(object, result);
    return result;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::string JournalLine(const JournalHead& head) {
  return Line({{"spillway_run", kFormat},
               {"version", head.version},
               {"command", head.command},
               {"points", head.points},
               {"digests", head.digests}});
}

std::string JournalLine(const JournalEntry& entry) {
  Json row = Json::object();
  ForEachField(entry.row, [&row](const char* name, const auto& field) { row[name] = field; });
  return Line({{"row", row}, {"seconds", entry.seconds}, {"files", entry.files}});
}

std::optional<JournalHead> ReadJournalHead(std::string_view line) {
  auto head = Parsed<JournalHead>(line, [](const Json& object, JournalHead& to) {
    if (object.at("spillway_run").get<int>() != kFormat) return;
    object.at("version").get_to(to.version);
    object.at("command").get_to(to.command);
    object.at("points").get_to(to.points);
    object.at("digests").get_to(to.digests);
  });
  if (head && head->digests.empty()) head.reset();
  return head;
}

std::optional<JournalEntry> ReadJournalEntry(std::string_view line) {
  return Parsed<JournalEntry>(line, [](const Json& object, JournalEntry& to) {
    const Json& row = object.at("row");
    ForEachField(to.row, [&row](const char* name, auto& field) { row.at(name).get_to(field); });
    object.at("seconds").get_to(to.seconds);
    object.at("files").get_to(to.files);
  });
}

std::vector<std::pair<std::string, std::string>> ReadJournalFiles(std::string_view line) {
  using Files = std::vector<std::pair<std::string, std::string>>;
  return Parsed<Files>(line, [](const Json& object, Files& to) { object.at("files").get_to(to); }).value_or(Files());
}

}  // namespace spillway

// Profiles: finding them by name, and what a file of them may say.
//
// A profile is a map; hw/unit.yaml shows every key in use. (r) = required, [..] = range.
//
//   name (r), description (r), software (r)      text
//   notes                                        list of texts
//   hosts (r)      list of {name (r), memory (r) > 0, pinned_limit = memory, source (r)}
//   devices (r)    list of
//     name (r)
//     figures (r)     {peak (r) FLOP/s, memory_bandwidth (r) B/s, multiprocessors (r) [1..10000],
//                      l2_cache, source (r)}
//     memory (r)      {total (r) > 0, reserve (r) < total, pool_fraction (r) (0..1], source (r)}
//     host_costs (r)  {kernel_launch, copy_submit, event_record, stream_wait, pool_alloc, pool_free, sync:
//                      durations, all (r); source (r);
//                      launches: {source (r), ops (r): list of {op (r), pass (r), time (r)}, (op, pass) unique: what
//                      issuing such an op costs in place of kernel_launch, which holds for all that are not named}}
//     laws            list of {op (r), pass (r), window, flop_fraction (r) [0..5], bandwidth_fraction (r) [0..5],
//                      fixed = 0 ns, workspace = 0 B, error = 0.3 [0..10], copy_slowdown = 1 [1..10], source (r)};
//                      (op, pass, window) unique
//     models_from     a profile (as same_as below): models, call floors and stacks of its first device, not own ones
//     call_floors     list of {harness (r), op (r), pass, math, added = 0 ns, floor (r)}
//     stacks          list of {name (r), op (r), pass (r), math = fp32, arithmetic = 1, memory = 1, special = 1: all
//                      [0.01..100]}
//     stack_error     = 0.15 [0..10]
//     models          list of {form (r), op (r), pass (r), algorithm, math = fp32, parameters (r): map of numbers,
//                      shared_error = 0.1 [0..10], own_error = 0.2 [0..10], copy_slowdown = 1 [1..10],
//                      work: {least, most}, source (r)}; forms and their parameters: model/kernel_form.h
//     measured        {source (r), ops (r): list of texts, one for each launch measured on this very machine:
//                      "OP PASS SHAPE, algorithm NAME, math fp32, precision fp32, layout nchw, accumulate yes,
//                      time DURATION, error 0.02 [0..10], workspace SIZE, copy_slowdown 1 [1..10]", all but the time
//                      optional after the first comma}; hw/measured_op_text.h; never taken over by models_from
//   links (r)      list of
//     name (r), host (r), device (r)               the last two name entries above
//     host_to_device (r), device_to_host (r)       {points (r): list of [size, time], error = 0.1 [0..10], source (r)};
//                      at least two points, sizes increasing, times not decreasing, the last interval takes time
//     other_memory                                 list of {kind (r): pageable | managed_prefetch | managed_touch, note,
//                                                  host_to_device (r), device_to_host (r)}: the same for memory that is
//                                                  not pinned; each kind at most once
//     duplex (r)      {factor (r) [0.5..1], source (r)}
//     host_error      = 0 where both curves are measured, else 0.08 [0..10]
//
//   source         one of {measured: text}, {published: text}, {assumed: text}
//
// or the short form of a second name for the same figures:
//
//   name (r), same_as (r): another profile (a file beside this one, or a shipped one), description, software, notes
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "hw/document.h"
#include "hw/machine.h"
#include "hw/machine_reader.h"

namespace spillway {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEnding = ".yaml";

// `chain` holds the files that led here through same_as, this one last.
Machine ReadProfile(const Document& document, std::vector<std::string>& chain);

std::string UnknownMachine(const std::string& name) {
  const std::vector<std::string> names = ListMachines();
  if (names.empty()) return fmt::format("unknown machine '{}'; no profiles found in {}", name, MachineFolder());
  return fmt::format("unknown machine '{}'{} (profiles: {}; or give a path ending in .yaml)", name,
                     DidYouMean(name, names), fmt::join(names, ", "));
}

// The file of the profile `name`: in `beside` first (the folder of the file that names it), else a shipped one.
// "" when there is none.
std::string FindProfile(const std::string& name, const std::string& beside) {
  if (name.empty() || name.find_first_of("/\\") != std::string::npos) return "";
  std::error_code ignored;
  for (const fs::path& folder : {fs::path(beside), fs::path(MachineFolder())}) {
    const fs::path path = folder / (name + kEnding);
    if (fs::is_regular_file(path, ignored)) return path.lexically_normal().string();
  }
  return "";
}

// Where `name`, under `key`, leads to; the mistake is reported when it leads nowhere or back.
std::string FollowReference(MapReader& reader, std::string_view key, const std::string& name,
                            const std::vector<std::string>& chain) {
  const std::string path = FindProfile(name, fs::path(chain.back()).parent_path().string());
  const bool cycle = std::find(chain.begin(), chain.end(), path) != chain.end();
  reader.Check(!path.empty(), key, UnknownMachine(name));
  reader.Check(path.empty() || !cycle, key,
               fmt::format("profiles name each other in a circle: {} -> {}", fmt::join(chain, " -> "), path));
  return path;
}

Machine ReadSecondName(MapReader& reader, Diagnostics& diagnostics, std::vector<std::string>& chain) {
  const std::string name = reader.RequiredString("name");
  const std::string other = reader.RequiredString("same_as");
  const std::string description = reader.StringOr("description", "");
  const std::string software = reader.StringOr("software", "");
  const std::vector<std::string> notes = reader.StringsOrNone("notes");
  reader.Finish();
  const std::string path = FollowReference(reader, "same_as", other, chain);
  diagnostics.ThrowIfAny();

  chain.push_back(path);
  Machine machine = ReadProfile(LoadDocument(path), chain);
  machine.name = name;
  if (!description.empty()) machine.description = description;
  if (!software.empty()) machine.software = software;
  machine.notes.insert(machine.notes.end(), notes.begin(), notes.end());
  return machine;
}

// Fetches the models of devices that name another profile for them.
void FetchModels(const Document& document, Diagnostics& diagnostics, std::vector<std::string> chain, Machine& machine) {
  const Node& devices = *document.root.Find("devices");
  for (std::size_t i = 0; i < machine.devices.size(); ++i) {
    Device& device = machine.devices[i];
    if (device.models_from.empty()) continue;
    MapReader reader(devices.items[i], diagnostics, "device");
    const std::string path = FollowReference(reader, "models_from", device.models_from, chain);
    diagnostics.ThrowIfAny();
    chain.push_back(path);
    const Machine teacher = ReadProfile(LoadDocument(path), chain);
    chain.pop_back();
    const Device& taught_by = teacher.devices.front();
    reader.Check(taught_by.multiprocessors == device.multiprocessors, "models_from",
                 fmt::format("{} has {} multiprocessors, this device {}: another chip", device.models_from,
                             taught_by.multiprocessors, device.multiprocessors));
    diagnostics.ThrowIfAny();
    device.models = taught_by.models;
    if (taught_by.peak_flops != device.peak_flops || taught_by.memory_bandwidth != device.memory_bandwidth) {
      for (KernelModel& model : device.models) {
        model.source = {Source::Kind::kAssumed, fmt::format("carried from {}: {}", teacher.name, model.source.text)};
      }
    }
    device.call_floors = teacher.devices.front().call_floors;
    device.stacks = teacher.devices.front().stacks;
  }
}

Machine ReadProfile(const Document& document, std::vector<std::string>& chain) {
  Diagnostics diagnostics(document);
  MapReader reader(document.root, diagnostics, "machine profile");
  if (document.root.Find("same_as") != nullptr) return ReadSecondName(reader, diagnostics, chain);
  Machine machine = ReadMachine(reader, diagnostics);
  reader.Finish();
  diagnostics.ThrowIfAny();
  FetchModels(document, diagnostics, chain, machine);
  return machine;
}

Machine Read(const Document& document) {
  std::vector<std::string> chain{fs::path(document.file).lexically_normal().string()};
  return ReadProfile(document, chain);
}

}  // namespace

Machine ParseMachine(const std::string& text, const std::string& file) { return Read(ParseDocument(text, file)); }

Machine LoadMachine(const std::string& name_or_path) {
  if (name_or_path.ends_with(kEnding)) return Read(LoadDocument(name_or_path));
  const std::string path = FindProfile(name_or_path, MachineFolder());
  if (path.empty()) throw UserError(UnknownMachine(name_or_path));
  return Read(LoadDocument(path));
}

std::vector<std::string> ListMachines() {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(MachineFolder(), error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == kEnding) names.push_back(entry->path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string MachineFolder() {
  const char* const home = std::getenv("SPILLWAY_HOME");
  if (home != nullptr && *home != '\0') return std::string(home) + "/hw";
#ifdef SPILLWAY_PORTABLE
  return fs::read_symlink("/proc/self/exe").replace_filename("hw").string();
#else
  return SPILLWAY_SOURCE_DIR "/hw";
#endif
}

}  // namespace spillway

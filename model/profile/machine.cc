// Machines: what their figures imply, finding their profiles by name, and reading these.
//
// The keys of profiles, their units and ranges are tables in machine_keys.cc, which `spillway help machine` prints;
// hw/unit.yaml is a short one.
#include "model/profile/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <filesystem>

#include "hw/text/document.h"
#include "hw/text/file_kind.h"
#include "hw/text/lists.h"
#include "model/profile/profile_text.h"

namespace spillway {
namespace {

namespace fs = std::filesystem;

constexpr Bytes kMemoryStep = 512;  // granularity of UsableMemory, that of the usual device allocators

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
  const bool cycle = Contains(chain, path);
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
    MapReader reader(devices.items[i], diagnostics, "device", DeviceKeys());
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
  const bool second_name = document.root.Find("same_as") != nullptr;
  MapReader reader(document.root, diagnostics, second_name ? "machine profile with same_as" : "machine profile",
                   second_name ? SecondNameKeys() : MachineKeys());
  if (second_name) return ReadSecondName(reader, diagnostics, chain);
  Machine machine = ReadMachine(reader, diagnostics);
  reader.Finish();
  diagnostics.ThrowIfAny();
  FetchModels(document, diagnostics, chain, machine);
  return machine;
}

Machine Read(const Document& document) {
  MustBeOfKind(FileKind::kMachine, document);
  std::vector<std::string> chain{fs::path(document.file).lexically_normal().string()};
  return ReadProfile(document, chain);
}

}  // namespace

const std::vector<std::string>& OperandStateNames() {
  static const std::vector<std::string> kNames{"step", "cold", "warm"};
  return kNames;
}

Bytes Device::UsableMemory() const {
  const double share = pool_fraction * static_cast<double>(total_memory - reserve);
  return static_cast<Bytes>(share) / kMemoryStep * kMemoryStep;
}

const Link& Machine::LinkOf(int device) const {
  for (const Link& link : links) {
    if (link.device == device) return link;
  }
  assert(false && "a valid machine has a link for every device");
  return links.front();
}

Machine ParseMachine(const std::string& text, const std::string& file) { return Read(ParseDocument(text, file)); }

Machine LoadMachine(const std::string& name_or_path) {
  if (name_or_path.ends_with(kEnding)) return Read(LoadDocument(name_or_path));
  const std::string path = FindProfile(name_or_path, MachineFolder());
  if (path.empty()) throw UserError(UnknownMachine(name_or_path));
  return Read(LoadDocument(path));
}

}  // namespace spillway

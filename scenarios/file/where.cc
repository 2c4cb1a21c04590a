#include "scenarios/file/where.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <functional>

#include "hw/text/lists.h"

namespace spillway {
namespace {

constexpr const char* kUsual = "usual";  // the value of an axis that the scenario says nothing of

struct SweptAxis {
  const char* name;
  std::function<std::vector<std::string>(const Scenario&)> values;  // each once
  std::function<void(Scenario&, const std::string& value)> keep;    // those that `value` means, which may be none
};

std::string Size(const Bytes& bytes) { return bytes <= 0 ? kUsual : FormatBytesExact(bytes); }
std::string Grant(const Bytes& bytes) { return bytes == kGrantOfOptions ? kUsual : FormatBytesExact(bytes); }
std::string Rate(const double& rate) { return rate <= 0 ? kUsual : fmt::format("{:g}GB/s", rate); }
std::string Name(const std::string& name) { return name; }
std::string RuntimeName(const RuntimeChoice& choice) { return choice.name.empty() ? kUsual : choice.name; }
std::string EmulationName(const Emulation& choice) { return choice.Any() ? choice.Label() : kUsual; }
std::string NetworkName(const NetworkChoice& choice) { return choice.zoo + choice.file + choice.graph; }
std::string Number(std::int64_t number) { return number == 0 ? kUsual : std::to_string(number); }
std::string Frames(const NetworkChoice& choice) { return Number(choice.frames); }
std::string Classes(const NetworkChoice& choice) { return Number(choice.classes); }
std::string Or(const std::string& name) { return name.empty() ? kUsual : name; }
std::string PrecisionName(const NetworkChoice& choice) { return Or(choice.precision); }
std::string OptimizerName(const NetworkChoice& choice) { return Or(choice.optimizer); }
std::string Image(const NetworkChoice& choice) {
  return choice.width == 0 ? Number(choice.image) : fmt::format("{}x{}", choice.image, choice.width);
}
template <typename Choice>
std::string Label(const Choice& choice) {
  return choice.Label();
}

bool SameText(const std::string& text, const std::string& value) { return text == value; }
bool SameSize(const std::string& text, const std::string& value) {
  return text == value || (ParseBytes(value) && ParseBytes(text) == ParseBytes(value));
}
bool SameRate(const std::string& text, const std::string& value) {
  return text == value || (ParseBandwidth(value) && ParseBandwidth(text) == ParseBandwidth(value));
}
bool SameImage(const std::string& text, const std::string& value) {
  return text == value || fmt::format("{}x{}", text, text) == value || text == fmt::format("{}x{}", value, value);
}
// A file by its path, its name or its name without the ending.
bool SameNetwork(const std::string& text, const std::string& value) {
  const std::filesystem::path path = text;
  return text == value || path.filename() == value || path.stem() == value;
}

template <typename T>
SweptAxis SweptAxisOf(const char* name, std::vector<T> Scenario::*list, std::string (*text)(const T&),
                      bool (*same)(const std::string&, const std::string&) = SameText) {
  return {name,
          [=](const Scenario& s) {
            std::vector<std::string> values;
            for (const T& item : s.*list) AddOnce(values, text(item));
            return values;
          },
          [=](Scenario& s, const std::string& value) {
            std::erase_if(s.*list, [&](const T& item) { return !same(text(item), value); });
          }};
}

SweptAxis BatchAxis() {
  return {"batch",
          [](const Scenario& s) {
            std::vector<std::string> values;
            for (const NetworkChoice& network : s.networks) {
              for (const std::int64_t batch : network.batch) AddOnce(values, std::to_string(batch));
            }
            return values;
          },
          [](Scenario& s, const std::string& value) {
            for (NetworkChoice& network : s.networks) {
              std::erase_if(network.batch, [&](std::int64_t batch) { return std::to_string(batch) != value; });
            }
            std::erase_if(s.networks, [](const NetworkChoice& network) { return network.batch.empty(); });
          }};
}

const std::vector<SweptAxis>& Axes() {
  static const std::vector<SweptAxis> kAxes = {
      SweptAxisOf("network", &Scenario::networks, NetworkName, SameNetwork),
      SweptAxisOf("image", &Scenario::networks, Image, SameImage),
      SweptAxisOf("frames", &Scenario::networks, Frames),
      SweptAxisOf("classes", &Scenario::networks, Classes),
      SweptAxisOf("precision", &Scenario::networks, PrecisionName),
      SweptAxisOf("optimizer", &Scenario::networks, OptimizerName),
      BatchAxis(),
      SweptAxisOf("options", &Scenario::options, Name),
      SweptAxisOf("machine", &Scenario::machines, Label<MachineChoice>),
      SweptAxisOf("link", &Scenario::link, Rate, SameRate),
      SweptAxisOf("emulate", &Scenario::emulate, EmulationName),
      SweptAxisOf("memory", &Scenario::memory, Size, SameSize),
      SweptAxisOf("usable_memory", &Scenario::usable_memory, Size, SameSize),
      SweptAxisOf("workspace", &Scenario::workspace, Grant, SameSize),
      SweptAxisOf("runtime", &Scenario::runtimes, RuntimeName),
      SweptAxisOf("strategy", &Scenario::strategies, Label<StrategyChoice>),
  };
  return kAxes;
}

}  // namespace

void Choose(const std::string& where, Scenario& scenario) {
  const std::size_t equals = where.find('=');
  const std::string name = where.substr(0, equals);
  const SweptAxis* axis = FindByName(Axes(), name);
  if (axis == nullptr) {
    throw UserError(fmt::format("--where: expected AXIS=VALUE, found '{}'{} (AXIS is one of {})", where,
                                DidYouMean(name, NamesOf(Axes())), fmt::join(NamesOf(Axes()), ", ")));
  }
  const std::vector<std::string> values = axis->values(scenario);
  if (equals == std::string::npos) {
    throw UserError(fmt::format("--where: expected {0}=VALUE, found '{0}' ({0} is {1} in {2})", name,
                                fmt::join(values, ", "), scenario.file));
  }
  const std::string value = where.substr(equals + 1);
  axis->keep(scenario, value);
  if (!axis->values(scenario).empty()) return;
  throw UserError(fmt::format("--where: {} is nowhere '{}' in {}{} (it is {})", name, value, scenario.file,
                              DidYouMean(value, values), fmt::join(values, ", ")));
}

std::vector<std::string> ChoicesOf(const Scenario& scenario) {
  std::vector<std::string> choices;
  for (const SweptAxis& axis : Axes()) {
    const std::vector<std::string> values = axis.values(scenario);
    if (values.size() < 2 || std::string_view(axis.name) == "strategy")
      continue;  // of one place all strategies are run
    const std::string_view name = axis.name;
    const std::string first = name == "batch" || name == "machine"
                                  ? fmt::format("--{} {}", name, values.front())
                                  : fmt::format("--where '{}={}'", name, values.front());
    choices.push_back(fmt::format("{} (or {})", first, fmt::join(values.begin() + 1, values.end(), ", ")));
  }
  return choices;
}

}  // namespace spillway

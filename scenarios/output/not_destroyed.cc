#include "scenarios/output/not_destroyed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>

#include "hw/text/file_kind.h"
#include "hw/text/text_file.h"

namespace spillway {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHead = std::size_t{64} << 20;  // more than any file that a command writes under -o

struct Own {
  const char* name;
  const char* usual;  // an ending to propose
};

Own OwnOf(Written kind) {
  switch (kind) {
    case Written::kPlan:
      return {"a plan", "plan.yaml"};
    case Written::kCarry:
      return {"a plan for PyTorch", "plan.json"};
    case Written::kMachine:
      return {"a machine profile", "machine.yaml"};
    case Written::kEstimate:
      return {"a table of estimates", "times.csv"};
    case Written::kJson:
      return {"a dump", "dump.json"};
    case Written::kPage:
      return {"a page", "page.html"};
  }
  return {"", ""};
}

bool HasKeyOf(FileKind kind, const Node& root) {
  const std::vector<std::string>& keys = KeysOfKind(kind);
  return std::any_of(keys.begin(), keys.end(), [&](const std::string& key) { return root.Find(key) != nullptr; });
}

// A plan for PyTorch has keys of the recording whose calls it holds.
bool IsCarry(const std::string& text) {
  return text.substr(0, 100).find("\"format\": \"spillway-carry\"") != std::string::npos;
}

// The kind of an input file, by its keys; nullopt: of none, or no YAML.
std::optional<FileKind> KindOf(const std::string& path, const std::string& text) {
  if (IsCarry(text)) return std::nullopt;
  try {
    const Document document = ParseDocument(text, path);
    for (const FileKind kind :
         {FileKind::kScenario, FileKind::kPlan, FileKind::kNetwork, FileKind::kGraph, FileKind::kMachine}) {
      if (HasKeyOf(kind, document.root)) return kind;
    }
  } catch (const UserError&) {  // no YAML
  }
  return std::nullopt;
}

bool IsOfKind(Written kind, const std::string& path, const std::string& text) {
  const std::size_t first = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  const std::string_view begin = std::string_view(text).substr(first);
  switch (kind) {
    case Written::kEstimate:
      return text.substr(0, text.find('\n')).find("predicted_us") != std::string::npos;
    case Written::kJson:
      return begin.starts_with("{") && KindOf(path, text) != FileKind::kGraph;
    case Written::kPage:
      return begin.starts_with("<");
    case Written::kPlan:
      return KindOf(path, text) == FileKind::kPlan;
    case Written::kCarry:
      return IsCarry(text);
    case Written::kMachine:
      return KindOf(path, text) == FileKind::kMachine;
  }
  return false;
}

}  // namespace

void MustNotDestroy(const std::string& out, Written kind, const std::vector<std::string>& inputs) {
  std::error_code none;
  if (out.empty() || out == "-" || !fs::is_regular_file(fs::status(out, none))) return;
  const Own own = OwnOf(kind);
  const std::string proposed = (fs::path(out).parent_path() / own.usual).string();
  for (const std::string& input : inputs) {
    if (!fs::equivalent(out, input, none)) continue;
    throw UserError(
        fmt::format("--output: '{}' is the input '{}', which would be lost; name another file, such as '{}'", out,
                    input, proposed));
  }
  const std::string text = ReadTextFile(out, "a file", kHead);
  if (text.find_first_not_of(" \t\r\n") == std::string::npos || IsOfKind(kind, out, text)) return;
  const std::optional<FileKind> other = KindOf(out, text);
  const std::string found = other ? fmt::format("a {}", FileKindName(*other)) : "a file of another kind";
  throw UserError(fmt::format("--output: '{}' is {} and not {}, and would be lost; name another file, such as '{}'",
                              out, found, own.name, proposed));
}

}  // namespace spillway

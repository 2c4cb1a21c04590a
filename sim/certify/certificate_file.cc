// Certificates as text.
#include <fmt/format.h>

#include <algorithm>

#include "hw/text/document.h"
#include "sim/certify/certificate.h"

namespace spillway {

namespace {

constexpr std::int64_t kMostOf = std::int64_t{1} << 40;  // ranges and batch parts

const std::vector<std::string>& PartNames() {
  static const std::vector<std::string> kNames = {"none", "batch", "streamed"};
  return kNames;
}

const std::vector<std::string>& ScopeNames() {
  static const std::vector<std::string> kNames = {"usual", "library", "any"};
  return kNames;
}

}  // namespace

std::string CertificateToYaml(const BoundCertificate& c, const TrainingStep& step) {
  std::string scope = fmt::format("algorithms: {}, workspace: {} B, copy_streams: {}, copy_chunk: {} B",
                                  ScopeNames()[static_cast<std::size_t>(c.scope.algorithms)], c.scope.workspace,
                                  c.scope.copy_streams, c.scope.copy_chunk);
  if (c.scope.parts != PartScope::kNone) scope += ", parts: " + PartNames()[static_cast<std::size_t>(c.scope.parts)];
  if (c.scope.tiles.Any()) {
    const auto& [in_channels, out_channels, rows] = c.scope.tiles;
    scope += fmt::format(", in_channels: {}, out_channels: {}, rows: {}", in_channels, out_channels, rows);
  }
  if (c.scope.accumulate > 1) scope += fmt::format(", accumulate: {}", c.scope.accumulate);
  if (c.scope.states_leave) scope += ", states_leave: true";
  std::string text = fmt::format(
      "# No plan in scope takes less than the bound in so much memory: by {}\n"
      "# Checked by `spillway certify`.\n"
      "bound: {} ns\n"
      "capacity: {} B\n"
      "scope: {{{}}}\n",
      c.op == kNoOp ? "the least time of every op."
                    : "what must be kept, copied or computed again at\n"
                      "# the start of one op, with these weights and this price of a byte kept.",
      c.bound, c.capacity, scope);
  if (c.op == kNoOp) return text;
  return text + fmt::format("instant: {{op: \"{}\", before: {:.15f}, after: {:.15f}, price: {:.15f}}}\n",
                            step.ops[Index(c.op)].name, c.before, c.after, c.price);
}

namespace {

Scope ReadScope(const Node& node, Diagnostics& diagnostics) {
  MapReader reader(node, diagnostics, "scope of a certificate");
  Scope scope;
  scope.algorithms = static_cast<AlgorithmScope>(reader.ChoiceOr("algorithms", ScopeNames(), 0));
  scope.workspace = reader.RequiredBytes("workspace");
  scope.copy_streams = static_cast<int>(reader.RequiredInteger("copy_streams", 0, 2));
  scope.copy_chunk = reader.RequiredBytes("copy_chunk");
  scope.parts = static_cast<PartScope>(reader.ChoiceOr("parts", PartNames(), 0));
  scope.tiles.in_channels = reader.IntegerOr("in_channels", 1, 1, kMostOf);
  scope.tiles.out_channels = reader.IntegerOr("out_channels", 1, 1, kMostOf);
  scope.tiles.rows = reader.IntegerOr("rows", 1, 1, kMostOf);
  scope.accumulate = reader.IntegerOr("accumulate", 1, 1, kMostOf);
  scope.states_leave = reader.BoolOr("states_leave", false);
  reader.Finish();
  return scope;
}

}  // namespace

BoundCertificate ParseCertificate(const Document& document, const TrainingStep& step) {
  Diagnostics diagnostics(document);
  BoundCertificate c;
  MapReader reader(document.root, diagnostics, "certificate");
  c.bound = reader.RequiredDuration("bound");
  c.capacity = reader.RequiredBytes("capacity");
  if (const Node* node = reader.Required("scope")) c.scope = ReadScope(*node, diagnostics);
  if (const Node* node = reader.Optional("instant")) {
    MapReader instant(*node, diagnostics, "instant of a certificate");
    const std::string name = instant.RequiredString("op");
    const auto op = std::find_if(step.ops.begin(), step.ops.end(), [&](const Op& o) { return o.name == name; });
    instant.Check(op != step.ops.end(), "op", "the step has no op '" + name + "'");
    c.op = op == step.ops.end() ? kNoOp : static_cast<OpId>(op - step.ops.begin());
    c.before = instant.RequiredNumber("before", 0, 1);
    c.after = instant.RequiredNumber("after", 0, 1);
    c.price = instant.RequiredNumber("price", 0, 1e12);
    instant.Finish();
  }
  reader.Finish();
  diagnostics.ThrowIfAny();
  return c;
}

}  // namespace spillway

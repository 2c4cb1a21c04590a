// Certificates as text.
#include <fmt/format.h>

#include <algorithm>

#include "hw/text/document.h"
#include "sim/certify/certificate.h"

namespace spillway {

namespace {

const std::vector<std::string>& ScopeNames() {
  static const std::vector<std::string> kNames = {"usual", "library", "any"};
  return kNames;
}

}  // namespace

std::string CertificateToYaml(const BoundCertificate& c, const TrainingStep& step) {
  return fmt::format(
      "# No plan in scope takes less than the bound in so much memory: by what must be kept, copied or computed again "
      "at\n"
      "# the start of one op, with these weights and this price of a byte kept. Checked by `spillway certify`.\n"
      "bound: {} ns\n"
      "capacity: {} B\n"
      "scope: {{algorithms: {}, workspace: {} B, copy_streams: {}, copy_chunk: {} B}}\n"
      "instant: {{op: \"{}\", before: {:.15f}, after: {:.15f}, price: {:.15f}}}\n",
      c.bound, c.capacity, ScopeNames()[static_cast<std::size_t>(c.scope.algorithms)], c.scope.workspace,
      c.scope.copy_streams, c.scope.copy_chunk, step.ops[Index(c.op)].name, c.before, c.after, c.price);
}

BoundCertificate ParseCertificate(const Document& document, const TrainingStep& step) {
  Diagnostics diagnostics(document);
  BoundCertificate c;
  MapReader reader(document.root, diagnostics, "certificate");
  c.bound = reader.RequiredDuration("bound");
  c.capacity = reader.RequiredBytes("capacity");
  if (const Node* node = reader.Required("scope")) {
    MapReader scope(*node, diagnostics, "scope of a certificate");
    c.scope.algorithms = static_cast<AlgorithmScope>(scope.ChoiceOr("algorithms", ScopeNames(), 0));
    c.scope.workspace = scope.RequiredBytes("workspace");
    c.scope.copy_streams = static_cast<int>(scope.RequiredInteger("copy_streams", 0, 2));
    c.scope.copy_chunk = scope.RequiredBytes("copy_chunk");
    scope.Finish();
  }
  if (const Node* node = reader.Required("instant")) {
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

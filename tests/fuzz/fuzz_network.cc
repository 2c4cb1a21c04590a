// Any text is either refused with UserError or becomes a network with shapes and a training step.
#include <cstdlib>

#include "hw/text/document.h"
#include "model/network/network.h"
#include "model/step/training_step.h"
#include "model/unroll/unroll.h"
#include "tests/fuzz/fuzz.h"

std::vector<std::string> spillway::fuzz::Seeds() { return YamlFiles("model/networks"); }

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    spillway::Document document = spillway::ParseDocument(spillway::fuzz::Text(data, size), "fuzz.yaml");
    spillway::Diagnostics diagnostics(document);
    spillway::Network network = spillway::ReadNetwork(document.root, diagnostics, 4);
    diagnostics.ThrowIfAny();
    spillway::InferShapes(network);
    spillway::TrainingStep step = spillway::BuildTrainingStep(network);
    if (step.MapBytes() < 0 || spillway::CountParameters(network) < 0) std::abort();  // overflow
    for (const spillway::Op& op : step.ops) {
      if (!(op.work.flops >= 0) || !(op.work.bytes >= 0)) std::abort();
    }
  } catch (const spillway::UserError&) {
  }
  return 0;
}

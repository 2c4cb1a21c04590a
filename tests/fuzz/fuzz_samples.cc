// Any text is either refused with UserError or becomes samples that survive being written and read again.
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "hw/text/document.h"
#include "model/samples/file.h"
#include "model/step/launch.h"
#include "tests/fuzz/fuzz.h"

namespace {

std::string Shipped(const char* name) {
  std::ifstream file(std::string(SPILLWAY_SOURCE_DIR) + "/calibrate/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

using Parse = spillway::SampleSet(std::string, const std::string&);

spillway::SampleSet Operations(std::string text, const std::string& file) {
  std::vector<spillway::Sample> samples;
  spillway::SampleSet set = spillway::VisitOperations(
      {file, std::move(text), {}, {}}, [&samples](const spillway::CsvRow&, const spillway::Sample* operation) {
        if (operation != nullptr) samples.push_back(*operation);
      });
  set.samples = std::move(samples);
  return set;
}

// What was accepted once must be accepted again, and be the same: an exception the second time is a failure.
void Try(const std::string& text, Parse* parse) {
  std::vector<spillway::Sample> samples;
  try {
    samples = parse(text, "fuzz.csv").samples;
  } catch (const spillway::UserError& error) {
    if (error.messages().empty()) std::abort();
    return;
  }
  for (const spillway::Sample& sample : samples) {
    const spillway::Work work = spillway::CountWork(sample.launch);
    if (!(work.flops >= 0) || !(work.bytes >= 0)) std::abort();
  }
  const std::string written = spillway::WriteSamples(samples);
  if (samples.empty()) return;
  const spillway::SampleSet again = parse(written, "written.csv");
  if (again.samples.size() != samples.size() || spillway::WriteSamples(again.samples) != written) std::abort();
}

}  // namespace

std::vector<std::string> spillway::fuzz::Seeds() {
  std::string others = "device,op,pass,kind,n,c,median_us,samples,workspace_bytes,status,note\n";
  others += "X,overhead,,launch,,,0,1,,ok,\"a\n\"\"b\"\"\"\nX,memory,,cudnn,,,5,1,536870912,,\n";
  others += "X,scale,forward,cold,1,99,5,3,,slow,\nX,zero,forward,,1,99,,,,error,\nX,update,,,1,9,3,,,,\n";
  return {Shipped("example-samples.csv"), Shipped("example-ops.csv"), others};
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = spillway::fuzz::Text(data, size);
  Try(text, spillway::ParseSamples);
  Try(text, Operations);
  return 0;
}

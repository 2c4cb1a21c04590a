#include "hw/machine/chips.h"

#include <catch2/catch.hpp>

#include "hw/text/document.h"
#include "model/samples/sample.h"

namespace spillway {
namespace {

using Catch::Contains;

std::string Chip1(const std::string& name, const std::string& more = "") {
  return "  - name: " + name +
         "\n    peak: 2 TFLOP/s\n    memory_bandwidth: 300 GB/s\n    multiprocessors: 4\n    boost_mhz: 1000\n"
         "    l2_cache: 1 MiB\n    memory: 8 GiB\n    source: {published: a sheet}\n" +
         more;
}

std::string ErrorOf(const std::string& text) {
  try {
    ParseChips(text, "c.yaml");
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a chip is found by any of its names, whatever their case") {
  const auto chips = ParseChips("chips:\n" + Chip1("A", "    also: [Tesla A, b]\n") + Chip1("C"), "c.yaml");
  REQUIRE(chips.size() == 2);
  CHECK(FindChip(chips, "a") == &chips[0]);
  CHECK(FindChip(chips, "tesla a") == &chips[0]);
  CHECK(FindChip(chips, "B") == &chips[0]);
  CHECK(FindChip(chips, "C") == &chips[1]);
  CHECK(FindChip(chips, "D") == nullptr);
  CHECK(chips[0].peak_flops == 2000);
  CHECK(chips[0].memory_bandwidth == 300);
  CHECK(chips[0].source == Source{Source::Kind::kPublished, "a sheet"});
  CHECK(ChipOf(chips[0]) ==
        Chip{.peak_flops = 2000, .memory_bandwidth = 300, .multiprocessors = 4, .l2_bytes = 1 << 20});
}

TEST_CASE("mistakes of the table are told") {
  CHECK_THAT(ErrorOf("chips:\n" + Chip1("A") + Chip1("B", "    also: [a]\n")),
             Contains("c.yaml:10:5: error: 'a' is also a name of chip 'A'"));
  CHECK_THAT(ErrorOf("chips:\n  - name: A\n    peak: 3\n"),
             Contains("'3' has no unit") && Contains("missing key 'memory_bandwidth' in chip 'A'") &&
                 Contains("missing key 'source'"));
  CHECK_THAT(ErrorOf("chips:\n" + Chip1("A", "    cores: 5\n")), Contains("'cores'"));
  CHECK_THAT(ErrorOf("chips: 3\n"), Contains("chips: expected a list"));
  CHECK_THAT(ErrorOf("names: []\n"), Contains("missing key 'chips'"));
}

// A peak is multiprocessors x lanes x 2 x clock, with 64 or 128 fp32 lanes; sheets round to three digits or two.
TEST_CASE("the figures of each shipped chip fit together") {
  const std::vector<ChipFigures> chips = LoadChips();
  REQUIRE(chips.size() >= 20);
  for (const ChipFigures& chip : chips) {
    INFO(chip.name);
    const double lanes = chip.peak_flops / (chip.multiprocessors * 2 * chip.boost_mhz * 1e-3);
    CHECK((lanes == Approx(64).epsilon(0.012) || lanes == Approx(128).epsilon(0.012)));
    CHECK(chip.memory_bandwidth > 100);
    CHECK(chip.l2_cache >= kMiB);
    CHECK(chip.memory >= 8 * kGB);
    CHECK(chip.source.kind != Source::Kind::kMeasured);
    CHECK(chip.math_source.text.empty() != chip.math_peaks.Any());
    for (const MathMode mode : {MathMode::kTf32, MathMode::kFp16, MathMode::kBf16}) {
      const double peak = chip.math_peaks.Of(mode);
      CHECK((peak == 0 || peak > chip.peak_flops));
    }
    CHECK(FindChip(chips, chip.name) == &chip);
  }
}

TEST_CASE("devices of published measurements are known") {
  const std::vector<ChipFigures> chips = LoadChips();
  for (const char* name : {"V100-SXM2-16GB", "V100-PCIE-32GB", "P100-PCIE-16GB", "P100-SXM2-16GB", "GTX-TitanX-Maxwell",
                           "A100-PCIE-40GB", "A100-PCIE-80GB", "H100-SXM-80GB", "H200-SXM-141GB", "TITAN-V",
                           "TitanX-Pascal", "GTX-1080Ti", "T4", "NVIDIA H200", "Tesla V100-SXM2-16GB"}) {
    INFO(name);
    CHECK(FindChip(chips, name) != nullptr);
  }
}

}  // namespace spillway

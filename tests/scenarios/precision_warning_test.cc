// A card without an arithmetic: who asks for it is told.
#include "scenarios/run/precision_warning.h"

#include <catch2/catch.hpp>

#include "model/profile/machine.h"

namespace spillway {

TEST_CASE("a card without tensor cores for a precision is named, one that has them is not") {
  const Machine volta = LoadMachine("v100-x86-pcie3"), ampere = LoadMachine("a100-pcie4");
  CHECK(PrecisionWarning("amp-bf16", volta) ==
        "precision amp-bf16: v100-x86-pcie3 states no peak of bf16, so products are taken at that of fp32; PyTorch 2 "
        "emulates bf16 on such a card, 1.13 refuses it");
  CHECK(PrecisionWarning("bf16", volta).starts_with("precision bf16: "));
  CHECK(PrecisionWarning("tf32", volta) ==
        "precision tf32: v100-x86-pcie3 states no peak of tf32, so products are taken at that of fp32");
  CHECK(PrecisionWarning("amp-fp16", volta).empty());
  for (const char* precision : {"fp32", "tf32", "amp-fp16", "amp-bf16", "bf16"}) {
    CHECK(PrecisionWarning(precision, ampere).empty());
  }
  CHECK(PrecisionWarning("fp32", volta).empty());
}

}  // namespace spillway

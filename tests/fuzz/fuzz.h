// What a fuzzer consists of: LLVMFuzzerTestOneInput, called with arbitrary text, and Seeds, well-formed texts to
// start from. A text that is refused with UserError is fine; any other exception, a failed assertion or a
// sanitizer's complaint is a bug. Run under libFuzzer, or under driver.cc with any compiler.
#ifndef SPILLWAY_TESTS_FUZZ_FUZZ_H_
#define SPILLWAY_TESTS_FUZZ_FUZZ_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace spillway::fuzz {

std::vector<std::string> Seeds();  // each fuzzer has its own

// The contents of all .yaml files of a folder (a path from the root of the sources), in order of their names.
std::vector<std::string> YamlFiles(const std::string& folder);

// Of each list of block YAML the first three items and every sixteenth, of each text others: the readers take one item
// like the next, and spend their time on what is small.
std::vector<std::string> Shortened(std::vector<std::string> texts);

// The input as text.
std::string Text(const std::uint8_t* data, std::size_t size);

}  // namespace spillway::fuzz

#endif  // SPILLWAY_TESTS_FUZZ_FUZZ_H_

// Small random damage to a text, of the kind that people and broken tools do to YAML.
#ifndef SPILLWAY_TESTS_FUZZ_MUTATE_H_
#define SPILLWAY_TESTS_FUZZ_MUTATE_H_

#include <random>
#include <string>

namespace spillway::fuzz {

// One to eight changes. The same state of `random` and the same text give the same result everywhere: only the
// engine's raw numbers are used, no distribution of the standard library.
std::string Mutate(std::string text, std::mt19937_64& random);

}  // namespace spillway::fuzz

#endif  // SPILLWAY_TESTS_FUZZ_MUTATE_H_

// Runs a fuzzer without libFuzzer:
//   fuzz_x RUNS [FIRST]   RUNS mutations of the seeds, from number FIRST (default 0) on; every number is a text of
//                         its own, the same on every machine; the deep tier (tests/deep.h) makes ten times as many
//   fuzz_x FILE...        these texts, e.g. to see a failure again
// A text that fails is left beside the program as fuzz_x.failure.yaml, and its number is printed.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tests/deep.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/mutate.h"

namespace {

std::string current;            // the text being tried
unsigned long long number = 0;  // and which one it is
std::string failure_file;

// Called once, when the process is lost anyway; that it allocates does no harm then.
void KeepFailure(int signal) {
  std::signal(signal, SIG_DFL);
  std::ofstream(failure_file, std::ios::binary) << current;
  std::fprintf(stderr, "run %llu failed; the text is in %s\n", number, failure_file.c_str());
  std::raise(signal);
}

void Try(std::string text) {
  current = std::move(text);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(current.data()), current.size());
}

void Mutations(unsigned long long first, unsigned long long runs) {
  const std::vector<std::string> seeds = spillway::fuzz::Seeds();
  if (seeds.empty()) std::abort();
  for (const std::string& seed : seeds) Try(seed);
  for (number = first; number < first + runs; ++number) {
    std::mt19937_64 random(number);
    Try(spillway::fuzz::Mutate(seeds[number % seeds.size()], random));
  }
}

}  // namespace

int main(int argc, char** argv) {
  failure_file = std::string(argv[0]) + ".failure.yaml";
  for (int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL}) std::signal(signal, KeepFailure);
  if (argc < 2) return 2;
  char* end = nullptr;
  const unsigned long long runs = std::strtoull(argv[1], &end, 10);
  if (*end == '\0') {
    Mutations(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0, spillway::Cases(runs, 10 * runs));
    return 0;
  }
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    Try({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
  }
  return 0;
}

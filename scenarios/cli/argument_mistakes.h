// Messages on mistakes of a command line: one line for each mistake, with its place, the expectation there and the
// nearest name. Independent of the parsing library (arguments.cc), which passes its findings as plain facts.
//
// Tested by cli_mistakes_test.
#ifndef SPILLWAY_SCENARIOS_CLI_ARGUMENT_MISTAKES_H_
#define SPILLWAY_SCENARIOS_CLI_ARGUMENT_MISTAKES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace spillway {

// An option of a verb, or a word that is known by its place, and what the line has for it.
struct OptionFacts {
  std::vector<std::string> names;  // as typed: "--machines", "--machine", "-o"; by place "FILE"
  std::string meaning;             // its line in the help
  bool by_place = false;
  bool required = false;
  bool flag = false;               // takes no value
  bool many = false;               // any number of values
  std::vector<std::string> given;  // what the line has: values, "true" of a flag
};

struct LineFacts {
  std::string verb;
  std::vector<OptionFacts> options;
  std::vector<std::string> words;  // the line, the verb included
  std::vector<std::string> extra;  // those that found no place
  std::string wrong;               // what a check below said of a value, "--jobs: expected ..."; "" = none did
};

// The mistakes of a line that could not be parsed, each with its line feed; "": nothing is known that could be wrong.
std::string LineMistakes(const LineFacts& facts);

// The message for a line without a verb, or with an unknown verb; "" if the verb is known, or the line asks for help or
// version.
std::string VerbMistake(const std::vector<std::string>& words, const std::vector<std::string>& verbs);

// The mistake of a value; "": none.
std::string WholeNumberMistake(const std::string& text, std::uint64_t least, std::uint64_t most);
std::string NumberMistake(const std::string& text, double least, double most);
std::string ChoiceMistake(const std::string& text, const std::vector<std::string>& choices);
// Of any option: an empty word where a name stands by its place, an option of the verb in the place of a value.
std::string ValueMistake(const std::string& text, bool by_place, const std::vector<std::string>& options);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_CLI_ARGUMENT_MISTAKES_H_

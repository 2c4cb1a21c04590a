// How a verb says which options it has.
//
//   options.Text("--out", out, "folder for results");
//   options.Texts("--machines,--machine", machines, "these machines").SplitAtCommas();
//   options.Whole("--steps", steps, 5, 10000, "steps measured of each plan");
//
// A name without dashes ("FILE") is a word that is known by its place. The help lists options in the order of the calls.
// Values go where the caller says, which must outlive the parsing. Who parses is arguments.cc's matter.
#ifndef SPILLWAY_SCENARIOS_CLI_OPTIONS_H_
#define SPILLWAY_SCENARIOS_CLI_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace spillway {

// By option: what lists the words that a shell offers for its value. Asked only when a shell is to know.
using OfferedWords = std::map<const CLI::Option*, std::function<std::vector<std::string>()>>;

// One that was declared, to say more about it.
class DeclaredOption {
 public:
  DeclaredOption(CLI::Option* option, OfferedWords& offered) : option_(option), offered_(offered) {}
  DeclaredOption Required() const;
  DeclaredOption SplitAtCommas() const;  // a value may be several, separated by commas
  DeclaredOption Once() const;           // one value
  DeclaredOption OneEach() const;        // one value behind each time that the option is typed
  DeclaredOption Among(const std::vector<std::string>& choices) const;
  DeclaredOption Offer(std::function<std::vector<std::string>()> words) const;  // to complete; others may be typed

 private:
  CLI::Option* option_;
  OfferedWords& offered_;
};

class Options {
 public:
  explicit Options(CLI::App& app) : app_(app) {}

  DeclaredOption Text(const char* names, std::string& value, const char* meaning);
  DeclaredOption Texts(const char* names, std::vector<std::string>& values, const char* meaning);
  void Flag(const char* names, bool& value, const char* meaning);
  // From `least` to `most`, without a zero in front.
  DeclaredOption Whole(const char* names, int& value, int least, int most, const char* meaning);
  DeclaredOption Batch(const char* names, std::int64_t& value, const char* meaning);  // 1 to kMostBatch
  DeclaredOption Batches(const char* names, std::vector<std::int64_t>& values, const char* meaning);
  DeclaredOption Seed(const char* names, std::uint64_t& value, const char* meaning);
  DeclaredOption Number(const char* names, double& value, double least, double most, const char* meaning);
  const OfferedWords& offered() const { return offered_; }

 private:
  DeclaredOption Declared(CLI::Option* option) { return {option, offered_}; }
  CLI::App& app_;
  OfferedWords offered_;
};

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_CLI_OPTIONS_H_

#include "scenarios/cli/argument_mistakes.h"

#include <fmt/format.h>

#include <charconv>

#include "hw/text/document.h"
#include "hw/text/lists.h"

namespace spillway {

namespace {

std::string QuotedList(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += fmt::format("{}'{}'", text.empty() ? "" : ", ", word);
  return text;
}

std::vector<std::string> OptionNamesOf(const LineFacts& facts) {
  std::vector<std::string> names;
  for (const OptionFacts& option : facts.options) {
    if (!option.by_place) names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

// "WHAT NAME"
std::string Places(const LineFacts& facts) {
  std::string text;
  for (const OptionFacts& option : facts.options) {
    if (option.by_place) text += (text.empty() ? "" : " ") + option.names.front();
  }
  return text;
}

class Mistakes {
 public:
  explicit Mistakes(const LineFacts& facts) : facts_(facts) {}

  std::string Text() {
    Unknown();
    if (!text_.empty()) return text_;  // a misspelt option moves what comes behind it: nothing else is sure
    Dangling();
    for (const OptionFacts& option : facts_.options) Missing(option);
    for (const OptionFacts& option : facts_.options) TooMany(option);
    Extra();
    if (!facts_.wrong.empty()) Say(facts_.wrong);
    return text_;
  }

 private:
  void Say(const std::string& what) {
    text_ += fmt::format("{}: {} (spillway help {})\n", facts_.verb, what, facts_.verb);
  }

  void Unknown() {
    const std::vector<std::string> names = OptionNamesOf(facts_);
    for (const std::string& word : facts_.words) {
      const std::string name = word.substr(0, word.find('='));
      const bool is_long = name.starts_with("--") && name.size() > 2;
      if (is_long && !Contains(names, name)) Say(fmt::format("unknown option '{}'{}", name, DidYouMean(name, names)));
    }
    for (const std::string& word : facts_.extra) {
      const bool is_short = word.size() > 1 && word[0] == '-' && word[1] != '-';
      if (is_short && !Contains(names, word.substr(0, 2))) Say(fmt::format("unknown option '{}'", word));
    }
  }

  // An option that wants a value, at the end or as "--name=".
  void Dangling() {
    for (const OptionFacts& option : facts_.options) {
      for (const std::string& word : facts_.words) {
        const bool last = &word == &facts_.words.back() && Contains(option.names, word);
        const bool empty = word.ends_with('=') && Contains(option.names, word.substr(0, word.size() - 1));
        if (option.by_place || option.flag || !(last || empty)) continue;
        dangling_ = &option;
        Say(fmt::format("{}: expected a value behind it: {}", word.substr(0, word.find('=')), option.meaning));
      }
    }
  }

  void Missing(const OptionFacts& option) {
    if (!option.required || !option.given.empty() || &option == dangling_) return;
    Say(fmt::format("{} is missing: {}", option.names.front(), option.meaning));
  }

  void TooMany(const OptionFacts& option) {
    const std::string& name = option.names.front();
    if (option.flag) {
      for (const std::string& value : option.given) {
        if (value != "true" && value != "false") Say(fmt::format("{}: expected no value, found '{}'", name, value));
      }
    } else if (!option.many && option.given.size() > 1) {
      Say(fmt::format("{}: expected one, found {}: {}", name, option.given.size(), QuotedList(option.given)));
    }
  }

  void Extra() {
    if (facts_.extra.empty()) return;
    const std::string places = Places(facts_);
    Say(fmt::format("expected {}, found {} behind {}", places.empty() ? "options alone" : places + " and options",
                    QuotedList(facts_.extra), facts_.extra.size() == 1 ? "it" : "them"));
  }

  const LineFacts& facts_;
  const OptionFacts* dangling_ = nullptr;
  std::string text_;
};

// Numbers as the line has them: all of the text, without signs and spaces that other readers of numbers take.
template <typename Number>
bool ReadAll(const std::string& text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end;
}

}  // namespace

std::string LineMistakes(const LineFacts& facts) { return Mistakes(facts).Text(); }

std::string VerbMistake(const std::vector<std::string>& words, const std::vector<std::string>& verbs) {
  const std::string all = fmt::format("expected a verb: {}", fmt::join(verbs, ", "));
  if (words.empty()) return all + " (spillway --help)\n";
  const std::string& word = words[0];
  static const std::vector<std::string> kOwn{"--help", "-h", "--version"};
  if (Contains(verbs, word) || Contains(kOwn, word)) return "";
  if (!word.starts_with('-'))
    return fmt::format("unknown verb '{}'{} (spillway --help)\n", word, DidYouMean(word, verbs));
  return fmt::format("{}, found '{}'{} (spillway --help)\n", all, word, DidYouMean(word, kOwn));
}

// Some take 010 for eight.
std::string WholeNumberMistake(const std::string& text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t number = 0;
  const bool whole = ReadAll(text, number);
  if (whole && text.size() > 1 && text[0] == '0') return fmt::format("'{}' begins with a zero; write it without", text);
  if (whole && number >= least && number <= most) return "";
  return fmt::format("expected a whole number from {} to {}, found '{}'", least, most, text);
}

std::string NumberMistake(const std::string& text, double least, double most) {
  double number = 0;
  if (ReadAll(text, number) && number >= least && number <= most) return "";
  return fmt::format("expected a number from {} to {}, found '{}'", least, most, text);
}

std::string ChoiceMistake(const std::string& text, const std::vector<std::string>& choices) {
  if (Contains(choices, text)) return "";
  return fmt::format("expected {}{}, found '{}'{}", choices.size() > 1 ? "one of " : "", fmt::join(choices, ", "), text,
                     DidYouMean(text, choices));
}

std::string ValueMistake(const std::string& text, bool by_place, const std::vector<std::string>& options) {
  if (text.empty()) return by_place ? "expected a name, found ''" : "expected a value, found ''";
  return Contains(options, text) ? fmt::format("expected a value, found the option '{}'", text) : "";
}

}  // namespace spillway

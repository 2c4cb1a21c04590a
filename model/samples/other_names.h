// What other programs call the columns of a samples file.
//
// A column under a usual other name is read ("padding", "pad_h": pad). One that is about the same things and cannot be
// read ("dilation", "pad_top") would change the answer: its cells must be empty, or at what is the default here.
#ifndef SPILLWAY_MODEL_SAMPLES_OTHER_NAMES_H_
#define SPILLWAY_MODEL_SAMPLES_OTHER_NAMES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/samples/columns.h"

namespace spillway {

// Something that ops may have and that a column which is not read speaks of.
struct OtherName {
  const char* word;  // names with these letters
  bool whole;        // the name is the word, not longer
  Matter matter;
  const char* harmless;  // the default here: a number, or a word as PrecisionWord has it
  const char* instead;   // for the message: what to do about it
};

// The column that a name is of, under its own name or a usual other one; nullopt: none. Letter case, '_', '-', '.' and
// spaces do not count, but for names of one letter: S may be a stride.
std::optional<Column> ColumnCalled(std::string_view name);

// What a name that is no column's speaks of; nullptr: nothing that matters.
const OtherName* FindOtherName(std::string_view name);
bool IsHarmless(const OtherName& about, const std::string& cell);

// A whole number, or several that are all equal: "3", "(3, 3)", "3x3". nullopt: anything else.
std::optional<std::int64_t> EqualNumbers(std::string_view text);

// "float32", "half", "BF16": fp32, fp16, bf16. Other words in lower case.
std::string PrecisionWord(const std::string& text);
std::string InLowerCase(std::string text);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_SAMPLES_OTHER_NAMES_H_

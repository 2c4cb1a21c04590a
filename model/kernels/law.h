// How a cost law is written: a table of parameters, a function of time that reads them by name, and the KernelForm of
// both.
//
//   constexpr ParameterTable kParameters{
//       Row{"fixed", "ns per call", 8000, 1000, 1e5, 0.7},
//       Row{"bandwidth", "fraction of the memory bandwidth", 0.6, 0.1, 1.1, 0.3},
//   };
//   using Values = ParameterValues<kParameters>;
//
//   double Time(const Launch& launch, const Chip& chip, Values p) {
//     return p["fixed"] + CountWork(launch).bytes / (p["bandwidth"] * chip.memory_bandwidth);
//   }
//   KernelForm CopyForm() { return FormOf<Time>({.name = "copy", ...}); }
//
// A row is the one place that tells of a parameter. The compiler turns a name into a position of the table, and refuses
// a name without a row, a name with two rows, and a start outside its range.
//
// Tested by law_test (tests/model/).
#ifndef SPILLWAY_MODEL_KERNELS_LAW_H_
#define SPILLWAY_MODEL_KERNELS_LAW_H_

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>

#include "model/kernels/kernel_form.h"

namespace spillway {

// ---- The table.

using Row = FormParameter;

// The first row with that name; rows.size(): none.
constexpr std::size_t RowOf(std::string_view name, std::span<const Row> rows) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; });
  return static_cast<std::size_t>(found - rows.begin());
}

// Rows, and tables of rows that several laws share, one after another.
template <std::size_t kSize>
class ParameterTable {
 public:
  template <typename... Parts>
  constexpr explicit ParameterTable(const Parts&... parts) {
    std::size_t end = 0;
    (Append(parts, end), ...);
  }
  constexpr auto begin() const { return rows_.begin(); }
  constexpr auto end() const { return rows_.end(); }
  static constexpr std::size_t size() { return kSize; }
  // REQUIRES: a row of this name.
  consteval Row operator[](std::string_view name) const { return rows_[RowOf(name, rows_)]; }

 private:
  constexpr void Append(const Row& row, std::size_t& end) { rows_[end++] = row; }
  template <std::size_t kPart>
  constexpr void Append(const ParameterTable<kPart>& part, std::size_t& end) {
    for (const Row& row : part) Append(row, end);
  }

  std::array<Row, kSize> rows_;
};

template <typename Part>
inline constexpr std::size_t kRowsOf = 1;
template <std::size_t kSize>
inline constexpr std::size_t kRowsOf<ParameterTable<kSize>> = kSize;
template <typename... Parts>
ParameterTable(const Parts&...) -> ParameterTable<(kRowsOf<Parts> + ...)>;

// Where `part` stands among the rows, name by name; rows.size(): nowhere.
constexpr std::size_t PlaceOf(std::span<const Row> part, std::span<const Row> rows) {
  const auto same = [](const Row& a, const Row& b) { return std::string_view(a.name) == b.name; };
  return static_cast<std::size_t>(std::search(rows.begin(), rows.end(), part.begin(), part.end(), same) - rows.begin());
}

// Names differ, starts lie within their ranges.
constexpr bool IsSound(std::span<const Row> rows) {
  return std::all_of(rows.begin(), rows.end(), [&](const Row& row) {
    return &rows[RowOf(row.name, rows)] == &row && row.prior_spread > 0 && 0 < row.lower && row.lower < row.start &&
           row.start < row.upper;
  });
}

// ---- What a law reads.

// The values of a table's parameters. Owns nothing: a view of numbers in the order of the rows.
template <const auto& kTable>
class ParameterValues {
 public:
  static_assert(IsSound(kTable));

  // A row, found while the law is compiled.
  class Name {
   public:
    consteval Name(const char* name) : row_(RowOf(name, kTable)) {
      if (row_ == kTable.size()) throw "the table has no parameter of this name";
    }

   private:
    friend class ParameterValues;
    std::size_t row_;
  };

  // REQUIRES: as many values as the table has rows.
  ParameterValues(std::span<const double> values) : values_(values.data()) { assert(values.size() == kTable.size()); }

  // Takes its part of a table that holds these rows among others: code that several laws share reads so from each.
  template <const auto& kWhole>
  requires(PlaceOf(kTable, kWhole) < kWhole.size()) ParameterValues(const ParameterValues<kWhole>& whole)
      : values_(whole.data() + PlaceOf(kTable, kWhole)) {}

  double operator[](Name name) const { return values_[name.row_]; }
  const double* data() const { return values_; }

 private:
  const double* values_;
};

// ---- The form.

template <const auto& kTable>
constexpr std::span<const Row> TableReadBy(double (*)(const Launch&, const Chip&, ParameterValues<kTable>)) {
  return kTable;
}

// Completes `form` by the law `kTime` and the table that this law reads.
template <auto kTime>
KernelForm FormOf(KernelForm form) {
  form.parameters = TableReadBy(kTime);
  form.time = [](const Launch& launch, const Chip& chip, std::span<const double> values) {
    return kTime(launch, chip, values);
  };
  return form;
}

// KernelForm::algorithms of a form that describes one, where it `serves` the op and pass.
inline std::span<const char* const> Only(const char* const (&name)[1], bool serves) {
  return std::span(name).first(serves ? 1 : 0);
}

// The same where the op leaves no choice.
inline constexpr const char* kNameless[] = {""};
inline std::span<const char* const> Nameless(bool serves) { return Only(kNameless, serves); }

// Two times that overlap: the larger where they differ, 1.41 times either where they are equal.
inline double Overlapped(double a, double b) { return std::sqrt(a * a + b * b); }

}  // namespace spillway

#endif  // SPILLWAY_MODEL_KERNELS_LAW_H_

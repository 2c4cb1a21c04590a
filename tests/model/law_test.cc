// How laws read their parameters: tables joined, rows found by name, and no row that its law leaves unread.
#include "model/kernels/law.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "model/util/random.h"
#include "tests/form_values.h"

namespace spillway {
namespace {

constexpr ParameterTable kPair{Row{"b", "", 20, 2, 200, 0.5}, Row{"c", "", 30, 3, 300, 0.5}};
constexpr ParameterTable kWhole{Row{"a", "", 10, 1, 100, 0.5}, kPair, Row{"d", "", 40, 4, 400, 0.5}};

double Sum(ParameterValues<kPair> p) { return p["b"] + 10 * p["c"]; }
double Time(const Launch&, const Chip&, ParameterValues<kWhole> p) { return p["a"] + 100 * p["d"] + 1000 * Sum(p); }

TEST_CASE("a table is its rows and those of the tables it names, in order") {
  std::string names;
  for (const Row& row : kWhole) names += row.name;
  CHECK(names == "abcd");
  CHECK(kWhole["c"].start == 30);
  static_assert(RowOf("d", kWhole) == 3 && RowOf("e", kWhole) == 4);
  static_assert(PlaceOf(kPair, kWhole) == 1 && PlaceOf(kWhole, kPair) == kPair.size());
}

TEST_CASE("a law reads values by name, what laws share its own part of them") {
  const std::vector<double> values{1, 2, 3, 4};
  const KernelForm form = FormOf<Time>({.name = "sum", .description = ""});
  CHECK(form.parameters.size() == 4);
  CHECK(form.time({}, {}, values) == 1 + 400 + 1000 * (2 + 30));
}

TEST_CASE("a table with a name twice or a start outside its range is refused") {
  static_assert(IsSound(kWhole));
  constexpr Row kGood{"a", "", 10, 1, 100, 0.5};
  static_assert(!IsSound(ParameterTable{kGood, Row{"b", "", 10, 1, 100, 0.5}, kGood}));
  static_assert(!IsSound(ParameterTable{Row{"a", "", 1, 1, 100, 0.5}}));
  static_assert(!IsSound(ParameterTable{Row{"a", "", 10, 1, 10, 0.5}}));
  static_assert(!IsSound(ParameterTable{Row{"a", "", 10, 0, 100, 0.5}}));
  static_assert(!IsSound(ParameterTable{Row{"a", "", 10, 1, 100, 0}}));
}

// Sizes at which every case of a law comes up: few and many channels, long rows, strides, odd windows.
Launch AnyLaunch(OpKind kind, Pass pass, Random& random) {
  const std::int64_t window = 2 * random.Between(0, 3) + 1, stride = random.Between(1, 2),
                     side = random.Between(7, 120);
  const auto channels = [&] { return random.Below(2) == 0 ? random.Between(1, 40) : random.Between(64, 1300); };
  Launch launch;
  launch.kind = kind, launch.pass = pass, launch.accumulate = random.Below(2) == 0;
  launch.shape.in = {.n = random.Between(1, 70), .c = channels(), .h = side, .w = side};
  launch.shape.out = {
      .n = launch.shape.in.n, .c = channels(), .h = (side - 1) / stride + 1, .w = (side - 1) / stride + 1};
  launch.shape.window = {1, window, window};
  launch.shape.stride = {1, stride, stride};
  launch.shape.pad = {0, window / 2, window / 2};
  launch.shape.operands = random.Between(0, 2);
  return launch;
}

// True: the law's time of some launch depends on the parameter.
bool IsRead(const KernelForm& form, std::size_t parameter) {
  Random random(1);
  const std::vector<double> usual = StartValues(form.parameters);
  std::vector<double> other = usual;
  other[parameter] = form.parameters[parameter].upper;
  for (int tries = 0; tries < 20'000; ++tries) {
    const Launch launch = AnyLaunch(static_cast<OpKind>(random.Below(static_cast<int>(kLastOpKind) + 1)),
                                    static_cast<Pass>(random.Below(static_cast<int>(Pass::kUpdate) + 1)), random);
    const Chip chip{.peak_flops = 15700, .memory_bandwidth = 900, .multiprocessors = 80, .l2_bytes = 40 << 20};
    if (form.Applies(launch) && form.time(launch, chip, usual) != form.time(launch, chip, other)) return true;
  }
  return false;
}

TEST_CASE("every law reads all of its parameters") {
  for (const KernelForm& form : KernelForms()) {
    for (std::size_t i = 0; i < form.parameters.size(); ++i) {
      INFO(form.name << ' ' << form.parameters[i].name);
      CHECK(IsRead(form, i));
    }
  }
}

}  // namespace
}  // namespace spillway

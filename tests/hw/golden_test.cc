#include "tests/golden.h"

#include <filesystem>

using spillway::FirstDifference;
using spillway::GoldenDifference;

TEST_CASE("the first differing line is named with its number") {
  CHECK(FirstDifference("a\nb\nc\n", "a\nB\nC\n") == "line 2:\n  golden: b\n  actual: B");
  CHECK(FirstDifference("a\n", "a\nb\n") == "line 2:\n  golden: (end)\n  actual: b");
  CHECK(FirstDifference("a\nb\n", "a\n") == "line 2:\n  golden: b\n  actual: (end)");
  CHECK(FirstDifference("a\n", "a") == "the newline at the end");
  CHECK(FirstDifference("a\n", "a\n") == "");
}

TEST_CASE("a text without a golden one fails and is kept for approval") {
  namespace fs = std::filesystem;
  const fs::path kept = fs::path(SPILLWAY_GOLDEN_ACTUAL_DIR) / "never_approved.txt";
  CHECK(GoldenDifference("never_approved", "text\n") ==
        "tests/golden/never_approved.txt: there is no golden text yet\n(tests/approve accepts the new text)");
  CHECK(fs::file_size(kept) == 5);
  fs::remove(kept);
}

TEST_CASE("a text equal to its golden one passes and leaves nothing behind") {
  CHECK_GOLDEN("example", "compute  k0 k1\nh2d      c0\n");
  CHECK_FALSE(std::filesystem::exists(std::filesystem::path(SPILLWAY_GOLDEN_ACTUAL_DIR) / "example.txt"));
}

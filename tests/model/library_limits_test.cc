// Calls that a library refuses for the number of elements of a tensor.
#include "model/cost/library_limits.h"

#include <catch2/catch.hpp>
#include <set>

namespace spillway {
namespace {

// Forward over `n` samples of 3 x h x w, to `out` channels of the same size.
Launch Convolution(std::int64_t n, std::int64_t out, std::int64_t side) {
  Launch launch;
  launch.kind = OpKind::kConvolution;
  launch.shape.in = {.n = n, .c = 3, .h = side, .w = side};
  launch.shape.out = {.n = n, .c = out, .h = side, .w = side};
  launch.shape.window = {1, 3, 3};
  return launch;
}

}  // namespace

TEST_CASE("a convolution of 2^31 elements is refused whole, one below is not") {
  // 64 x 224 x 224 = 3,211,264 elements a sample: 668 are 2,145,124,352, 669 are 2,148,335,616.
  CHECK(LargeTensorRefusal(Convolution(668, 64, 224), "").empty());
  CHECK(
      LargeTensorRefusal(Convolution(669, 64, 224), "") ==
      "library_limit: a tensor of 2148335616 elements; cuDNN before 9.3 takes convolutions of up to 2147483647: 668 of "
      "669 samples in one call (no version is named: one before 9.3 is assumed)");
  // Exactly 2^31; and a single sample that no batch divides.
  CHECK_FALSE(LargeTensorRefusal(Convolution(2, 1024, 1024), "8.9").empty());
  CHECK(LargeTensorRefusal(Convolution(1, 1024, 1024), "8.9").empty());
  CHECK_THAT(LargeTensorRefusal(Convolution(1, 2048, 1024), ""), Catch::Contains("0 of 1 samples in one call"));
  // The input counts as well, whatever the pass.
  Launch wide = Convolution(669, 1, 224);
  wide.shape.in.c = 64;
  wide.pass = Pass::kBackwardFilter;
  CHECK_FALSE(LargeTensorRefusal(wide, "7.6.5").empty());
}

TEST_CASE("versions from 9.3 on take large tensors, and what is not known is not refused") {
  for (const char* version : {"9.3", "9.3.0", "9.10", "10.0"}) {
    CHECK(LargeTensorRefusal(Convolution(669, 64, 224), version).empty());
  }
  for (const char* version : {"", "7.6", "8.9.7", "9.2", "9", "unknown"}) {
    CHECK_FALSE(LargeTensorRefusal(Convolution(669, 64, 224), version).empty());
  }
  Launch norm = Convolution(669, 64, 224);
  norm.kind = OpKind::kBatchNorm;
  CHECK(LargeTensorRefusal(norm, "").empty());
}

TEST_CASE("every row of the table has a source, and no call has two") {
  std::set<std::string> seen;
  for (const LibraryLimit& limit : LibraryLimits()) {
    const std::string op = limit.op ? std::to_string(static_cast<int>(*limit.op)) : "all";
    CHECK(seen.insert(std::string(limit.library) + "/" + op + "/" + limit.versions).second);
    CHECK(std::string(limit.source).size() > 10);
    CHECK(std::string(LargeTensorsName(limit.large)) != "");
  }
}

}  // namespace spillway

// Sparse memory holds what an array would.
#include "tests/cuda/sparse_memory.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <vector>

#include "model/util/hash.h"

namespace spillway {
namespace {

constexpr std::size_t kSize = 200;

// Addresses only: nothing is there.
const char* At(std::size_t offset) { return reinterpret_cast<const char*>(std::uintptr_t{1} << 40) + offset; }

std::vector<unsigned char> Contents(const SparseMemory& memory) {
  std::vector<unsigned char> bytes(kSize, 77);
  memory.Fetch(bytes.data(), At(0), kSize);
  return bytes;
}

}  // namespace

TEST_CASE("sparse memory holds 80 GB of one byte, and what is brought into them") {
  SparseMemory memory;
  memory.Fill(At(0), 0xff, 80 * kGB);
  const std::vector<unsigned char> brought = {1, 2, 3, 4};
  memory.Bring(At(40'000'000'000), brought.data(), 4);
  std::vector<unsigned char> found(6);
  memory.Fetch(found.data(), At(39'999'999'999), 6);
  CHECK(found == std::vector<unsigned char>{0xff, 1, 2, 3, 4, 0xff});
  CHECK(memory.ranges() == 3);
  memory.Copy(At(0), At(20'000'000'000), 40 * kGB);
  memory.Fetch(found.data(), At(19'999'999'999), 6);
  CHECK(found == std::vector<unsigned char>{0xff, 1, 2, 3, 4, 0xff});
  memory.Forget(At(0), 80 * kGB);
  CHECK(memory.ranges() == 0);
  CHECK(Contents(memory) == std::vector<unsigned char>(kSize, 0));
}

TEST_CASE("a touch empties what repeats one byte, and leaves what was brought") {
  SparseMemory memory;
  const std::vector<unsigned char> brought = {0xff, 0xff};
  memory.Fill(At(0), 0xff, 10);
  memory.Bring(At(4), brought.data(), 2);
  memory.Touch(At(3), 4);
  std::vector<unsigned char> found(10);
  memory.Fetch(found.data(), At(0), 10);
  CHECK(found == std::vector<unsigned char>{0xff, 0xff, 0xff, 0, 0xff, 0xff, 0, 0xff, 0xff, 0xff});
}

TEST_CASE("sparse memory and an array, whatever is done to both") {
  std::uint64_t drawn = 0;
  SparseMemory memory;
  std::vector<unsigned char> array(kSize, 0);
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(SplitMix(++drawn * kGolden) % limit); };
  for (int k = 0; k < 3000; ++k) {
    const std::size_t at = below(kSize), bytes = below(kSize - at + 1), from = below(kSize - bytes + 1);
    const auto value = static_cast<unsigned char>(below(3));
    std::vector<unsigned char> brought(bytes);
    for (unsigned char& byte : brought) byte = static_cast<unsigned char>(below(256));
    switch (below(3)) {
      case 0:
        memory.Fill(At(at), value, static_cast<Bytes>(bytes));
        std::fill_n(array.begin() + static_cast<std::ptrdiff_t>(at), bytes, value);
        break;
      case 1:
        memory.Bring(At(at), brought.data(), static_cast<Bytes>(bytes));
        std::copy(brought.begin(), brought.end(), array.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      default:
        memory.Copy(At(at), At(from), static_cast<Bytes>(bytes));
        std::memmove(array.data() + at, array.data() + from, bytes);
    }
    REQUIRE(Contents(memory) == array);
  }
}

}  // namespace spillway

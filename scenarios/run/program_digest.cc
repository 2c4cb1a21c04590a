#include "scenarios/run/program_digest.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <vector>

#include "model/hash.h"

namespace spillway {

// Eight bytes at a time: a program has many megabytes.
std::string FileDigest(const std::string& path) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::ifstream file(path, std::ios::binary);
  Hasher hash;
  std::uint64_t size = 0;
  for (std::vector<char> bytes(kPiece); file;) {
    file.read(bytes.data(), kPiece);
    const auto count = static_cast<std::size_t>(file.gcount());
    std::memset(bytes.data() + count, 0, kPiece - count);
    for (std::size_t at = 0; at < count; at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, sizeof word);
      hash.Add(word);
    }
    size += count;
  }
  return size == 0 ? "unknown" : fmt::format("{:016x}", hash.Add(size).Value());
}

const std::string& ProgramDigest() {
  static const std::string digest = FileDigest("/proc/self/exe");
  return digest;
}

}  // namespace spillway

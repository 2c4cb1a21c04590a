#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "calibrate/devices/cuda/bench_checks.h"
#include "model/util/hash.h"

namespace spillway {
namespace {

constexpr Bytes kWord = 8;
// No multiple of the pages and blocks that a copy in one piece is cut into.
constexpr Bytes kPiece = 100 * 4 * kKiB + 24 * kWord;
constexpr unsigned char kCleared = 0xa5;  // what is not the pattern of either direction

// What lies at each place: other numbers for each direction, so that what one left is not taken for the other's.
std::uint64_t WordAt(Direction direction, Bytes place) {
  return SplitMix(kGolden *
                  (2 * static_cast<std::uint64_t>(place / kWord) + static_cast<std::uint64_t>(direction) + 1));
}

// Holds what arrives, piece by piece, against what was sent.
class Comparison {
 public:
  explicit Comparison(Direction direction) : direction_(direction) {}
  void Add(std::span<const std::byte> piece);
  // "" if all is as it should be.
  std::string Told(Bytes bytes, const char* way) const;

 private:
  Direction direction_;
  Bytes place_ = 0, wrong_ = -1;  // wrong_: where the first word lies that is another one
  std::uint64_t sent_ = 0, arrived_ = 0;
};

void Comparison::Add(std::span<const std::byte> piece) {
  for (std::size_t at = 0; at < piece.size(); at += kWord, place_ += kWord) {
    const std::uint64_t sent = WordAt(direction_, place_);
    std::uint64_t arrived = 0;
    std::memcpy(&arrived, piece.data() + at, kWord);
    sent_ = SplitMix(sent_ ^ sent);
    arrived_ = SplitMix(arrived_ ^ arrived);
    if (arrived != sent && wrong_ < 0) wrong_ = place_;
  }
}

std::string Comparison::Told(Bytes bytes, const char* way) const {
  if (sent_ == arrived_ && wrong_ < 0) return "";
  return fmt::format(
      "{} copies of pinned memory do not arrive as they were sent: of {} in one copy the 8 bytes from {} on are "
      "others; checksum {:016x} expected, {:016x} found ({}); nothing is measured in this direction",
      direction_ == Direction::kHostToDevice ? "h2d" : "d2h", FormatBytes(bytes), wrong_, sent_, arrived_, way);
}

void Write(Direction direction, Bytes place, std::span<std::byte> piece) {
  for (std::size_t at = 0; at < piece.size(); at += kWord, place += kWord) {
    const std::uint64_t word = WordAt(direction, place);
    std::memcpy(piece.data() + at, &word, kWord);
  }
}

std::span<std::byte> BytesAt(std::byte* at, Bytes bytes) { return {at, static_cast<std::size_t>(bytes)}; }

// Calls `copy(place, piece)` for each piece of `bytes`; all are the same ordinary memory.
template <typename Copy>
void InPieces(CudaBenchMemory& memory, Bytes bytes, const Copy& copy) {
  std::byte* const ordinary = memory.Block("checked", CudaPlace::kPageable).AtLeast(kPiece);
  for (Bytes place = 0; place < bytes; place += kPiece) copy(place, BytesAt(ordinary, std::min(kPiece, bytes - place)));
}

}  // namespace

void CudaCopyCheck::Check(Direction direction, CudaStream* stream) {
  if (bytes_ == 0) return;
  std::optional<std::string>& found = found_[static_cast<std::size_t>(direction)];
  if (!found) found = direction == Direction::kHostToDevice ? CheckToDevice(stream) : CheckToHost(stream);
  if (!found->empty()) throw WrongCopy(*found);
}

std::string CudaCopyCheck::CheckToDevice(CudaStream* stream) {
  constexpr Direction kThere = Direction::kHostToDevice, kBack = Direction::kDeviceToHost;
  std::byte *const device = Device(), *const pinned = Pinned();
  Write(kThere, 0, BytesAt(pinned, bytes_));
  calls_.Fill(device, kCleared, bytes_, stream);
  calls_.Copy(device, pinned, bytes_, kThere, stream);
  calls_.Synchronize(stream);
  Comparison comparison(kThere);
  InPieces(memory_, bytes_, [&](Bytes place, std::span<std::byte> piece) {
    calls_.Copy(piece.data(), device + place, static_cast<Bytes>(piece.size()), kBack, stream);
    calls_.Synchronize(stream);
    comparison.Add(piece);
  });
  return comparison.Told(bytes_, "read back in small pieces through ordinary memory");
}

std::string CudaCopyCheck::CheckToHost(CudaStream* stream) {
  constexpr Direction kThere = Direction::kDeviceToHost, kBack = Direction::kHostToDevice;
  std::byte *const device = Device(), *const pinned = Pinned();
  InPieces(memory_, bytes_, [&](Bytes place, std::span<std::byte> piece) {
    Write(kThere, place, piece);
    calls_.Copy(device + place, piece.data(), static_cast<Bytes>(piece.size()), kBack, stream);
    calls_.Synchronize(stream);
  });
  std::memset(pinned, kCleared, static_cast<std::size_t>(bytes_));
  calls_.Copy(pinned, device, bytes_, kThere, stream);
  calls_.Synchronize(stream);
  Comparison comparison(kThere);
  comparison.Add(BytesAt(pinned, bytes_));
  return comparison.Told(bytes_, "put there in small pieces through ordinary memory");
}

}  // namespace spillway

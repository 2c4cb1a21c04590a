#include "reports/html/packed.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "hw/text/document.h"

namespace spillway {

namespace {

constexpr int kGzipWindow = 15 + 16;

Bytef* ZlibBytes(std::string_view text) { return reinterpret_cast<Bytef*>(const_cast<char*>(text.data())); }

}  // namespace

std::string Gzip(std::string_view text) { return *GzipWithin(text, std::string::npos); }

std::optional<std::string> GzipWithin(std::string_view text, std::size_t most) {
  constexpr int kLevel = 6, kMemory = 8;
  z_stream stream{};
  if (deflateInit2(&stream, kLevel, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::logic_error("zlib is another version than it was compiled for");
  }
  std::string out(std::min<std::size_t>(most, deflateBound(&stream, text.size())), '\0');
  stream.next_in = ZlibBytes(text);
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = ZlibBytes(out);
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  const bool full = stream.avail_out == 0;
  deflateEnd(&stream);
  if (status != Z_STREAM_END && full) return std::nullopt;
  if (status != Z_STREAM_END) throw std::logic_error("zlib did not finish");
  return out;
}

std::string Base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) text += k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

std::string Unpacked(std::string bytes, const std::string& file, std::size_t most) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  if (!bytes.starts_with("\x1f\x8b")) return bytes;
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) {
    throw std::logic_error("zlib is another version than it was compiled for");
  }
  stream.next_in = ZlibBytes(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  int status = Z_OK;
  while (status == Z_OK && out.size() <= most) {
    out.resize(stream.total_out + kPiece);
    stream.next_out = ZlibBytes(out) + stream.total_out;
    stream.avail_out = static_cast<uInt>(kPiece);
    status = inflate(&stream, Z_NO_FLUSH);
    out.resize(stream.total_out);
  }
  inflateEnd(&stream);
  if (status == Z_STREAM_END && out.size() <= most) return out;
  throw UserError(fmt::format("{}: error: compressed (gzip), and {}", file,
                              out.size() > most ? fmt::format("more than {} bytes", most) : "damaged or cut off"));
}

}  // namespace spillway

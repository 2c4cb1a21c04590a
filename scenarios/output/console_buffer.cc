#include "scenarios/output/console_buffer.h"

#include <fmt/format.h>

#include <cerrno>

#include "hw/text/text_file.h"

namespace spillway {

namespace {

std::string Hex(char byte) { return fmt::format("\\x{:02x}", static_cast<unsigned char>(byte)); }

// Whether more bytes could still make a character of these.
bool MayGoOn(std::string_view text) {
  constexpr std::size_t kLongest = 4;
  for (std::string more(text); more.size() < kLongest;) {
    more += '\x90';  // follows every lead byte but two
    if (CharacterLength(more) == more.size()) return true;
  }
  const auto lead = static_cast<unsigned char>(text.front());
  return text.size() == 1 && (lead == 0xE0 || lead == 0xF4);
}

// Appends the first character of `text` as it shall be seen; the bytes it took, 0: the rest of it is missing.
std::size_t AppendSeen(std::string_view text, std::string& seen) {
  const std::size_t length = CharacterLength(text);
  if (length == 0 && MayGoOn(text)) return 0;
  const auto byte = static_cast<unsigned char>(text.front());
  const bool control = length == 1 && (byte < 0x20 || byte == 0x7F) && byte != '\t' && byte != '\n';
  if (length == 0 || control) {
    seen += Hex(text.front());
    return 1;
  }
  const auto second = static_cast<unsigned char>(length == 2 ? text[1] : 0);
  if (byte == 0xC2 && second < 0xA0) {
    seen += fmt::format("\\u00{:02x}", second);
  } else {
    seen += text.substr(0, length);
  }
  return length;
}

}  // namespace

ConsoleBuffer::~ConsoleBuffer() {
  std::string seen;
  for (const char byte : begun_) seen += Hex(byte);
  if (!seen.empty()) Pass(seen);
}

bool ConsoleBuffer::Failed() {
  if (error_ == 0) error_ = errno;
  return false;
}

bool ConsoleBuffer::Pass(std::string_view text) {
  errno = 0;
  to_.write(text.data(), static_cast<std::streamsize>(text.size()));
  return to_.good() || Failed();
}

std::streamsize ConsoleBuffer::xsputn(const char* text, std::streamsize count) {
  std::string_view rest(text, static_cast<std::size_t>(count));
  if (!quote_) return Pass(rest) ? count : 0;
  const std::string all = begun_ + std::string(rest);
  rest = all;
  std::string seen;
  while (!rest.empty()) {
    const std::size_t taken = AppendSeen(rest, seen);
    if (taken == 0) break;
    rest.remove_prefix(taken);
  }
  begun_ = rest;
  return Pass(seen) ? count : 0;
}

ConsoleBuffer::int_type ConsoleBuffer::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char byte = traits_type::to_char_type(c);
  return xsputn(&byte, 1) == 1 ? c : traits_type::eof();
}

int ConsoleBuffer::sync() {
  errno = 0;
  to_.flush();
  return to_.good() || Failed() ? 0 : -1;
}

}  // namespace spillway

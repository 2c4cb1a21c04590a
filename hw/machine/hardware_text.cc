#include "hw/machine/hardware_text.h"

#include <fmt/format.h>

namespace spillway {

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      quoted += fmt::format("\\x{:02x}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string SourceText(const Source& source) {
  return fmt::format("{{{}: {}}}", SourceKindName(source.kind), Quoted(source.text));
}

Source ReadSource(MapReader& reader, Diagnostics& diagnostics) {
  const Node* node = reader.Required("source");
  if (node == nullptr) return {};
  Source source;
  MapReader kinds(*node, diagnostics, "source", SourceKeys());
  int given = 0;
  for (const Source::Kind kind : {Source::Kind::kMeasured, Source::Kind::kPublished, Source::Kind::kAssumed}) {
    const std::string text = kinds.StringOr(SourceKindName(kind), "");
    if (text.empty()) continue;
    source = {kind, text};
    ++given;
  }
  kinds.Finish();
  if (given != 1 && node->IsMap()) {
    diagnostics.Error(node->mark, "source: expected exactly one of measured, published, assumed, with a text");
  }
  return source;
}

ChipPeaks ReadPeaks(MapReader& reader, Diagnostics& diagnostics) {
  constexpr const char* kNotPositive = "must be more than zero";
  const Node* const node = reader.Required("peak");
  ChipPeaks peaks;
  if (node == nullptr || !node->IsMap()) {
    if (node != nullptr) peaks.fp32 = reader.RequiredFlopRate("peak");
    reader.Check(peaks.fp32 > 0, "peak", kNotPositive);
    return peaks;
  }
  MapReader modes(*node, diagnostics, "peak", PeakKeys());
  peaks.fp32 = modes.RequiredFlopRate("fp32");
  peaks.others = {
      .tf32 = modes.FlopRateOr("tf32", 0), .fp16 = modes.FlopRateOr("fp16", 0), .bf16 = modes.FlopRateOr("bf16", 0)};
  peaks.others_source = ReadSource(modes, diagnostics);
  modes.Finish();
  modes.Check(peaks.fp32 > 0, "fp32", kNotPositive);
  for (const MathMode mode : {MathMode::kTf32, MathMode::kFp16, MathMode::kBf16}) {
    modes.Check(peaks.others.Of(mode) > 0, MathModeName(mode), kNotPositive);
  }
  return peaks;
}

}  // namespace spillway

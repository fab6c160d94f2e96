#include "common/base/printable.h"

#include <array>
#include <cstdint>
#include <optional>

namespace noisefloor {

namespace {

constexpr std::string_view kNoCharacter = "\uFFFD";

// Bytes of the character that begins so; 0: none begins so.
size_t LengthOf(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xC2) return 0;
  if (first < 0xE0) return 2;
  if (first < 0xF0) return 3;
  return first < 0xF5 ? 4 : 0;
}

// The whole character at the start of `bytes`; nothing when it is none.
std::optional<uint32_t> Decode(std::string_view bytes) {
  static constexpr std::array<uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  static constexpr std::array<unsigned char, 5> kMask = {0, 0x7F, 0x1F, 0x0F, 0x07};
  uint32_t point = static_cast<unsigned char>(bytes[0]) & kMask[bytes.size()];
  for (const char c : bytes.substr(1)) {
    point = point << 6 | (static_cast<unsigned char>(c) & 0x3F);
  }
  const bool surrogate = point >= 0xD800 && point < 0xE000;
  if (point < kLeast[bytes.size()] || point > 0x10FFFF || surrogate) return std::nullopt;
  return point;
}

bool IsShown(uint32_t point) {
  if (point == '\n' || point == '\t') return true;
  if (point < 0x20 || (point >= 0x7F && point < 0xA0)) return false;
  const bool turns = point == 0x061C || point == 0x200E || point == 0x200F ||
                     (point >= 0x202A && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069);
  const bool breaks = point == 0x2028 || point == 0x2029;
  return !turns && !breaks;
}

std::string Escaped(uint32_t point, EscapeStyle style) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const bool shortly = style == EscapeStyle::kText && point < 0x100;
  std::string text = shortly ? "\\x" : "\\u";
  for (int shift = shortly ? 4 : 12; shift >= 0; shift -= 4) text += kDigits[point >> shift & 15];
  return text;
}

}  // namespace

std::string PrintableText::Take(std::string_view piece) {
  std::string text;
  const std::string joined = begun_ + std::string(piece);
  begun_.clear();
  for (size_t i = 0; i < joined.size();) {
    const size_t length = LengthOf(static_cast<unsigned char>(joined[i]));
    size_t there = 1;
    while (there < length && i + there < joined.size() &&
           (static_cast<unsigned char>(joined[i + there]) & 0xC0) == 0x80) {
      ++there;
    }
    const std::string_view bytes = std::string_view(joined).substr(i, there);
    if (there < length && i + there == joined.size()) {
      begun_ = bytes;
      break;
    }
    i += there;
    const auto point = there == length ? Decode(bytes) : std::nullopt;
    if (!point) {
      text += kNoCharacter;
    } else if (IsShown(*point)) {
      text += bytes;
    } else {
      text += Escaped(*point, style_);
    }
  }
  return text;
}

std::string PrintableText::Rest() {
  const bool unfinished = !begun_.empty();
  begun_.clear();
  return unfinished ? std::string(kNoCharacter) : "";
}

std::string Printable(std::string_view text, EscapeStyle style) {
  PrintableText whole(style);
  const std::string shown = whole.Take(text);
  return shown + whole.Rest();
}

std::string PrintableLine(std::string_view text) {
  std::string line;
  for (const char c : Printable(text)) {
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\t') {
      line += "\\t";
    } else {
      line += c;
    }
  }
  return line;
}

}  // namespace noisefloor

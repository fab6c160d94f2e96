#include "coordinator/cli/terminal_text.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace noisefloor::cli {

namespace {

std::string_view CodeOf(Style style) {
  switch (style) {
    case Style::kBold: return "\033[1m";
    case Style::kPlain: return "\033[0m";
    case Style::kClearLine: return "\r\033[K";
    case Style::kClearToRight: return "\033[K";
    case Style::kLineStart: return "\r";
  }
  return "";
}

// Length of the colour at the start of `text`; 0 when there is none.
size_t ColourLength(std::string_view text) {
  if (!text.starts_with("\033[")) return 0;
  const auto digits = text.substr(2);
  const size_t end = static_cast<size_t>(
      std::ranges::find_if_not(digits, [](unsigned char c) { return absl::ascii_isdigit(c); }) -
      digits.begin());
  return end < digits.size() && digits[end] == 'm' ? end + 3 : 0;
}

}  // namespace

bool TerminalText::WriteNext(std::string_view bytes) {
  return next_.sputn(bytes.data(), static_cast<std::streamsize>(bytes.size())) ==
         static_cast<std::streamsize>(bytes.size());
}

bool TerminalText::WriteRaw(std::string_view bytes) {
  return WriteNext(text_.Rest()) && WriteNext(bytes);
}

TerminalText::int_type TerminalText::overflow(int_type character) {
  if (traits_type::eq_int_type(character, traits_type::eof())) return 0;
  const char one = traits_type::to_char_type(character);
  return xsputn(&one, 1) == 1 ? character : traits_type::eof();
}

std::streamsize TerminalText::xsputn(const char* text, std::streamsize size) {
  return WriteNext(text_.Take({text, static_cast<size_t>(size)})) ? size : 0;
}

int TerminalText::sync() { return next_.pubsync(); }

TerminalGuard::TerminalGuard(std::ostream& stream, EscapeStyle style)
    : stream_(stream), before_(*stream.rdbuf()), text_(before_, style) {
  stream_.rdbuf(&text_);
}

TerminalGuard::~TerminalGuard() {
  (void)text_.WriteRaw("");
  const auto state = stream_.rdstate();  // rdbuf() would clear it.
  stream_.rdbuf(&before_);
  stream_.setstate(state);
}

std::ostream& operator<<(std::ostream& out, Style style) {
  WriteRaw(out, CodeOf(style));
  return out;
}

void WriteRaw(std::ostream& out, std::string_view bytes) {
  if (auto* text = dynamic_cast<TerminalText*>(out.rdbuf())) {
    if (!text->WriteRaw(bytes)) out.setstate(std::ios::badbit);
  } else {
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
}

void WriteColoured(std::ostream& out, std::string_view text) {
  while (!text.empty()) {
    if (const size_t colour = ColourLength(text); colour > 0) {
      WriteRaw(out, text.substr(0, colour));
      text.remove_prefix(colour);
      continue;
    }
    const size_t plain = std::min(text.size(), text.find('\033', 1));
    out << text.substr(0, plain);
    text.remove_prefix(plain);
  }
}

}  // namespace noisefloor::cli

// The one place through which all that commands print goes: characters that would speak to the
// terminal are written out, whatever their source. What we say to the terminal ourselves are
// Styles. One thread.
#pragma once

#include <ostream>
#include <streambuf>
#include <string_view>

#include "common/base/printable.h"

namespace noisefloor::cli {

enum class Style {
  kBold,
  kPlain,
  kClearLine,     // To its start, and away with it.
  kClearToRight,  // What is behind the cursor.
  kLineStart,     // Back to it; the line stays until it is written over.
};

// Stands before the buffer of a stream.
class TerminalText final : public std::streambuf {
 public:
  // `next` outlives it.
  TerminalText(std::streambuf& next, EscapeStyle style) : next_(next), text_(style) {}

  // As it is: our own styles, and data on its way to a file.
  bool WriteRaw(std::string_view bytes);

 private:
  int_type overflow(int_type character) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;
  bool WriteNext(std::string_view bytes);

  std::streambuf& next_;
  PrintableText text_;
};

// Puts itself before a stream's buffer and takes itself out again.
class TerminalGuard {
 public:
  TerminalGuard(std::ostream& stream, EscapeStyle style);
  ~TerminalGuard();
  TerminalGuard(const TerminalGuard&) = delete;
  TerminalGuard& operator=(const TerminalGuard&) = delete;

 private:
  std::ostream& stream_;
  std::streambuf& before_;
  TerminalText text_;
};

std::ostream& operator<<(std::ostream& out, Style style);

// Bytes that must arrive unchanged: a file's content, a log, CSV.
void WriteRaw(std::ostream& out, std::string_view bytes);
// Text that may hold colours ("ESC [ number m"), which stay; nothing else of that kind does.
void WriteColoured(std::ostream& out, std::string_view text);

}  // namespace noisefloor::cli

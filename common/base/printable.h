// Text of any source made fit for a terminal: nothing in it moves the cursor, sets a title, rings,
// or turns the direction of reading. Newlines and tabs stay. Pure.
#pragma once

#include <string>
#include <string_view>

namespace noisefloor {

// How a character that must not be shown is written: "\x1b" for people, "\u001b" inside JSON.
enum class EscapeStyle { kText, kJson };

// Text that comes in pieces; one may end inside a character. Bytes that are no UTF-8 become U+FFFD.
class PrintableText {
 public:
  explicit PrintableText(EscapeStyle style) : style_(style) {}

  // What of all pieces so far can be shown and was not returned yet.
  std::string Take(std::string_view piece);
  // What the last piece left unfinished.
  std::string Rest();

 private:
  const EscapeStyle style_;
  std::string begun_;  // The first bytes of a character.
};

std::string Printable(std::string_view text, EscapeStyle style = EscapeStyle::kText);
// Newlines and tabs are written out, too ("\n"), so that it stays one line, or one cell of a table.
std::string PrintableLine(std::string_view text);

}  // namespace noisefloor

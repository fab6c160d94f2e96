// A page of text under construction: headings, paragraphs and tables for one screen. Internal to
// this folder.
#pragma once

#include <string>
#include <vector>

#include "fmt/format.h"

#include "coordinator/report/layout.h"
#include "coordinator/report/table.h"

namespace noisefloor::report {

class TextPage {
 public:
  explicit TextPage(const Screen& screen) : screen_(screen) {}
  void Heading(const std::string& text) {
    text_ += text_.empty() ? "" : "\n";
    text_ += WrapParagraph(Painted(text, "1"), screen_.columns, 0);
  }
  void Line(const std::string& text) { text_ += WrapParagraph(text, screen_.columns); }
  void Table(const std::vector<std::string>& header, const TextRows& rows) {
    text_ += AlignColumns(header, rows, screen_.columns);
  }
  std::string Painted(const std::string& text, const char* code) const {
    return screen_.colour == Colour::kOn ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  }
  const std::string& text() const { return text_; }

 private:
  const Screen screen_;
  std::string text_;
};

}  // namespace noisefloor::report

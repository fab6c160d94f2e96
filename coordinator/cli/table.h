// Rows and columns for people, as wide as the terminal at most.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/cli/command.h"

namespace noisefloor::cli {

// Columns as wide as their widest cell; the last one is not padded. Numbers align themselves to the
// right when every cell below the title is a number. Where the terminal is narrower, cells of
// several words are broken at spaces; what still does not fit goes on in a second table below, with
// the first column again.
class Table {
 public:
  explicit Table(std::vector<std::string> titles) { Add(std::move(titles)); }
  void Add(std::vector<std::string> cells);  // Made printable.
  bool empty() const { return rows_.size() == 1; }
  void Print(const Context& context) const;
  // `columns` 0: as wide as it likes.
  void Print(std::ostream& out, bool bold_titles, size_t columns) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// What an empty cell shows.
inline std::string OrDash(std::string text) { return text.empty() ? "-" : text; }

// A paragraph broken at spaces into lines of at most `columns` (0: any) characters, all but the
// first indented by two; words that are longer stay whole. Ends with a newline.
std::string Wrapped(std::string_view text, size_t columns);

}  // namespace noisefloor::cli

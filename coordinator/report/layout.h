// Text laid out for a screen of so many columns. UTF-8; widths count code points, and sequences
// that set colours take no place. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace noisefloor::report {

using TextRows = std::vector<std::vector<std::string>>;

size_t ScreenWidth(std::string_view text);

// Rows as columns, aligned; the first column to the left, the others to the right. Every row has as
// many entries as `header`. A table wider than `columns` (0: no limit) is cut into several of whole
// columns, each with the first one before it and an empty line between.
std::string AlignColumns(const std::vector<std::string>& header, const TextRows& rows,
                         size_t columns = 0);

// One paragraph, indented and, where it goes on, by 2 more; broken at spaces. A word wider than
// `columns` (0: no limit) stays whole. Ends with a newline.
std::string WrapParagraph(std::string_view text, size_t columns = 0, size_t indent = 2);

}  // namespace noisefloor::report

// Texts in CSV as spreadsheets and data frames read it (RFC 4180).
#pragma once

#include <string>
#include <string_view>

namespace noisefloor {

// A field with quotes where it needs them. A text that a spreadsheet would take for a formula gets
// an apostrophe, which makes it a text; a number, "-inf" among them, stays what it is.
std::string CsvField(std::string_view text);

}  // namespace noisefloor

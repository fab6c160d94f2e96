#include "common/base/csv.h"

#include <charconv>
#include <system_error>

namespace noisefloor {

namespace {

// "-1.5", "-inf": programs read it as it is, and no spreadsheet computes anything of it.
bool IsNumber(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string CsvField(std::string_view text) {
  const bool formula = text.find_first_of("=+-@\t\r") == 0 && !IsNumber(text);
  std::string field = formula ? "'" : "";
  field.append(text);
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string quoted = "\"";
  for (const char c : field) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

}  // namespace noisefloor

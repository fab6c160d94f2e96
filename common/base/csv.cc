#include "common/base/csv.h"

namespace noisefloor {

std::string CsvField(std::string_view text) {
  const bool formula = text.find_first_of("=+-@\t\r") == 0;
  std::string field = formula ? "'" : "";
  field.append(text);
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string quoted = "\"";
  for (const char c : field) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

}  // namespace noisefloor

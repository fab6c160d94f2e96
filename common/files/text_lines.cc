#include "common/files/text_lines.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/base/utf8.h"

namespace noisefloor {

absl::Status AtLine(const std::string& path, int64_t line, std::string_view what) {
  return InvalidInput(fmt::format("{}:{}: {}", path, line, what));
}

absl::StatusOr<std::string_view> TextLines::Next() {
  ++number_;
  const size_t end = std::min(rest_.find('\n'), rest_.size());
  std::string_view line = rest_.substr(0, end);
  rest_.remove_prefix(std::min(end + 1, rest_.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.size() > most_bytes_) {
    return Wrong(fmt::format("{} bytes; expected at most {}", line.size(), most_bytes_));
  }
  if (!IsUtf8(line)) return Wrong("not UTF-8");
  if (line.find('\0') != std::string_view::npos) return Wrong("a byte 0");
  return line;
}

}  // namespace noisefloor

#include "coordinator/cli/duration.h"

#include <charconv>

#include "fmt/format.h"

namespace noisefloor::cli {

absl::StatusOr<int64_t> SecondsOf(std::string_view option, std::string_view text) {
  constexpr int64_t kMost = int64_t{100} * 365 * 86400;
  int64_t count = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, count);
  const std::string_view unit(at, static_cast<size_t>(end - at));
  const int64_t seconds = unit == "d"   ? 86400
                          : unit == "h" ? 3600
                          : unit == "m" ? 60
                          : unit == "s" ? 1
                                        : 0;
  if (error != std::errc() || count < 0 || seconds == 0 || count > kMost / seconds) {
    return InvalidInput(fmt::format("{}={}: expected a time such as 30d or 12h", option, text));
  }
  return count * seconds;
}

}  // namespace noisefloor::cli

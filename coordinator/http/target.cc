#include "coordinator/http/target.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

namespace noisefloor::http {

namespace {

constexpr char kDigits[] = "0123456789ABCDEF";

int ValueOf(char digit) {
  const char* const found = std::ranges::find(kDigits, absl::ascii_toupper(digit));
  return digit == '\0' || found == std::ranges::end(kDigits) ? -1
                                                             : static_cast<int>(found - kDigits);
}

bool HasControls(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return absl::ascii_iscntrl(c); });
}

}  // namespace

std::optional<std::string> PercentDecoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = ValueOf(text[i + 1]);
    const int low = ValueOf(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

std::string PercentEncoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    if (absl::ascii_isalnum(c) || std::string_view("-._~").find(c) != std::string_view::npos) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += {'%', kDigits[byte / 16], kDigits[byte % 16]};
  }
  return encoded;
}

std::optional<Target> ParseTarget(std::string_view target) {
  const size_t mark = std::min(target.find('?'), target.size());
  std::optional<std::string> path = PercentDecoded(target.substr(0, mark));
  if (!path || !path->starts_with('/') || path->starts_with("//") || HasControls(*path)) {
    return std::nullopt;
  }
  Target parsed{*std::move(path), {}};
  std::string query(target.substr(std::min(mark + 1, target.size())));
  std::ranges::replace(query, '+', ' ');
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(query, '&'))) {
    if (part.empty()) continue;
    const size_t equals = std::min(part.find('='), part.size());
    std::optional<std::string> name = PercentDecoded(part.substr(0, equals));
    std::optional<std::string> value =
        PercentDecoded(part.substr(std::min(equals + 1, part.size())));
    if (!name || !value) return std::nullopt;
    parsed.query.emplace_back(*std::move(name), *std::move(value));
  }
  return parsed;
}

}  // namespace noisefloor::http

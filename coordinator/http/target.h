// The target of a request as a path and its query. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace noisefloor::http {

// Percent signs and two digits as the byte they stand for, '+' as it is; nothing when two digits do
// not follow. RFC 3986, 2.1.
std::optional<std::string> PercentDecoded(std::string_view text);
// What is not unreserved (RFC 3986, 2.3) encoded.
std::string PercentEncoded(std::string_view text);

struct Target {
  std::string path;                                        // "/sweeps/3"
  std::vector<std::pair<std::string, std::string>> query;  // In order; '+' is a space there.
};

// Nothing: not a path in origin form (RFC 9112, 3.2.1), with control characters in it, or one that
// begins with two slashes, which a browser takes for another host.
std::optional<Target> ParseTarget(std::string_view target);

}  // namespace noisefloor::http

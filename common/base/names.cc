#include "common/base/names.h"

namespace noisefloor {

bool IsName(std::string_view text) {
  constexpr size_t kMostBytes = 100;
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  return !text.empty() && text.size() <= kMostBytes &&
         text.find_first_not_of(kAllowed) == std::string_view::npos;
}

}  // namespace noisefloor

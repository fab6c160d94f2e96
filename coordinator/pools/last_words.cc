#include "coordinator/pools/last_words.h"

#include <algorithm>

#include "common/files/file_tail.h"

namespace noisefloor {

namespace {

constexpr size_t kEnd = 4096;  // Bytes.
constexpr size_t kMost = 300;

}  // namespace

std::string LastWords(const std::string& path) {
  const std::string text = ReadTail(path, kEnd).value_or("");
  const size_t last = text.find_last_not_of(" \t\r\n");
  if (last == std::string::npos) return "";
  const size_t before = text.find_last_of('\n', last);
  const size_t begin = before == std::string::npos ? 0 : before + 1;
  std::string line = text.substr(begin, std::min(last + 1 - begin, kMost));
  std::ranges::replace_if(
      line, [](char c) { return c < ' ' || c > '~'; }, '?');
  return line;
}

}  // namespace noisefloor

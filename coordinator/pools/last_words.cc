#include "coordinator/pools/last_words.h"

#include <algorithm>
#include <fstream>
#include <string_view>

namespace noisefloor {

namespace {

constexpr std::streamoff kEnd = 4096;
constexpr size_t kMost = 300;

std::string EndOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : 0;
  if (size <= 0) return "";
  std::string text(static_cast<size_t>(std::min(size, kEnd)), '\0');
  file.seekg(size - static_cast<std::streamoff>(text.size()));
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

}  // namespace

std::string LastWords(const std::string& path) {
  const std::string text = EndOf(path);
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

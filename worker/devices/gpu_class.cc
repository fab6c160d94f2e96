#include <cctype>
#include <charconv>

#include "fmt/format.h"

#include "worker/devices/gpu.h"

namespace noisefloor {

namespace {

std::vector<std::string> LowerWords(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

bool IsAbout(std::string_view word, std::initializer_list<std::string_view> beginnings) {
  for (const std::string_view beginning : beginnings) {
    if (word.substr(0, beginning.size()) == beginning) return true;
  }
  return false;
}

bool IsMemory(std::string_view word) {
  return word.size() > 2 && word.substr(word.size() - 2) == "gb" &&
         std::isdigit(static_cast<unsigned char>(word[0]));
}

}  // namespace

std::string GpuClassOf(std::string_view name, uint64_t memory_bytes) {
  std::string result = "nvidia";
  bool has_memory = false;
  bool varies = false;
  for (const std::string& word : LowerWords(name)) {
    if (IsAbout(word, {"nvidia", "tesla", "geforce", "sxm", "pcie", "hbm", "hgx"})) continue;
    has_memory = has_memory || IsMemory(word);
    varies = varies || word == "v100" || word == "p100" || word == "a100";
    result += "-" + word;
  }
  if (varies && !has_memory) {
    // Drivers report a little less than what is sold: round up to a multiple of 4 GiB.
    const uint64_t gib = (memory_bytes + (uint64_t{1} << 30) - 1) >> 30;
    result += fmt::format("-{}gb", (gib + 3) / 4 * 4);
  }
  return result;
}

std::vector<Gpu> VisibleGpus(const std::vector<Gpu>& gpus, std::string_view visible) {
  std::vector<Gpu> chosen;
  while (!visible.empty()) {
    const size_t comma = visible.find(',');
    const std::string_view entry = visible.substr(0, comma);
    visible.remove_prefix(comma == std::string_view::npos ? visible.size() : comma + 1);
    size_t index = gpus.size();
    const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), index);
    const bool is_index = error == std::errc() && end == entry.data() + entry.size();
    if (!is_index) {
      index = gpus.size();
      for (size_t i = gpus.size(); i-- > 0;) {
        if (!entry.empty() && gpus[i].uuid.rfind(entry, 0) == 0) index = i;
      }
    }
    if (index >= gpus.size()) break;
    chosen.push_back(gpus[index]);
  }
  return chosen;
}

}  // namespace noisefloor

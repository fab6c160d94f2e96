#include "coordinator/store/page_sum.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>

namespace noisefloor {

namespace {

constexpr size_t kPageSizeAt = 16;  // Two bytes, big-endian; 1 is 65536.
constexpr size_t kReservedAt = 20;
constexpr uint32_t kLeastPage = 512;
constexpr uint32_t kMostPage = 65536;

using SumText = std::array<char, kSumBytes>;

uint32_t LittleEndian(uint32_t value) {
  return std::endian::native == std::endian::little ? value : __builtin_bswap32(value);
}

SumText SumOf(std::string_view content) {
  uint32_t one = 0;
  uint32_t two = 0;
  for (size_t at = 0; at + 8 <= content.size(); at += 8) {
    std::array<uint32_t, 2> words{};
    std::memcpy(words.data(), content.data() + at, sizeof words);
    one += LittleEndian(words[0]) + two;
    two += LittleEndian(words[1]) + one;
  }
  const std::array<uint32_t, 2> sum = {LittleEndian(one), LittleEndian(two)};
  SumText text{};
  std::memcpy(text.data(), sum.data(), sizeof text);
  return text;
}

std::string_view ContentOf(std::string_view page) {
  return page.substr(0, page.size() - kSumBytes);
}

}  // namespace

PageSum LookAtSum(std::string_view page) {
  const std::string_view kept = page.substr(page.size() - kSumBytes);
  if (std::ranges::all_of(kept, [](char byte) { return byte == 0; })) return PageSum::kNone;
  const SumText sum = SumOf(ContentOf(page));
  return std::ranges::equal(sum, kept) ? PageSum::kHolds : PageSum::kBroken;
}

void PutSum(std::span<char> page) {
  const SumText sum = SumOf(ContentOf({page.data(), page.size()}));
  std::ranges::copy(sum, page.last(kSumBytes).begin());
}

void BlankSum(std::span<char> page) { std::ranges::fill(page.last(kSumBytes), '\0'); }

PageLayout LayoutOf(std::string_view header) {
  const auto byte = [&](size_t at) {
    return static_cast<uint32_t>(static_cast<unsigned char>(header[at]));
  };
  const uint32_t said = (byte(kPageSizeAt) << 8) | byte(kPageSizeAt + 1);
  const uint32_t bytes = said == 1 ? kMostPage : said;
  const bool possible = std::has_single_bit(bytes) && bytes >= kLeastPage;
  return {possible ? bytes : 0, byte(kReservedAt)};
}

bool HadSums(std::string_view first_page) {
  std::string mended(first_page);
  mended[kReservedAt] = static_cast<char>(kSumBytes);
  return LookAtSum(mended) == PageSum::kHolds;
}

}  // namespace noisefloor

// The sum at the end of a page of the database. Internal to this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace noisefloor {

// What SQLite leaves free at the end of each page for it, and says so in byte 20 of the file. Sum
// and place are those of SQLite's own extension: https://sqlite.org/cksumvfs.html.
inline constexpr size_t kSumBytes = 8;
inline constexpr size_t kHeaderBytes = 100;  // Of the database, at the start of page 1.

enum class PageSum : uint8_t {
  kHolds,
  kNone,    // All zero: whoever wrote the page knows of no sums.
  kBroken,  // The page is not what was written, or was changed by one who knows of no sums.
};

// `page` is a whole one: a power of two from 512 to 65536 bytes.
PageSum LookAtSum(std::string_view page);
void PutSum(std::span<char> page);
void BlankSum(std::span<char> page);

// What the first kHeaderBytes of a database say.
struct PageLayout {
  uint32_t page_bytes = 0;      // 0: nothing that can be one.
  uint32_t reserved_bytes = 0;  // At the end of each page.
};
PageLayout LayoutOf(std::string_view header);

// Whether page 1 has a sum that would hold if its byte 20 said that there are sums: then it is this
// byte that is damaged.
bool HadSums(std::string_view first_page);

}  // namespace noisefloor

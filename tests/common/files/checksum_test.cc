#include "common/files/checksum.h"

#include <string>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "gtest/gtest.h"

namespace noisefloor {
namespace {

std::string Hex(std::span<const std::byte> bytes) {
  return fmt::format("{:02x}", fmt::join(ChecksumOf(bytes), ""));
}
std::string Hex(std::string_view text) { return Hex(std::as_bytes(std::span(text))); }

// openssl mac -cipher AES-128-GCM -macopt hexiv:(12 zero bytes) -macopt
// hexkey:6e6f697365666c6f6f72000000000000 -in FILE GMAC
TEST(ChecksumTest, IsWhatOpensslsProgramSays) {
  EXPECT_EQ(Hex(""), "18bb1bfd62895b40ad5a9c52fb4cc163");
  EXPECT_EQ(Hex("abc"), "17c332305201b5f18b8e30931e86a641");
  std::string bytes;
  for (int i = 0; i < 256 * 17; ++i) bytes.push_back(static_cast<char>(i));
  EXPECT_EQ(Hex(bytes), "94052bce81491b7ed501c8b97c646148");
}

TEST(ChecksumTest, EveryBitCounts) {
  std::string bytes(100, 'x');
  const std::string whole = Hex(bytes);
  for (size_t bit = 0; bit < 800; ++bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    EXPECT_NE(Hex(bytes), whole) << bit;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
  }
  EXPECT_NE(Hex(bytes + '\0'), Hex(bytes + '\0' + '\0'));
}

}  // namespace
}  // namespace noisefloor

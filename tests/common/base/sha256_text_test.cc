#include "common/base/sha256_text.h"

#include <string>

#include "gtest/gtest.h"

namespace noisefloor {
namespace {

TEST(Sha256TextTest, WantsSixtyFourLowerCaseDigits) {
  EXPECT_TRUE(IsSha256(std::string(64, '0')));
  EXPECT_TRUE(IsSha256(std::string(60, 'f') + "0a9c"));
  EXPECT_FALSE(IsSha256(std::string(63, '0')));
  EXPECT_FALSE(IsSha256(std::string(65, '0')));
  EXPECT_FALSE(IsSha256(std::string(64, 'A')));
  EXPECT_FALSE(IsSha256(std::string(64, 'g')));
  EXPECT_FALSE(IsSha256(""));
}

}  // namespace
}  // namespace noisefloor

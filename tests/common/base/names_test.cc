#include "common/base/names.h"

#include <string>

#include "gtest/gtest.h"

namespace noisefloor {
namespace {

TEST(IsName, TakesLettersDigitsAndThreeSigns) {
  EXPECT_TRUE(IsName("a"));
  EXPECT_TRUE(IsName("torch-2.11_CPU"));
  EXPECT_TRUE(IsName(std::string(100, 'z')));
}

TEST(IsName, TakesNothingElse) {
  EXPECT_FALSE(IsName(""));
  EXPECT_FALSE(IsName(std::string(101, 'z')));
  for (const char* text : {"a b", "a+b", "a/b", "a\n", "caf\xc3\xa9"}) {
    EXPECT_FALSE(IsName(text)) << text;
  }
}

}  // namespace
}  // namespace noisefloor

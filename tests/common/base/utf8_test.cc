#include "common/base/utf8.h"

#include <string>

#include "gtest/gtest.h"

namespace noisefloor {
namespace {

// The first and the last character of each length, and of those around what is left out.
const std::string kCharacters[] = {std::string(1, '\0'),
                                   "a",
                                   "\x7f",
                                   "\xc2\x80",
                                   "\xdf\xbf",
                                   "\xe0\xa0\x80",
                                   "\xed\x9f\xbf",
                                   "\xee\x80\x80",
                                   "\xef\xbf\xbf",
                                   "\xf0\x90\x80\x80",
                                   "\xf4\x8f\xbf\xbf"};
// Overlong, surrogates, beyond the last one, without a beginning, without an end.
const std::string kNone[] = {"\x80",
                             "\xc0\x80",
                             "\xc1\xbf",
                             "\xe0\x9f\xbf",
                             "\xed\xa0\x80",
                             "\xed\xbf\xbf",
                             "\xf0\x8f\xbf\xbf",
                             "\xf4\x90\x80\x80",
                             "\xf5\x80\x80",
                             "\xff",
                             "\xc2",
                             "\xe2\x82",
                             "\xf0\x9f\x98",
                             "\xc2"
                             "a",
                             "\xe2\x82"
                             "a"};

TEST(Utf8Test, ACharacterIsAsLongAsItsBytes) {
  for (const std::string& one : kCharacters) {
    EXPECT_EQ(CharacterBytes(one), one.size());
    EXPECT_EQ(CharacterBytes(one + "more"), one.size());
  }
  for (const std::string& none : kNone) EXPECT_EQ(CharacterBytes(none), 0u) << none.size();
  EXPECT_EQ(CharacterBytes(""), 0u);
}

// At every place of the eight bytes that are looked at together, and behind other characters.
TEST(Utf8Test, OneByteThatIsNoneIsFoundWhereverItIs) {
  EXPECT_TRUE(IsUtf8(""));
  for (size_t before = 0; before < 20; ++before) {
    for (size_t behind = 0; behind < 20; ++behind) {
      const std::string left(before, 'x');
      const std::string right(behind, 'y');
      for (const std::string& one : kCharacters) {
        EXPECT_TRUE(IsUtf8(left + one + right)) << before << " " << behind;
        EXPECT_TRUE(IsUtf8(one + left + one + right));
      }
      for (const std::string& none : kNone) {
        EXPECT_FALSE(IsUtf8(left + none + right)) << before << " " << behind;
        EXPECT_FALSE(IsUtf8("\xc2\x80" + left + none + right));
      }
    }
  }
}

}  // namespace
}  // namespace noisefloor

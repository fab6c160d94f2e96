#include "common/base/member_state.h"

#include <string>

#include "gtest/gtest.h"

namespace noisefloor {
namespace {

std::string Names(bool (*is)(MemberState)) {
  std::string names;
  for (const MemberState state : kAllMemberStates) {
    if (is(state)) names += std::string(Name(state)) + " ";
  }
  return names;
}

TEST(MemberState, HasANameThatIsReadBack) {
  for (const MemberState state : kAllMemberStates) {
    EXPECT_EQ(ParseMemberState(Name(state)), state) << Name(state);
  }
  EXPECT_EQ(Names([](MemberState) { return true; }),
            "waiting leased done diverged failed cancelled ");
  EXPECT_EQ(ParseMemberState("running"), std::nullopt);
  EXPECT_EQ(ParseMemberState(""), std::nullopt);
}

TEST(MemberState, EndsWithOrWithoutAResult) {
  EXPECT_EQ(Names(HasEnded), "done diverged failed cancelled ");
  EXPECT_EQ(Names(HasResult), "done diverged ");
}

}  // namespace
}  // namespace noisefloor

#include "coordinator/inputs/on_the_way.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/inputs/load_arrays.h"

namespace noisefloor::inputs {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(OnTheWayTest, HasTheNumberOfItsEvaluation) {
  EXPECT_EQ(ReadOnTheWay("predictions-1"), (OnTheWay{"predictions", 1}));
  EXPECT_EQ(ReadOnTheWay("weights-995"), (OnTheWay{"weights", 995}));
  for (const char* other : {"predictions", "predictions-", "predictions-0", "predictions--1",
                            "predictions-1x", "predictions-x", "predictions-99999999999999999999",
                            "weights", "weights-", "kernels-1", "-1", ""}) {
    EXPECT_FALSE(ReadOnTheWay(other).has_value()) << other;
  }
}

StudySource WithWeights(uint64_t bytes) {
  StudySource source;
  source.input.cells.push_back({.plan = "algo"});
  source.input.members.push_back({.id = "s1c0r0", .state = MemberState::kDone});
  source.members.push_back(
      {.on_the_way = {{"predictions-1", "s1c0r0", "1.npy", "aa", uint64_t{1} << 40},
                      {"weights-1", "s1c0r0", "1.safetensors", "bb", bytes}}});
  source.sets.resize(1);
  return source;
}

absl::StatusOr<std::string> IsNowhere(const InputFile& file) {
  return absl::NotFoundError(file.path + " is gone");
}

TEST(OnTheWayTest, MoreWeightsThanAStudyLooksAtAreLeftOut) {
  constexpr uint64_t kMost = uint64_t{64} << 30;
  const LoadedStudy looked_at = LoadArrays(WithWeights(kMost), IsNowhere);
  ASSERT_THAT(looked_at.faults, SizeIs(1));
  EXPECT_THAT(std::string(looked_at.faults[0].message()), HasSubstr("1.safetensors is gone"));
  const LoadedStudy left_out = LoadArrays(WithWeights(kMost + 1), IsNowhere);
  EXPECT_THAT(left_out.faults, SizeIs(0));
  EXPECT_THAT(left_out.warnings.back().text,
              HasSubstr("How weights part over training is not told: 1 files"));
}

TEST(OnTheWayTest, WeightsOfMembersThatAreNotDoneAreNotOpened) {
  StudySource source = WithWeights(1);
  source.input.members[0].state = MemberState::kDiverged;
  EXPECT_THAT(LoadArrays(source, IsNowhere).faults, SizeIs(0));
}

}  // namespace
}  // namespace noisefloor::inputs

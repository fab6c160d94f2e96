#include "coordinator/inputs/on_the_way.h"

#include <string>
#include <utility>

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

TEST(OnTheWayTest, MoreFilesOfWeightsThanAStudyLooksAtAreLeftOut) {
  StudySource source = WithWeights(0);
  for (int k = 2; k <= 50'001; ++k) {
    source.members[0].on_the_way.push_back({.kind = "weights-" + std::to_string(k)});
  }
  const LoadedStudy left_out = LoadArrays(std::move(source), IsNowhere);
  EXPECT_THAT(left_out.faults, SizeIs(0));
  EXPECT_THAT(left_out.warnings.back().text,
              HasSubstr("How weights part over training is not told: 50001 files of 0 bytes"));
}

absl::StatusOr<Digest> HasNoDigest(const InputFile& file) {
  return absl::NotFoundError(file.path + " has none");
}

// Where answers are kept, logits are not read for them.
TEST(OnTheWayTest, MoreLogitsThanAStudyReadsAreLeftOut) {
  constexpr uint64_t kMost = uint64_t{4} << 30;
  const auto told = [](uint64_t bytes, const FindDigest& digests) {
    StudySource source = WithWeights(0);
    source.members[0].on_the_way = {{"predictions-1", "s1c0r0", "1.npy", "aa", kMost - 1},
                                    {"predictions-2", "s1c0r0", "2.npy", "bb", bytes}};
    const LoadedStudy loaded = LoadArrays(std::move(source), IsNowhere, digests);
    return loaded.warnings.empty() ? "" : loaded.warnings[0].text;
  };
  EXPECT_EQ(told(1, nullptr), "");
  EXPECT_THAT(told(2, nullptr), HasSubstr("How churn grows over training is not told: 0 answers in "
                                          "4294967297 bytes of predictions"));
  EXPECT_EQ(told(2, HasNoDigest), "");
}

// 65,536 examples after 4,096 evaluations are 2^28 answers: all that a study keeps.
TEST(OnTheWayTest, MoreAnswersThanAStudyKeepsAreLeftOut) {
  const auto load = [](int evaluations) {
    StudySource source = WithWeights(0);
    source.input.evaluations[0].labels.assign(65536, 0);
    source.members[0].on_the_way.clear();
    for (int k = 1; k <= evaluations; ++k) {
      source.members[0].on_the_way.push_back(
          {.kind = "predictions-" + std::to_string(k), .path = "some.npy"});
    }
    return LoadArrays(std::move(source), IsNowhere, HasNoDigest);
  };
  const LoadedStudy looked_at = load(4096);
  ASSERT_THAT(looked_at.faults, SizeIs(1)) << "once of a member";
  EXPECT_THAT(std::string(looked_at.faults[0].message()), HasSubstr("some.npy has none"));
  const LoadedStudy left_out = load(4097);
  EXPECT_THAT(left_out.faults, SizeIs(0));
  ASSERT_THAT(left_out.warnings, SizeIs(1));
  EXPECT_THAT(left_out.warnings[0].text,
              HasSubstr("How churn grows over training is not told: 268500992 answers"));
}

}  // namespace
}  // namespace noisefloor::inputs

// Weights of members, which lie in files: when these are opened, and what is known without.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/report/study_json.h"
#include "tests/coordinator/report/tiny_study.h"

namespace noisefloor::report {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kWeighedExamples = 10;

// Remembers everything.
class Memory final : public DistanceMemory {
 public:
  std::optional<analysis::Distances> Find(const std::vector<std::string>& contents) override {
    const auto known = known_.find(contents);
    return known == known_.end() ? std::nullopt : std::optional(known->second);
  }
  void Keep(const std::vector<std::string>& contents, const analysis::Distances& found) override {
    known_[contents] = found;
  }
  size_t size() const { return known_.size(); }

 private:
  std::map<std::vector<std::string>, analysis::Distances> known_;
};

// Two cells of three members; their weights are files that say when they are opened.
class WeightsTest : public ::testing::Test {
 protected:
  WeightsTest() {
    for (const char* hardware : {"cpu-a", "cpu-b"}) {
      tiny_.AddCell("algo", Algo(), hardware);
      for (int r = 0; r < 3; ++r) AddMember();
    }
  }

  MemberInput& AddMember(
      const std::vector<int16_t>& answers = std::vector<int16_t>(kWeighedExamples)) {
    MemberInput& member = tiny_.AddMember(answers);
    const auto number = static_cast<float>(tiny_.input.members.size());
    const std::vector<float>& values =
        values_.emplace_back(std::vector<float>{number, 1, number * number});
    member.weights = FileOf(member.id, values);
    return member;
  }

  // Two parameters and a running statistic.
  WeightsView FileOf(const std::string& name, const std::vector<float>& values,
                     const std::string& layout = "") {
    const auto open = [this, name, &values]() -> SharedWeights {
      opened_.push_back(name);
      if (name == unreadable_) return nullptr;
      most_open_ = std::max(most_open_, ++open_);
      return {new Weights{.parameters = {std::span(values).first(2)},
                          .buffers = {std::span(values).subspan(2)}},
              [this](const Weights* weights) {
                --open_;
                delete weights;
              }};
    };
    return WeightsView(
        {.content = "content of " + name, .layout = layout, .parameters = 2, .without_effect = 7},
        open);
  }

  // Of each member weights after the first of two evaluations.
  void AddEvaluations() {
    for (size_t m = 0; m < tiny_.input.members.size(); ++m) {
      MemberInput& member = tiny_.input.members[m];
      member.curves["test_top1"] = {{10, 1, 0.5}, {20, 2, 0.6}};
      const auto number = static_cast<float>(m);
      const std::vector<float>& values =
          values_.emplace_back(std::vector<float>{1, number * number, 3});
      member.weights_at.emplace(1, FileOf(member.id + " at 1", values));
    }
  }

  // Which members' weights were opened for it.
  std::vector<std::string> OpenedBy(const std::string& expected_json = "") {
    opened_.clear();
    const std::string json = StudyToJson(BuildStudy(tiny_.input));
    EXPECT_TRUE(expected_json.empty() || json == expected_json);
    return opened_;
  }

  TinyStudy tiny_{kWeighedExamples, 10};
  std::deque<std::vector<float>> values_;
  std::vector<std::string> opened_;
  std::string unreadable_;
  int open_ = 0;
  int most_open_ = 0;
};

TEST_F(WeightsTest, ThoseOfOneCellAreOpenAtATimeAndNoneAfterwards) {
  const Study study = BuildStudy(tiny_.input);

  EXPECT_TRUE(study.cohorts[1].l2_raw.value.has_value());
  EXPECT_EQ(study.cohorts[0].counts.without_weights, 0);
  EXPECT_EQ(most_open_, 3);
  EXPECT_EQ(open_, 0);
}

TEST_F(WeightsTest, AreReadAgainWhereACellHasANewMember) {
  Memory memory;
  tiny_.input.distances = &memory;
  EXPECT_THAT(OpenedBy(), ElementsAre("s1c0r0", "s1c0r1", "s1c0r2", "s1c1r0", "s1c1r1", "s1c1r2"));

  EXPECT_THAT(OpenedBy(), IsEmpty());
  AddMember();
  EXPECT_THAT(OpenedBy(), ElementsAre("s1c1r0", "s1c1r1", "s1c1r2", "s1c1r3"));
}

TEST_F(WeightsTest, AStudyIsTheSameWithWhatIsKnownOfThem) {
  AddMember().weights = {};
  tiny_.AddCell("algo", Algo(), "cpu-c");  // Nobody is in it,
  tiny_.AddCell("algo", Algo(), "cpu-d");  // and one without weights.
  AddMember().weights = {};
  const std::string without = StudyToJson(BuildStudy(tiny_.input));
  Memory memory;
  tiny_.input.distances = &memory;

  OpenedBy(without);
  EXPECT_THAT(OpenedBy(without), IsEmpty());
}

TEST_F(WeightsTest, OfOtherContentAreOthers) {
  Memory memory;
  tiny_.input.distances = &memory;
  BuildStudy(tiny_.input);
  std::swap(tiny_.input.members[0].weights, tiny_.input.members[3].weights);

  EXPECT_EQ(OpenedBy().size(), 6U);
}

TEST_F(WeightsTest, WhatCouldNotBeReadIsTriedAgain) {
  Memory memory;
  tiny_.input.distances = &memory;
  unreadable_ = "s1c0r1";
  const Study study = BuildStudy(tiny_.input);
  EXPECT_EQ(study.cohorts[0].l2_raw.n, 2);
  EXPECT_EQ(memory.size(), 2U);  // Those of the other cell.

  unreadable_.clear();
  EXPECT_THAT(OpenedBy(), ElementsAre("s1c0r0", "s1c0r1", "s1c0r2"));
  EXPECT_EQ(BuildStudy(tiny_.input).cohorts[0].l2_raw.n, 3);
}

TEST_F(WeightsTest, OfMemoryAreNotKnownByTheirContent) {
  Memory memory;
  tiny_.input.distances = &memory;
  tiny_.input.members[0].weights = Weights{.parameters = {values_[0]}, .buffers = {}};

  BuildStudy(tiny_.input);

  EXPECT_EQ(memory.size(), 2U);  // Those of the other cell.
}

TEST_F(WeightsTest, ThoseOfEvaluationsAreReadOnceWithAMemory) {
  AddEvaluations();
  const std::string without = StudyToJson(BuildStudy(tiny_.input));
  EXPECT_EQ(BuildStudy(tiny_.input).trajectories.size(), 3U);
  Memory memory;
  tiny_.input.distances = &memory;

  EXPECT_EQ(OpenedBy(without).size(), 6U + 6U + 6U) << "of cells at the end and then, of pairs";
  EXPECT_THAT(OpenedBy(without), IsEmpty());
  EXPECT_EQ(open_, 0);
}

TEST_F(WeightsTest, ThoseOfEvaluationsSayWhatIsInNoDistance) {
  AddEvaluations();
  const Study study = BuildStudy(tiny_.input);
  for (const Trajectory& of : study.trajectories) {
    EXPECT_THAT(of.l2_normalised.at(0).note, HasSubstr("without 7 parameters"));
  }
  tiny_.AddCell("algo", Algo(), "cpu-c");
  AddMember().state = MemberState::kWaiting;
  EXPECT_THAT(BuildStudy(tiny_.input).trajectories.at(0).l2_normalised.at(0).note,
              AllOf(HasSubstr("without 7 parameters"), HasSubstr("members are still to come")));
}

TEST_F(WeightsTest, OfAnEvaluationThatCouldNotBeReadAreTriedAgain) {
  AddEvaluations();
  Memory memory;
  tiny_.input.distances = &memory;
  unreadable_ = "s1c0r1 at 1";
  const Study study = BuildStudy(tiny_.input);
  EXPECT_EQ(study.trajectories.at(0).l2_normalised.at(0).n, 2);
  EXPECT_EQ(study.trajectories.at(1).l2_normalised.at(0).n, 3);
  EXPECT_EQ(study.trajectories.at(2).l2_normalised.at(0).n, 2) << "pairs";

  unreadable_.clear();
  EXPECT_EQ(OpenedBy().size(), 3U + 6U) << "of that cell, and of the pairs";
}

// One may have turned a matrix round, or named its layers otherwise: numbers by place say nothing.
TEST_F(WeightsTest, SidesOfOtherNamesOrShapesAreNoPairs) {
  AddEvaluations();
  for (size_t m = 0; m < 3; ++m) {
    MemberInput& member = tiny_.input.members[m];
    member.weights_at.clear();
    member.weights_at.emplace(1, FileOf(member.id + " at 1", values_[m], "another"));
  }
  const Study study = BuildStudy(tiny_.input);
  ASSERT_EQ(study.trajectories.size(), 2U) << "there is nothing of pairs";
  EXPECT_TRUE(study.trajectories[0].l2_normalised.at(0).value.has_value());
  EXPECT_TRUE(study.trajectories[1].l2_normalised.at(0).value.has_value());
}

// Shares of the weights' variance are of all trainings of a setting: they are read at each look.
TEST_F(WeightsTest, AreOpenTogetherWhereSourcesAreToldApart) {
  for (uint32_t block = 0; block < 2; ++block) {
    tiny_.AddCell("crossed", StatesWithFree({NoiseSource::kInit, NoiseSource::kDataOrder}), "cpu-c",
                  block);
    for (uint32_t draw = 0; draw < 4; ++draw) {
      std::vector<int16_t> answers(kWeighedExamples);
      answers[draw % 2] = 1;
      answers[2 + draw / 2 + 2 * block] = 1;
      MemberInput& member = AddMember(answers);
      member.lanes[NoiseSource::kInit] = {block, draw % 2 + 1};
      member.lanes[NoiseSource::kDataOrder] = {block, draw / 2 + 1};
    }
  }
  Memory memory;
  tiny_.input.distances = &memory;
  const Study study = BuildStudy(tiny_.input);
  EXPECT_EQ(study.decompositions.back().figure, "weights");
  EXPECT_EQ(study.decompositions.back().members, 8);
  EXPECT_EQ(most_open_, 8);
  EXPECT_EQ(open_, 0);
  EXPECT_EQ(OpenedBy().size(), 8U);

  unreadable_ = "s1c2r1";
  EXPECT_EQ(BuildStudy(tiny_.input).decompositions.back().members, 7);
}

TEST_F(WeightsTest, WhoAsksWhileTheyAreOpenGetsTheSame) {
  const WeightsView& view = tiny_.input.members[0].weights;
  const WeightsView copy = view;
  {
    const SharedWeights first = view.Opened();
    EXPECT_EQ(copy.Opened(), first);
    EXPECT_THAT(opened_, ElementsAre("s1c0r0"));
  }
  EXPECT_EQ(open_, 0);
  view.Opened();
  EXPECT_EQ(opened_.size(), 2U);
}

}  // namespace
}  // namespace noisefloor::report

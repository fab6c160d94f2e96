// Studies of several sites, and what keeps them from being one.
#include "coordinator/inputs/merge.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/ids.h"

namespace noisefloor::inputs {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Two points of an axis, two plans, three classes, two blocks of algo: in a sweep's own order.
StudySource Whole() {
  StudySource source;
  report::StudyInput& input = source.input;
  input.sweep = {
      .id = "s1",
      .name = "everywhere",
      .seed = 42,
      .plans = {{.name = "control", .sources = {{NoiseSource::kInit, {}}}, .replicates = 2},
                {.name = "algo",
                 .sources = {{NoiseSource::kInit, {.state = SourceState::kFree}}},
                 .replicates = 3,
                 .blocks = 2}},
      .settings = {{"train.epochs", "3", true}, {"data.name", "own", true}},
      .axes = {{{"train.epochs", {"3", "9"}}}},
      .file = "name: everywhere\n"};
  input.evaluations[0].data_set = "own";
  input.evaluations[0].identity = "the data";
  source.sets = {{InputFile{"evaluation_labels", "s1c0r0", "labels.npy", "aa", 4}, std::nullopt,
                  std::nullopt}};
  for (const char* epochs : {"3", "9"}) {
    for (const report::PlanInput& plan : input.sweep.plans) {
      for (const char* hardware : {"cpu-b", "cpu-a", "cpu-c"}) {
        for (uint32_t block = 0; block < plan.blocks; ++block) {
          report::CellInput& cell = input.cells.emplace_back();
          cell.index = static_cast<uint32_t>(input.cells.size()) - 1;
          cell.axes = {{"train.epochs", epochs}};
          cell.plan = plan.name;
          cell.sources = {{NoiseSource::kInit, plan.sources.at(NoiseSource::kInit).state}};
          cell.hardware = hardware;
          cell.stack = "stack";
          cell.block = block;
          cell.stack_fingerprint = hardware;
          for (uint32_t r = 0; r < plan.replicates; ++r) {
            report::MemberInput& member = input.members.emplace_back();
            member.cell = cell.index;
            member.replicate = r;
            member.id = ToText(MemberId{SweepId{1}, cell.index, r});
            member.state = MemberState::kDone;
            member.hashes.weights = member.id + " weights";
            member.hashes.logits = member.id + " logits";
            source.members.push_back(
                {InputFile{"predictions", member.id, member.id + ".npy", "bb", 4}, std::nullopt});
          }
        }
      }
    }
  }
  return source;
}

// What a coordinator would have that is asked for these members only: numbered from 0 again.
StudySource Part(const StudySource& whole, const std::vector<std::string>& classes) {
  StudySource part = whole;
  part.input.cells.clear();
  part.input.members.clear();
  part.members.clear();
  part.input.sweep.id = "s7";
  for (const report::CellInput& cell : whole.input.cells) {
    if (std::ranges::find(classes, cell.hardware) == classes.end()) continue;
    report::CellInput& its = part.input.cells.emplace_back(cell);
    its.index = static_cast<uint32_t>(part.input.cells.size()) - 1;
    for (size_t m = 0; m < whole.input.members.size(); ++m) {
      if (whole.input.members[m].cell != cell.index) continue;
      report::MemberInput& member = part.input.members.emplace_back(whole.input.members[m]);
      member.cell = its.index;
      member.id = ToText(MemberId{SweepId{7}, its.index, member.replicate});
      part.members.push_back(whole.members[m]);
    }
  }
  return part;
}

std::vector<Site> ThreeSites() {
  const StudySource whole = Whole();
  return {{"lab1", Part(whole, {"cpu-b"})},
          {"lab2", Part(whole, {"cpu-a"})},
          {"lab3", Part(whole, {"cpu-c"})}};
}

std::string Conflict(std::vector<Site> sites) {
  const absl::StatusOr<StudySource> merged = Merge(std::move(sites));
  EXPECT_EQ(merged.status().code(), absl::StatusCode::kFailedPrecondition);
  return std::string(merged.status().message());
}

TEST(MergeTest, SitesWithAClassEachAreOneSweep) {
  const absl::StatusOr<StudySource> merged = Merge(ThreeSites());
  ASSERT_TRUE(merged.ok()) << merged.status();
  StudySource expected = Whole();
  expected.input.sweep.id = "s7";
  for (report::MemberInput& member : expected.input.members) {
    member.id = ToText(MemberId{SweepId{7}, member.cell, member.replicate});
  }
  EXPECT_EQ(SourceToJson(*merged), SourceToJson(expected));
}

TEST(MergeTest, OneSiteIsItself) {
  const absl::StatusOr<StudySource> merged = Merge({{"lab1", Whole()}});
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ(SourceToJson(*merged), SourceToJson(Whole()));
}

TEST(MergeTest, MoreReplicatesBlocksValuesAndPlansAreJoined) {
  const StudySource whole = Whole();
  StudySource first = Part(whole, {"cpu-a"});
  first.input.sweep.axes[0][0].values = {"3"};
  std::erase_if(first.input.cells, [](const auto& cell) { return cell.axes[0].value == "9"; });
  std::set<uint32_t> left;
  for (const auto& cell : first.input.cells) left.insert(cell.index);
  for (size_t m = first.input.members.size(); m-- > 0;) {
    if (left.contains(first.input.members[m].cell)) continue;
    first.input.members.erase(first.input.members.begin() + static_cast<ptrdiff_t>(m));
    first.members.erase(first.members.begin() + static_cast<ptrdiff_t>(m));
  }
  StudySource second = Part(whole, {"cpu-c"});
  second.input.sweep.plans[1].replicates = 8;
  second.input.sweep.plans[1].blocks = 5;
  second.input.sweep.plans.push_back({.name = "impl"});
  const absl::StatusOr<StudySource> merged = Merge({{"lab1", first}, {"lab2", second}});
  ASSERT_TRUE(merged.ok()) << merged.status();
  const report::SweepInput& sweep = merged->input.sweep;
  EXPECT_EQ(sweep.axes[0][0].values, (std::vector<std::string>{"3", "9"}));
  EXPECT_THAT(sweep.plans, SizeIs(3));
  EXPECT_EQ(sweep.plans[1].replicates, 8u);
  EXPECT_EQ(sweep.plans[1].blocks, 5u);
  EXPECT_THAT(merged->input.cells, SizeIs(9));
  EXPECT_EQ(merged->input.cells[0].hardware, "cpu-a");
  EXPECT_EQ(merged->input.cells[1].hardware, "cpu-c");
  EXPECT_THAT(merged->sets, SizeIs(1)) << "of one data set";
}

// Whichever value of an axis comes first, equal data are held against each other.
TEST(MergeTest, ATestSetIsKnownByItsDataAndSize) {
  StudySource first = Part(Whole(), {"cpu-a"});
  StudySource second = Part(Whole(), {"cpu-b"});
  std::erase_if(first.input.members, [](const auto& member) { return member.cell > 2; });
  first.members.resize(first.input.members.size());
  first.input.cells.resize(3);  // Of epochs 3 only.
  std::ranges::rotate(second.input.cells, second.input.cells.begin() + 3);
  second.sets[0].labels->sha256 = "ff";
  EXPECT_THAT(Conflict({{"lab1", first}, {"lab2", second}}),
              HasSubstr("lab2: it was tested on other data"));
}

// A sweep file that names all classes, run where there is one of them.
TEST(MergeTest, WhatASiteNeverBeganIsTheCellThatAnotherHas) {
  std::vector<Site> sites;
  for (const char* own : {"cpu-b", "cpu-a", "cpu-c"}) {
    StudySource whole = Whole();
    for (report::CellInput& cell : whole.input.cells) {
      if (cell.hardware != own) cell.stack = cell.stack_fingerprint = "";
    }
    for (size_t m = 0; m < whole.input.members.size(); ++m) {
      report::MemberInput& member = whole.input.members[m];
      if (!whole.input.cells[member.cell].stack.empty()) continue;
      member.state = MemberState::kWaiting;
      member.hashes = {};
      whole.members[m] = {};
    }
    sites.push_back({own, std::move(whole)});
  }
  const absl::StatusOr<StudySource> merged = Merge(std::move(sites));
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ(SourceToJson(*merged), SourceToJson(Whole()));
}

TEST(MergeTest, ASecondResultWithEqualBitsIsACheck) {
  std::vector<Site> sites = {{"lab1", Part(Whole(), {"cpu-a"})},
                             {"lab2", Part(Whole(), {"cpu-a"})}};
  sites[0].source.input.members[0].state = MemberState::kFailed;
  sites[1].source.input.members[1].seconds = 3;  // Another attempt; the rest is told twice.
  const absl::StatusOr<StudySource> merged = Merge(std::move(sites));
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_THAT(merged->input.cells, SizeIs(6));
  EXPECT_EQ(merged->input.members[0].state, MemberState::kDone) << "lab2 has it";
  EXPECT_THAT(merged->input.members[0].duplicates, SizeIs(0));
  EXPECT_THAT(merged->input.members[1].duplicates, SizeIs(1));
  EXPECT_THAT(merged->input.members[2].duplicates, SizeIs(0)) << "the same attempt";
}

// One with other bits breaks a control, whichever site has it.
TEST(MergeTest, LateResultsOfASecondSiteAreChecksToo) {
  std::vector<Site> sites = {{"lab1", Part(Whole(), {"cpu-a"})},
                             {"lab2", Part(Whole(), {"cpu-a"})}};
  report::MemberInput& again = sites[1].source.input.members[1];
  again.seconds = 3;
  again.duplicates.emplace_back().weights = "other bits";
  const absl::StatusOr<StudySource> merged = Merge(std::move(sites));
  ASSERT_TRUE(merged.ok()) << merged.status();
  const report::MemberInput& member = merged->input.members[1];
  ASSERT_THAT(member.duplicates, SizeIs(2));
  EXPECT_EQ(member.duplicates[0].weights, member.hashes.weights);
  EXPECT_EQ(member.duplicates[1].weights, "other bits");
}

// Two exports of one coordinator, at two times.
TEST(MergeTest, ALateResultThatOnlyTheLaterExportHasIsACheck) {
  for (const size_t later : {size_t{0}, size_t{1}}) {
    std::vector<Site> sites = {{"before", Part(Whole(), {"cpu-a"})},
                               {"after", Part(Whole(), {"cpu-a"})}};
    for (Site& site : sites) {
      site.source.input.members[1].duplicates.emplace_back().weights = "late";
    }
    for (int i = 0; i < 2; ++i) {
      sites[later].source.input.members[1].duplicates.emplace_back().weights = "later";
    }
    const absl::StatusOr<StudySource> merged = Merge(std::move(sites));
    ASSERT_TRUE(merged.ok()) << merged.status();
    const report::MemberInput& member = merged->input.members[1];
    ASSERT_THAT(member.duplicates, SizeIs(3)) << "results with equal bits are counted, too";
    EXPECT_EQ(member.duplicates[0].weights, "late");
    EXPECT_EQ(member.duplicates[2].weights, "later");
  }
}

// Of a member that two sites have, one has removed its weights after evaluations to make room.
TEST(MergeTest, WhatWasKeptOnTheWayIsThatOfEither) {
  std::vector<Site> sites = {{"lab1", Part(Whole(), {"cpu-a"})},
                             {"lab2", Part(Whole(), {"cpu-a"})}};
  const InputFile predictions = {"predictions-1", "s7c0r0", "1.npy", "cc", 4};
  const InputFile weights = {"weights-1", "s7c0r0", "1.safetensors", "dd", 4};
  sites[0].source.members[0].on_the_way = {predictions};
  sites[1].source.members[0].on_the_way = {predictions, weights};
  const absl::StatusOr<StudySource> merged = Merge(std::move(sites));
  ASSERT_TRUE(merged.ok()) << merged.status();
  ASSERT_THAT(merged->members[0].on_the_way, SizeIs(2));
  EXPECT_EQ(merged->members[0].on_the_way[0].kind, "predictions-1");
  EXPECT_EQ(merged->members[0].on_the_way[1].kind, "weights-1");
}

// Also of what there is at the end; what both have is the first one's.
TEST(MergeTest, FilesThatOneSiteRemovedAreThoseOfTheOther) {
  std::vector<Site> sites = {{"lab1", Part(Whole(), {"cpu-a"})},
                             {"lab2", Part(Whole(), {"cpu-a"})}};
  sites[0].source.members[0].predictions.reset();
  for (const size_t m : {size_t{0}, size_t{1}}) {
    sites[1].source.members[m].predictions->sha256 = "of lab2";
    sites[1].source.members[m].weights = {"weights", "s7c0r0", "w.safetensors", "weights of lab2",
                                          4};
  }
  const absl::StatusOr<StudySource> merged = Merge(std::move(sites));
  ASSERT_TRUE(merged.ok()) << merged.status();
  ASSERT_TRUE(merged->members[0].predictions && merged->members[0].weights);
  EXPECT_EQ(merged->members[0].predictions->sha256, "of lab2");
  EXPECT_EQ(merged->members[0].weights->sha256, "weights of lab2");
  EXPECT_EQ(merged->members[1].predictions->sha256, "bb") << "lab1 has its own";
  EXPECT_TRUE(merged->members[1].weights.has_value());
  EXPECT_FALSE(merged->members[2].weights.has_value());
}

// Nothing says that they are the same: of results without hashes, and of ends of two kinds.
TEST(MergeTest, ResultsThatAreNotKnownToBeTheSameAreAConflict) {
  const auto sites = [](const auto& change) {
    std::vector<Site> two = {{"lab1", Part(Whole(), {"cpu-a"})},
                             {"lab2", Part(Whole(), {"cpu-a"})}};
    for (Site& site : two) change(site.name, site.source.input.members[1]);
    return two;
  };
  EXPECT_THAT(
      Conflict(sites([](const std::string&, report::MemberInput& member) { member.hashes = {}; })),
      HasSubstr("lab2: its replicate 1 of control"));
  EXPECT_THAT(Conflict(sites([](const std::string& site, report::MemberInput& member) {
                if (site == "lab2") member.state = MemberState::kDiverged;
              })),
              HasSubstr("lab2: its replicate 1 of control"));
}

// A script that gives no weights has its answers.
TEST(MergeTest, WithoutWeightsEqualAnswersAreTheSameResult) {
  const auto sites = [](const std::string& logits) {
    std::vector<Site> two = {{"monday", Part(Whole(), {"cpu-a"})},
                             {"friday", Part(Whole(), {"cpu-a"})}};
    for (Site& site : two) {
      for (report::MemberInput& member : site.source.input.members) {
        member.hashes.weights.clear();
        member.hashes.logits = "answers of " + member.id;
      }
    }
    two[1].source.input.members[1].hashes.logits =
        logits.empty() ? two[0].source.input.members[1].hashes.logits : logits;
    return two;
  };
  EXPECT_TRUE(Merge(sites(""), {}).ok());
  EXPECT_THAT(Conflict(sites("others")), HasSubstr("has other bits than monday's"));
}

TEST(MergeTest, OtherBitsOfTheSameDrawsAreAConflict) {
  const auto sites = [] {
    std::vector<Site> two = {{"lab1", Part(Whole(), {"cpu-a"})},
                             {"lab2", Part(Whole(), {"cpu-a"})}};
    two[1].source.input.members[1].hashes.weights = "others";
    return two;
  };
  EXPECT_THAT(Conflict(sites()),
              HasSubstr("lab2: its replicate 1 of control, train.epochs=3, cpu-a, stack has other "
                        "bits than lab1's"));
  const absl::StatusOr<StudySource> kept = Merge(sites(), {.keep_first = true});
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_NE(kept->input.members[1].hashes.weights, "others");
  ASSERT_THAT(kept->warnings, SizeIs(1));
  EXPECT_THAT(kept->warnings[0].text, HasSubstr("of lab2 has other bits than lab1's: left out"));
}

// Every one of them, in words.
TEST(MergeTest, WhatIsAnotherStudyIsNamed) {
  std::vector<Site> sites = ThreeSites();
  report::SweepInput& second = sites[1].source.input.sweep;
  second.seed = 43;
  second.settings[0].value = "4";
  second.settings[1].path = "data.size";
  second.reference_accuracy = 0.9;
  second.plans[1].sources[NoiseSource::kDropout] = {.state = SourceState::kFree};
  sites[2].source.input.sweep.axes[0][0].path = "train.batch_size";
  EXPECT_THAT(Conflict(std::move(sites)),
              AllOf(HasSubstr("lab2: its seed is 43, lab1's is 42: the same lanes are other draws"),
                    HasSubstr("lab2: its train.epochs is 4, lab1's is 3"),
                    HasSubstr("lab2: its data.size is own, lab1 has none"),
                    HasSubstr("lab2: it has no data.name, lab1's is own"),
                    HasSubstr("lab2: its reference_accuracy is 0.9, lab1's is not stated"),
                    HasSubstr("lab2: its plan algo frees and holds other sources"),
                    HasSubstr("lab3: its axes vary other settings than lab1's")));
}

TEST(MergeTest, OtherDataAndOtherSoftwareAreConflicts) {
  std::vector<Site> sites = ThreeSites();
  sites[1].source.input.evaluations[0].identity = "other data";
  EXPECT_THAT(Conflict(std::move(sites)), HasSubstr("lab2: it was tested on other data"));
  sites = ThreeSites();
  sites[2].source.sets[0].labels->sha256 = "ff";
  EXPECT_THAT(Conflict(std::move(sites)), HasSubstr("lab3: it was tested on other data"));
  sites = {{"lab1", Part(Whole(), {"cpu-a"})}, {"lab2", Part(Whole(), {"cpu-a", "cpu-b"})}};
  sites[1].source.input.cells[1].stack_fingerprint = "newer";
  EXPECT_THAT(
      Conflict(std::move(sites)),
      HasSubstr("lab2: its control, train.epochs=3, cpu-a, stack ran on other software than "
                "lab1's"));
  sites = ThreeSites();
  sites[0].source.sets[0].groups = {"evaluation_groups", "s7c0r0", "groups.csv", "gg", 4};
  sites[2].source.sets[0].groups = {"evaluation_groups", "s7c0r0", "groups.csv", "others", 4};
  EXPECT_THAT(Conflict(std::move(sites)), HasSubstr("lab3: it was tested on other data"));
}

// What the first site does not tell of its software is what the second one says.
TEST(MergeTest, SoftwareThatOneSiteTellsIsThatOfAll) {
  const auto sites = [](const std::string& third) {
    std::vector<Site> all;
    for (const char* name : {"lab1", "lab2", "lab3"}) {
      all.push_back({name, Part(Whole(), {"cpu-a"})});
    }
    all[0].source.input.cells[1].stack_fingerprint.clear();
    all[1].source.input.cells[1].trainer_build = "build-1";
    all[2].source.input.cells[1].trainer_build = third;
    return all;
  };
  const absl::StatusOr<StudySource> merged = Merge(sites("build-1"));
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ(merged->input.cells[1].trainer_build, "build-1");
  EXPECT_EQ(merged->input.cells[1].stack_fingerprint, "cpu-a");
  EXPECT_THAT(Conflict(sites("build-2")),
              HasSubstr("lab3: its algo, train.epochs=3, cpu-a, stack ran on other software"));
}

// Labels that one site has are known for all.
TEST(MergeTest, ATestSetIsKeptByWhoeverHasIt) {
  std::vector<Site> sites = ThreeSites();
  sites[0].source.sets[0].labels.reset();
  sites[0].source.input.evaluations[0].identity.clear();
  sites[1].source.sets[0].images = {"evaluation_images", "s7c0r0", "images.npy", "ii", 4};
  sites[2].source.sets[0].groups = {"evaluation_groups", "s7c0r0", "groups.csv", "gg", 4};
  const absl::StatusOr<StudySource> merged = Merge(sites);
  ASSERT_TRUE(merged.ok()) << merged.status();
  ASSERT_THAT(merged->sets, SizeIs(1));
  const StudySource::SetFiles& files = merged->sets[0];
  ASSERT_TRUE(files.labels && files.images && files.groups);
  EXPECT_EQ(files.labels->sha256, "aa");
  EXPECT_EQ(files.images->sha256, "ii");
  EXPECT_EQ(files.groups->sha256, "gg");
  EXPECT_EQ(merged->input.evaluations[0].identity, "the data");
  sites[2].source.input.evaluations[0].identity = "other data";
  EXPECT_THAT(Conflict(std::move(sites)), HasSubstr("lab3: it was tested on other data"))
      << "than the second";
}

TEST(MergeTest, WarningsFollowTheirMembers) {
  std::vector<Site> sites = ThreeSites();
  sites[1].source.warnings = {{"note", "s7c0r1", "Late."}, {"note", "sweep", "Made room."}};
  const absl::StatusOr<StudySource> merged = Merge(std::move(sites));
  ASSERT_TRUE(merged.ok()) << merged.status();
  ASSERT_THAT(merged->warnings, SizeIs(2));
  EXPECT_EQ(merged->warnings[0].subject, "s7c1r1") << "cpu-a is the second class";
  EXPECT_EQ(merged->warnings[0].text, "Late.");
  EXPECT_EQ(merged->warnings[1].text, "lab2: Made room.");
}

// The third has no result yet.
TEST(MergeTest, AStudyLastsFromTheFirstSubmissionToTheLastResult) {
  std::vector<Site> sites = ThreeSites();
  const std::vector<std::pair<int64_t, int64_t>> times = {{20, 100}, {10, 200}, {30, 0}};
  for (size_t i = 0; i < sites.size(); ++i) {
    report::SweepInput& sweep = sites[i].source.input.sweep;
    std::tie(sweep.submitted_unix_seconds, sweep.ended_unix_seconds) = times[i];
    sweep.specification_sha256 = "5ec";
    sweep.file_submitted = true;
  }
  const absl::StatusOr<StudySource> merged = Merge(std::move(sites));
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ(merged->input.sweep.submitted_unix_seconds, 10);
  EXPECT_EQ(merged->input.sweep.ended_unix_seconds, 200);
  EXPECT_EQ(merged->input.sweep.specification_sha256, "5ec") << "that of each";
  EXPECT_TRUE(merged->input.sweep.file_submitted);
}

// The file that each site ran, under its name, where they differ.
TEST(MergeTest, SweepFilesThatDifferAreAllKept) {
  std::vector<Site> sites = ThreeSites();
  sites[1].source.input.sweep.file = "name: second\n";
  for (Site& site : sites) {
    site.source.input.sweep.specification_sha256 = site.name == "lab2" ? "of lab2" : "5ec";
    site.source.input.sweep.file_submitted = site.name != "lab2";
  }
  const absl::StatusOr<StudySource> merged = Merge(std::move(sites));
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ(merged->input.sweep.file, "# lab1\nname: everywhere\n\n# lab2\nname: second\n");
  EXPECT_EQ(merged->input.sweep.specification_sha256, "") << "of all of them there is none";
  EXPECT_FALSE(merged->input.sweep.file_submitted) << "one of them is made up";
}

// Each site has had a pilot of its own; before all of them have decided, members are to come.
TEST(MergeTest, HowManyReplicatesItTakesIsDecidedOnceAllSitesHave) {
  const auto sites = [](const std::string& undecided) {
    std::vector<Site> all = ThreeSites();
    for (Site& site : all) {
      report::SweepInput& sweep = site.source.input.sweep;
      sweep.until = report::UntilInput{"churn", 0.01, 20, site.name != undecided};
      sweep.plans[1].pilot = 2;
    }
    return all;
  };
  const absl::StatusOr<StudySource> decided = Merge(sites(""));
  ASSERT_TRUE(decided.ok()) << decided.status();
  EXPECT_FALSE(decided->input.sweep.until.has_value()) << "a pilot's spread is that of one site";
  for (const report::PlanInput& plan : decided->input.sweep.plans) EXPECT_EQ(plan.pilot, 0u);
  for (const char* undecided : {"lab1", "lab2", "lab3"}) {
    const absl::StatusOr<StudySource> merged = Merge(sites(undecided));
    ASSERT_TRUE(merged.ok()) << merged.status();
    ASSERT_TRUE(merged->input.sweep.until.has_value()) << undecided;
    EXPECT_FALSE(merged->input.sweep.until->settled) << undecided;
  }
}

}  // namespace
}  // namespace noisefloor::inputs

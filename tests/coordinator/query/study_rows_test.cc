// What a study reads from the store, value by value: not finite ones, single classes, hashes of
// every evaluation, test sets of axes, failures, and the sweep as it was submitted.
#include "coordinator/query/study_rows.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "common/base/status.h"
#include "coordinator/query/load_cost.h"
#include "coordinator/store/database.h"
#include "coordinator/sweep/resolved_file.h"
#include "tests/common/files/scratch.h"
#include "tests/coordinator/query/filled_home.h"

namespace noisefloor::query {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class StudyRowsTest : public ::testing::Test {
 protected:
  StudyRows Rows(uint64_t sweep = 1) {
    auto database = OpenForReading(DatabasePath(home_.path()));
    EXPECT_TRUE(database.ok()) << database.status();
    auto rows = ReadStudyRows(**database, sweep);
    EXPECT_TRUE(rows.ok()) << rows.status();
    return *std::move(rows);
  }

  static const report::MemberInput& MemberOf(const StudyRows& rows, const std::string& id) {
    for (const report::MemberInput& member : rows.input.members) {
      if (member.id == id) return member;
    }
    ADD_FAILURE() << id;
    return rows.input.members.front();
  }

  // Cell 2, replicate 0, under lease 7, which is free in this home.
  void End(scheduler::KeepOutcome write, MemberState state,
           const std::vector<scheduler::Write>& before = {}) {
    write.outcome.artifacts.clear();
    home_.Apply({sample::Pin(2), sample::Grant(7, sample::Member(2, 0))});
    home_.Apply(before);
    home_.Apply({write, scheduler::SetMemberState{sample::Member(2, 0), state, 1, 0}});
  }

  nlohmann::json Json() {
    return nlohmann::json::parse(*home_.query().GetStudy({.form = StudyForm::kJson}));
  }

  FilledHome home_;
};

TEST_F(StudyRowsTest, FinalMetricsThatAreNotFiniteStayWhatTheyAre) {
  scheduler::KeepOutcome write = sample::Finish(7, sample::Member(2, 0));
  write.outcome.kind = Outcome::Kind::kDiverged;
  write.outcome.metrics = {{"loss", kNan}, {"top1", 0.125}, {"top5", kInfinity}};
  End(write, MemberState::kDiverged);

  const StudyRows rows = Rows();
  const auto& metrics = MemberOf(rows, "s1c2r0").final_metrics;

  EXPECT_TRUE(std::isnan(metrics.at("loss")));
  EXPECT_EQ(metrics.at("top1"), 0.125);
  EXPECT_EQ(metrics.at("top5"), kInfinity);
  EXPECT_EQ(Json()["members"][6]["final_metrics"]["loss"], "nan");
  EXPECT_EQ(Json()["members"][6]["final_metrics"]["top5"], "inf");
}

TEST_F(StudyRowsTest, CurvesKeepEveryPointInOrderAndWhatIsNotFinite) {
  scheduler::KeepRecords records{LeaseId{7}, sample::Member(2, 0), 1, {}};
  records.batch.sequence = 1;
  records.batch.records = {{10, 0.25, "train_loss", 2.5},       {20, 0.5, "train_loss", kNan},
                           {30, 0.75, "train_loss", kInfinity}, {40, 1, "train_loss", -kInfinity},
                           {40, 1, "test_top1", 0.5},           {40, 1, "test_top1_class_3", 0.75}};
  End(sample::Finish(7, sample::Member(2, 0)), MemberState::kDone, {records});

  const StudyRows rows = Rows();
  const auto& curves = MemberOf(rows, "s1c2r0").curves;

  const std::vector<report::CurvePoint>& loss = curves.at("train_loss");
  ASSERT_EQ(loss.size(), 4u);
  EXPECT_EQ(loss[0].value, 2.5);
  EXPECT_EQ(loss[0].epoch, 0.25);
  EXPECT_TRUE(std::isnan(loss[1].value));
  EXPECT_EQ(loss[1].step, 20);
  EXPECT_EQ(loss[2].value, kInfinity);
  EXPECT_EQ(loss[3].value, -kInfinity);
  EXPECT_EQ(curves.at("test_top1")[0].value, 0.5);
  EXPECT_FALSE(curves.contains("test_top1_class_3"));
}

TEST_F(StudyRowsTest, AccuraciesOfClassesStandAtTheirClass) {
  scheduler::KeepOutcome write = sample::Finish(7, sample::Member(2, 0));
  write.outcome.per_class_accuracy = {0.125, 0.25, 0.375};
  End(write, MemberState::kDone);

  EXPECT_THAT(MemberOf(Rows(), "s1c2r0").per_class_accuracy, ElementsAre(0.125, 0.25, 0.375));
}

TEST_F(StudyRowsTest, HashesOfEveryEvaluationStandAtTheirEvaluation) {
  scheduler::KeepOutcome write = sample::Finish(7, sample::Member(2, 0));
  write.outcome.hashes = {
      {"weights_at/1", std::string(64, '1')},  {"weights_at/2", std::string(64, '2')},
      {"weights_at/10", std::string(64, 'a')}, {"first_batches", std::string(64, 'f')},
      {"logits", std::string(64, 'e')},        {"deterministic/weights", std::string(64, '8')},
      {"plan/weights", std::string(64, '9')}};
  End(write, MemberState::kDone);

  const StudyRows rows = Rows();
  const report::Hashes& hashes = MemberOf(rows, "s1c2r0").hashes;

  ASSERT_EQ(hashes.weights_at.size(), 10u);
  EXPECT_EQ(hashes.weights_at[0], std::string(64, '1'));
  EXPECT_EQ(hashes.weights_at[1], std::string(64, '2'));
  EXPECT_EQ(hashes.weights_at[2], "");
  EXPECT_EQ(hashes.weights_at[9], std::string(64, 'a'));
  EXPECT_EQ(hashes.first_batches, std::string(64, 'f'));
  EXPECT_EQ(hashes.logits, std::string(64, 'e'));
  EXPECT_EQ(hashes.weights, "");
  EXPECT_EQ(hashes.deterministic_weights, std::string(64, '8'));
  EXPECT_EQ(hashes.plan_weights, std::string(64, '9'));
}

TEST_F(StudyRowsTest, AnAxisOverTheTestExamplesGivesEachItsOwnSet) {
  scheduler::KeepSweep keep = sample::Keep(2);
  keep.content.axes = {{{{"data.test_examples", {int64_t{6}, int64_t{4}}}}}};
  keep.cells = sweep::Expand(keep.content);
  home_.Apply({keep});

  const StudyRows rows = Rows(2);

  ASSERT_EQ(rows.evaluation_sets.size(), 2u);
  EXPECT_EQ(rows.evaluation_sets[0].key.test_examples, "6");
  EXPECT_EQ(rows.evaluation_sets[1].key.test_examples, "4");
  std::vector<size_t> sets;
  for (const report::CellInput& cell : rows.input.cells) sets.push_back(cell.evaluation);
  EXPECT_THAT(sets, ElementsAre(0, 0, 1, 1));
  EXPECT_EQ(rows.evaluation_sets[0].files.size(), 2u) << "sent by sweep 1";
  EXPECT_TRUE(rows.evaluation_sets[1].files.empty());
}

// A set of the same name, sent by who trained on other data, is not that of this sweep.
TEST_F(StudyRowsTest, LabelsOfOtherDataAreNotTaken) {
  home_.Apply({sample::Keep(2), sample::Keep(3),
               scheduler::PinIdentity{SweepId{2}, "fashion-mnist-sample", sample::kIdentity},
               scheduler::PinIdentity{SweepId{3}, "fashion-mnist-sample", std::string(64, '8')}});

  EXPECT_EQ(Rows(2).evaluation_sets.at(0).files.size(), 2u) << "sent by sweep 1";
  EXPECT_TRUE(Rows(3).evaluation_sets.at(0).files.empty());
}

TEST_F(StudyRowsTest, LabelsOfAnAcceptedResultComeBeforeThoseOfALaterOneThatWasNot) {
  const MemberId member = sample::Member(0, 1);
  scheduler::KeepOutcome late = sample::Finish(7, member, 2);
  late.accepted = false;
  late.reason = "the lease was lost";
  late.outcome.artifacts.clear();
  home_.AddFile(late.outcome, member, "evaluation_labels", "other labels");
  home_.Apply({sample::Grant(7, member, 2), late});

  const StudyRows rows = Rows();

  ASSERT_EQ(rows.evaluation_sets.at(0).files.size(), 2u);
  for (const inputs::InputFile& file : rows.evaluation_sets[0].files) {
    EXPECT_EQ(file.member, "s1c0r0") << file.kind;
  }
}

// Labels of another set of classes are not believed.
class WrongLabelsTest : public StudyRowsTest, public ::testing::WithParamInterface<int32_t> {};

TEST_P(WrongLabelsTest, AreNamedAndNotUsed) {
  scheduler::KeepOutcome write = sample::Finish(7, sample::Member(2, 0));
  write.outcome.artifacts.clear();
  const std::vector<int32_t> labels = {0, 1, 2, 3, 4, GetParam()};
  home_.AddFile(write.outcome, sample::Member(2, 0), "evaluation_labels",
                *EncodeNpy(MakeTensorView<int32_t>("labels", {kExamples}, labels)));
  home_.Apply({sample::Pin(2), sample::Grant(7, sample::Member(2, 0)), write,
               scheduler::SetMemberState{sample::Member(2, 0), MemberState::kDone, 1, 0}});

  const nlohmann::json study = Json();

  std::string told;
  for (const auto& warning : study["warnings"]) told += warning["text"].get<std::string>() + "\n";
  EXPECT_THAT(told, HasSubstr("the class " + std::to_string(GetParam()) +
                              " of example 5 is not below 10. The true classes are not known."));
}

INSTANTIATE_TEST_SUITE_P(BeyondBothEnds, WrongLabelsTest, ::testing::Values(10, -1));

TEST_F(StudyRowsTest, AFailedMemberTellsTheCauseAndMessageOfItsLastAttempt) {
  const auto failed = [](uint64_t lease, uint32_t attempt, CauseClass cause,
                         const std::string& message) {
    scheduler::KeepOutcome write = sample::Finish(lease, sample::Member(2, 1), attempt);
    write.outcome = {};
    write.outcome.cause = cause;
    write.outcome.message = message;
    write.accepted = false;
    write.reason = "it failed";
    return write;
  };
  home_.Apply({sample::Pin(2), sample::Grant(7, sample::Member(2, 1), 1),
               failed(7, 1, CauseClass::kLostDevice, "the GPU is gone"),
               sample::Grant(8, sample::Member(2, 1), 2),
               failed(8, 2, CauseClass::kBug, "exit code 15"),
               scheduler::SetMemberState{sample::Member(2, 1), MemberState::kFailed, 2, 0},
               sample::Grant(9, sample::Member(2, 2), 1),
               scheduler::DropLease{LeaseId{9}, CauseClass::kLostWorker, "box-1 fell silent",
                                    sample::At(70)},
               scheduler::SetMemberState{sample::Member(2, 2), MemberState::kFailed, 1, 0}});

  const nlohmann::json study = Json();

  EXPECT_EQ(study["members"][7]["failure"], "bug: exit code 15");
  EXPECT_EQ(study["members"][8]["failure"], "lost_worker: box-1 fell silent");
  EXPECT_EQ(study["members"][0]["failure"], "");
  std::string told;
  for (const auto& warning : study["warnings"]) {
    told +=
        warning["subject"].get<std::string>() + ": " + warning["text"].get<std::string>() + "\n";
  }
  EXPECT_THAT(told, HasSubstr("s1c2r1: Failed, bug: exit code 15\n"));
}

TEST_F(StudyRowsTest, AMemberThatFailedUntriedTellsWhyItsSweepDid) {
  const MemberId member = sample::Member(2, 1);
  home_.Apply(
      {scheduler::SetMemberState{member, MemberState::kFailed, 0, 0},
       scheduler::AppendEvent{
           SweepId{1}, {}, "members_failed", "nobody has the data", sample::At(70), EventId{100}}});

  EXPECT_EQ(Json()["members"][7]["failure"], "bad_data: nobody has the data");
  const auto outcome = home_.query().GetMember(member)->member.outcome;
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->attempt.cause, CauseClass::kBadData);
  EXPECT_EQ(outcome->attempt.message, "nobody has the data");
  EXPECT_FALSE(home_.query().GetMember(sample::Member(2, 0))->member.outcome) << "it waits";
  home_.Apply({scheduler::SetMemberState{sample::Member(2, 0), MemberState::kFailed, 0, 0}});
  MemberQuestion failed;
  failed.sweep = SweepId{1};
  failed.most = 10;
  failed.selection.states = {MemberState::kFailed};
  failed.selection.cells = {2};
  const auto page = home_.query().ListMembers(failed);
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->members.size(), 2u);
  for (const Member& one : page->members) {
    EXPECT_EQ(one.outcome->attempt.message, "nobody has the data") << ToText(one.id);
  }
}

// Whether a load acts is told by the states of other sources. Sources that are off and that 0.2 did
// not have are not told of at all.
TEST_F(StudyRowsTest, ALoadIsIdleByTheSourcesBesideIt) {
  scheduler::KeepSweep keep = sample::Keep(2);
  PutSetting(keep.content.base, "sources.load.choices", std::vector<int64_t>{0, 2});
  PutSetting(keep.content.base, "train.shards", int64_t{4});
  keep.content.plans = {{"alone", *sweep::BuiltInPlan("control")},
                        {"beside impl", *sweep::BuiltInPlan("impl")}};
  for (sweep::NoisePlan& plan : keep.content.plans) {
    RuleOf(plan.rules, NoiseSource::kLoad).state = SourceState::kFree;
  }
  keep.cells = sweep::Expand(keep.content);
  home_.Apply({keep});

  const StudyRows rows = Rows(2);
  ASSERT_FALSE(rows.input.cells.empty());
  for (const report::CellInput& cell : rows.input.cells) {
    EXPECT_EQ(cell.idle.contains(NoiseSource::kLoad), cell.plan == "alone") << cell.plan;
    EXPECT_EQ(cell.sources.at(NoiseSource::kLoad), SourceState::kFree);
    EXPECT_FALSE(cell.sources.contains(NoiseSource::kDial));
  }
}

TEST_F(StudyRowsTest, TheSweepIsToldAsItWasSubmitted) {
  scheduler::KeepSweep keep = sample::Keep(2);
  keep.content.reference_accuracy = 0.875;
  keep.content.plans[0].blocks = 2;
  keep.cells = sweep::Expand(keep.content);
  keep.file = "# mine\r\nname: two-rates\n";
  home_.Apply({keep});

  const report::SweepInput sweep = Rows(2).input.sweep;

  EXPECT_EQ(sweep.file, "# mine\r\nname: two-rates\n");
  EXPECT_TRUE(sweep.file_submitted);
  EXPECT_EQ(sweep.reference_accuracy, 0.875);
  EXPECT_EQ(sweep.submitted_unix_seconds, absl::ToUnixSeconds(sample::At(0)));
  EXPECT_EQ(sweep.ended_unix_seconds, 0) << "nothing has ended yet";
  ASSERT_EQ(sweep.plans.size(), 2u);
  EXPECT_EQ(sweep.plans[0].blocks, 2u);
  EXPECT_EQ(sweep.plans[0].replicates, 3u);
  EXPECT_EQ(sweep.plans[1].blocks, 1u);
  EXPECT_EQ(sweep.plans[1].sources.at(NoiseSource::kInit).state, SourceState::kFree);
  EXPECT_EQ(sweep.plans[0].sources.at(NoiseSource::kInit).state, SourceState::kFixed);
  ASSERT_EQ(sweep.axes.size(), 1u);
  EXPECT_EQ(sweep.axes[0][0].path, "train.optimizer.learning_rate");
  EXPECT_THAT(sweep.axes[0][0].values, ElementsAre("0.05", "0.5"));
  EXPECT_EQ(sweep.settings.size(), AllFields().size());
  for (const report::SettingInput& setting : sweep.settings) {
    EXPECT_EQ(setting.changed, setting.path == "data.test_examples") << setting.path;
  }
}

TEST_F(StudyRowsTest, ASweepWithoutAFileIsToldAsOneThatMeansTheSame) {
  const report::SweepInput sweep = Rows().input.sweep;

  EXPECT_FALSE(sweep.file_submitted);
  EXPECT_EQ(sweep.file, sweep::ResolvedFile(sample::Content()));
  EXPECT_THAT(sweep.file, StartsWith("name: \"two-rates\"\nseed: 18446744073709551615\n"));
  EXPECT_EQ(sweep.ended_unix_seconds, absl::ToUnixSeconds(sample::At(60)));
}

TEST_F(StudyRowsTest, AResultThatCameTooLateDoesNotMoveTheEnd) {
  scheduler::KeepOutcome late = sample::Finish(7, sample::Member(0, 0), 2);
  late.outcome.artifacts.clear();
  late.accepted = false;
  late.reason = "the lease was lost";
  late.at = sample::At(90000);
  home_.Apply({sample::Grant(7, sample::Member(0, 0), 2), late});

  EXPECT_EQ(Rows().input.sweep.ended_unix_seconds, absl::ToUnixSeconds(sample::At(60)));
}

// Of two measurements one has lost its file: what is told of kernels is that of the other.
TEST(LoadCostTest, KernelsThatCannotBeReadAreNamedAndLeftOut) {
  const Scratch scratch;
  (void)scratch.Put("kernels.json",
                    R"({"device": "cuda", "profiled_steps": 2, "primitives": {}, "arms":)"
                    R"({"deterministic": [["gemm", 6, 0.03]], "plan": [["wgrad", 4, 0.02]]}})");
  StudyRows rows;
  rows.input.cells.push_back({.plan = "impl", .hardware = "nvidia-v100"});
  for (const char* id : {"s1c0r0", "s1c0r1", "s1c0r2"}) {
    report::MemberInput& member = rows.input.members.emplace_back();
    member.id = id;
    member.replicate = static_cast<uint32_t>(rows.files.size());
    member.state = MemberState::kDone;
    rows.files.emplace_back();
  }
  rows.files[0] = {{"log", "s1c0r0", "log.txt", "", 0},
                   {"kernels", "s1c0r0", "kernels.json", "", 0}};
  rows.files[1] = {{"kernels", "s1c0r1", "gone.json", "", 0}};  // The last has sent none.

  const report::CostStudy study =
      LoadCost(rows, [&](const inputs::InputFile& file) -> absl::StatusOr<std::string> {
        if (file.path != "gone.json") return scratch.Path(file.path);
        return MakeError(absl::StatusCode::kNotFound, "it is gone");
      });

  ASSERT_FALSE(study.warnings.empty());
  EXPECT_EQ(study.warnings[0], "s1c0r1: it is gone. Its kernels are left out.");
  ASSERT_EQ(study.rows.size(), 1u);
  ASSERT_EQ(study.rows[0].kernels.count("plan"), 1u);
  EXPECT_EQ(study.rows[0].kernels.at("plan").at(0).name, "wgrad");
  EXPECT_DOUBLE_EQ(study.rows[0].kernels.at("plan").at(0).seconds, 0.01) << "of each of two steps";
  EXPECT_DOUBLE_EQ(study.rows[0].kernels.at("deterministic").at(0).seconds, 0.015);
}

}  // namespace
}  // namespace noisefloor::query

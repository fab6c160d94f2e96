#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "SQLiteCpp/SQLiteCpp.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "common/base/clock.h"
#include "coordinator/query/study_source_of.h"
#include "coordinator/report/study_json.h"
#include "coordinator/store/database.h"
#include "coordinator/store/summed_vfs.h"
#include "tests/coordinator/query/filled_home.h"

namespace noisefloor::query {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Form = StudyForm;

class StudyTest : public ::testing::Test {
 protected:
  std::string Study(Form form) {
    const auto text = home_.query().GetStudy({.form = form});
    EXPECT_TRUE(text.ok()) << text.status();
    return text.ok() ? *text : "null";
  }
  nlohmann::json Json() { return nlohmann::json::parse(Study(Form::kJson)); }

  void ChangeOneByte(const std::string& member, const std::string& kind) {
    std::fstream file(home_.blobs().PathOf(home_.Blob(member, kind).sha256),
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(-1, std::ios::end);
    const char last = static_cast<char>(file.get());
    file.seekp(-1, std::ios::end);
    file.put(static_cast<char>(last ^ 1));
  }

  // The first whose subject begins so: the gravest, for those of one cell.
  static std::string WarningAbout(const nlohmann::json& study, const std::string& subject) {
    for (const auto& warning : study["warnings"]) {
      if (warning["subject"].get<std::string>().starts_with(subject)) return warning["text"];
    }
    return "";
  }

  // A result of s1c0r0 with other weights than the accepted one's.
  static scheduler::KeepOutcome Late(uint64_t lease) {
    scheduler::KeepOutcome late = sample::Finish(lease, sample::Member(0, 0), 2);
    late.accepted = false;
    late.reason = "the lease was lost";
    late.outcome.hashes["weights"] = std::string(64, 'f');
    late.outcome.artifacts.clear();
    return late;
  }

  void Done(uint64_t lease, MemberId member, const std::string& environment,
            const std::string& unit = "cpu of box-1") {
    scheduler::KeepOutcome write = sample::Finish(lease, member);
    write.outcome.artifacts.clear();
    write.outcome.environment = environment;
    scheduler::GrantLease grant = sample::Grant(lease, member);
    grant.unit = unit;
    home_.Apply({grant, write, scheduler::SetMemberState{member, MemberState::kDone, 1, 0}});
  }

  FilledHome home_;
  VerifiedFiles verified_;
};

TEST_F(StudyTest, FiguresComeFromRowsAndFiles) {
  const nlohmann::json study = Json();

  ASSERT_EQ(study["cohorts"].size(), 4u);
  const auto& control = study["cohorts"][0];
  const auto& algo = study["cohorts"][1];
  EXPECT_EQ(control["counts"]["done"], 3);
  EXPECT_EQ(control["churn"]["value"], 0.0);
  EXPECT_EQ(control["l2_raw"]["value"], 0.0);
  EXPECT_DOUBLE_EQ(algo["churn"]["value"].get<double>(), 2.0 / 6);
  // Weights 1, 2, 3 apart: pairs at 1, 1, 2. With the running mean, ten times as far, and the
  // running variance, twenty times: sqrt(501).
  EXPECT_NEAR(algo["l2_raw"]["value"].get<double>(), 4.0 / 3, 1e-6);
  EXPECT_NEAR(algo["l2_raw_all"]["value"].get<double>(), 4.0 / 3 * std::sqrt(501.0), 1e-5);
  EXPECT_EQ(study["cohorts"][2]["counts"]["missing"], 3);
  EXPECT_EQ(study["evaluation"]["examples"], kExamples);
  EXPECT_EQ(study["evaluation"]["class_names"][9], "Ankle boot");
  EXPECT_EQ(study["controls"][0]["verdict"], "identical");
}

// What a study is made of is all there, on its way through text: the same study, byte for byte.
TEST_F(StudyTest, ItsInputGivesTheSameStudy) {
  const auto source = inputs::SourceFromJson(Study(Form::kInput));
  ASSERT_TRUE(source.ok()) << source.status();
  const inputs::LoadedStudy loaded = inputs::LoadArrays(*source, FilesOf(home_.blobs(), verified_));
  EXPECT_TRUE(loaded.faults.empty());
  EXPECT_EQ(report::StudyToJson(inputs::BuildStudy(loaded)), Study(Form::kJson));
}

TEST_F(StudyTest, IdleSourcesFollowFromTheSettingsOfTheCell) {
  const nlohmann::json study = Json();

  // small_cnn on images as they are: of what algo frees, init and data_order act.
  EXPECT_EQ(study["cohorts"][0]["idle"], nlohmann::json::array());  // Control frees nothing.
  EXPECT_EQ(study["cohorts"][1]["idle"], nlohmann::json({"augment", "dropout"}));
  EXPECT_EQ(study["cohorts"][1]["acting"], nlohmann::json({"init", "data_order"}));
}

TEST_F(StudyTest, AChangedByteIsNamedAndThosePredictionsAreLeftOut) {
  ChangeOneByte("s1c1r1", "predictions");

  const nlohmann::json study = Json();

  EXPECT_THAT(WarningAbout(study, "s1c1r1"), HasSubstr("its content has changed"));
  EXPECT_THAT(WarningAbout(study, "s1c1r1"), HasSubstr("Its predictions are left out"));
  EXPECT_EQ(study["cohorts"][1]["counts"]["without_predictions"], 1);
  EXPECT_EQ(study["cohorts"][1]["churn"]["n"], 2);
}

// What is kept of logits is not read again from them: only the figures of logits notice.
TEST_F(StudyTest, AnswersThatAreKnownOutliveTheirLogits) {
  const nlohmann::json before = Json();
  ChangeOneByte("s1c1r1", "predictions");
  home_.Apply({scheduler::SetMemberState{sample::Member(2, 0), MemberState::kCancelled, 0, 0}});

  const nlohmann::json after = Json();

  EXPECT_EQ(after["cohorts"][1]["counts"]["without_predictions"], 0);
  EXPECT_EQ(after["cohorts"][1]["churn"], before["cohorts"][1]["churn"]);
  EXPECT_EQ(before["ensembles"]["cohorts"][0]["members"], 3);
  EXPECT_EQ(after["ensembles"]["cohorts"][0]["members"], 2);
  EXPECT_THAT(WarningAbout(after, "s1c1r1"), HasSubstr("its content has changed"));
  EXPECT_THAT(WarningAbout(after, "s1c1r1"),
              HasSubstr("Its logits are left out; what it answers is known"));
}

// A digest that is damaged, or that a loss of power has cut off, is made anew.
TEST_F(StudyTest, ADamagedDigestIsMadeAnew) {
  const std::string before = Study(Form::kJson);
  const DerivedFiles digests = DerivedFiles::At(home_.path());
  const BlobName logits = home_.Blob("s1c1r1", "predictions");
  const std::string whole = *digests.Read(logits.sha256);
  const auto source = inputs::SourceFromJson(Study(Form::kInput));
  ASSERT_TRUE(source.ok()) << source.status();
  for (const std::string& damaged : {whole.substr(0, 9), whole + "x", std::string()}) {
    ASSERT_TRUE(digests.Keep(logits.sha256, damaged).ok());
    const inputs::LoadedStudy loaded = inputs::LoadArrays(
        *source, FilesOf(home_.blobs(), verified_), DigestsOf(home_.blobs(), digests, verified_));
    EXPECT_EQ(report::StudyToJson(inputs::BuildStudy(loaded)), before);
    EXPECT_EQ(*digests.Read(logits.sha256), whole);
  }
}

// A file that is gone is not answered for.
TEST_F(StudyTest, PredictionsThatAreGoneAreLeftOutThoughTheirDigestIsThere) {
  (void)Json();
  ASSERT_TRUE(RemoveFile(home_.blobs().PathOf(home_.Blob("s1c1r1", "predictions").sha256)).ok());
  home_.Apply({scheduler::SetMemberState{sample::Member(2, 0), MemberState::kCancelled, 0, 0}});

  const nlohmann::json study = Json();

  EXPECT_THAT(WarningAbout(study, "s1c1r1"), HasSubstr("Its predictions are left out"));
  EXPECT_EQ(study["cohorts"][1]["counts"]["without_predictions"], 1);
}

TEST_F(StudyTest, ADigestIsMadeWhenItsFileHasCome) {
  const BlobName logits = home_.Blob("s1c1r1", "predictions");
  const DerivedFiles digests = DerivedFiles::At(home_.path());
  ASSERT_TRUE(absl::IsNotFound(digests.Read(logits.sha256).status()));

  {
    auto query = Query::Open({.home = home_.path()});
    ASSERT_TRUE(query.ok()) << query.status();
    (*query)->MakeDigest(logits);
    (*query)->MakeDigest(home_.Blob("s1c1r1", "weights"));  // Are no logits.
  }

  const auto digest = inputs::DecodeDigest(*digests.Read(logits.sha256), logits.sha256);
  ASSERT_TRUE(digest.ok()) << digest.status();
  EXPECT_EQ(digest->classes, kClasses);
  EXPECT_FALSE(digests.Read(home_.Blob("s1c1r1", "weights").sha256).ok());
}

TEST_F(StudyTest, AfterMoreThanMayWaitDigestsAreMadeAsBefore) {
  const BlobName first = home_.Blob("s1c1r0", "predictions");
  const BlobName later = home_.Blob("s1c1r1", "predictions");
  const DerivedFiles digests = DerivedFiles::At(home_.path());
  auto query = Query::Open({.home = home_.path(), .digest_bytes = 0});
  ASSERT_TRUE(query.ok()) << query.status();
  // One at a time may wait: faster than files are written, most of these are refused.
  for (int i = 0; i < 1000; ++i) (*query)->MakeDigest(first);

  // Nobody can see when none waits any more: asked for until it is taken.
  const SystemClock clock;
  const absl::Duration give_up = clock.Steady() + absl::Minutes(1);
  while (!digests.Read(later.sha256).ok() && clock.Steady() < give_up) (*query)->MakeDigest(later);

  EXPECT_TRUE(digests.Read(later.sha256).ok());
}

TEST_F(StudyTest, AnEnvironmentThatHasChangedIsNamedAndLeftOut) {
  SQLite::Database database(DatabasePath(home_.path()), SQLite::OPEN_READWRITE, 0, SummedVfs());
  ASSERT_GT(database.exec("UPDATE environment SET facts = replace(facts, '9000', '9001')"), 0);

  const nlohmann::json study = Json();

  EXPECT_THAT(WarningAbout(study, "s1c0r0"), HasSubstr("Its environment in the store is damaged"));
  EXPECT_THAT(study["environment"].dump(), Not(HasSubstr("9001")));
  EXPECT_EQ(study["cohorts"][0]["counts"]["done"], 3) << "its figures stand";
}

TEST_F(StudyTest, MissingWeightsAreNamedAndPredictionsStay) {
  ASSERT_TRUE(RemoveFile(home_.blobs().PathOf(home_.Blob("s1c1r2", "weights").sha256)).ok());

  const nlohmann::json study = Json();

  EXPECT_THAT(WarningAbout(study, "s1c1r2"), HasSubstr("Its weights are left out"));
  EXPECT_EQ(study["cohorts"][1]["counts"]["without_weights"], 1);
  EXPECT_EQ(study["cohorts"][1]["churn"]["n"], 3);
}

TEST_F(StudyTest, WithoutTrueLabelsChurnIsStillMeasured) {
  ChangeOneByte("s1c0r0", "evaluation_labels");

  const nlohmann::json study = Json();

  EXPECT_THAT(WarningAbout(study, "sweep"), HasSubstr("The true classes are not known"));
  EXPECT_DOUBLE_EQ(study["cohorts"][1]["churn"]["value"].get<double>(), 2.0 / 6);
}

TEST_F(StudyTest, ALateResultOfALostLeaseIsAFreeBitCheck) {
  home_.Apply({sample::Grant(7, sample::Member(0, 0), 2), Late(7)});

  const nlohmann::json study = Json();

  EXPECT_EQ(study["controls"][0]["verdict"], "different");
  EXPECT_EQ(study["controls"][0]["duplicates"], 1);
}

TEST_F(StudyTest, ALateResultOverOtherDataIsNoCheckOfBits) {
  scheduler::KeepOutcome late = Late(7);
  late.outcome.data_identity = std::string(64, '8');
  home_.Apply({sample::Grant(7, sample::Member(0, 0), 2), late});

  const nlohmann::json study = Json();

  EXPECT_EQ(study["controls"][0]["verdict"], "identical");
  EXPECT_EQ(study["controls"][0]["duplicates"], 0);
  EXPECT_THAT(WarningAbout(study, "s1c0r0"), HasSubstr("lease 7 is no check of its bits: it was "
                                                       "over other data"));
}

TEST_F(StudyTest, ALateResultOfAnotherBuildIsNoCheckOfBits) {
  scheduler::KeepOutcome late = Late(7);
  late.outcome.environment = R"({"build":"build-2"})";
  home_.Apply({sample::Grant(7, sample::Member(0, 0), 2), late});

  const nlohmann::json study = Json();

  EXPECT_EQ(study["controls"][0]["verdict"], "identical");
  EXPECT_EQ(study["controls"][0]["duplicates"], 0);
  EXPECT_THAT(WarningAbout(study, "s1c0r0"), HasSubstr("it came from other software"));
}

TEST_F(StudyTest, AnEnvironmentThatIsGoneOrMeasuredNonsenseIsNamedAndLeftOut) {
  SQLite::Database database(DatabasePath(home_.path()), SQLite::OPEN_READWRITE, 0, SummedVfs());
  database.exec("PRAGMA foreign_keys = OFF");
  ASSERT_EQ(database.exec("UPDATE attempt SET environment = environment + 1 WHERE lease = 1"), 1);
  ASSERT_EQ(database.exec("UPDATE attempt SET measured = '{\"a\":' WHERE lease = 2"), 1);

  const nlohmann::json study = Json();

  EXPECT_THAT(WarningAbout(study, "s1c0r0"), HasSubstr("Its environment in the store is damaged"));
  EXPECT_THAT(WarningAbout(study, "s1c0r1"), HasSubstr("Its environment in the store is damaged"));
}

TEST_F(StudyTest, ALateResultWhoseEnvironmentHasChangedIsNoCheckOfBits) {
  scheduler::KeepOutcome late = Late(7);
  late.outcome.environment = R"({"build":"build-2"})";
  home_.Apply({sample::Grant(7, sample::Member(0, 0), 2), late});
  SQLite::Database database(DatabasePath(home_.path()), SQLite::OPEN_READWRITE, 0, SummedVfs());
  ASSERT_EQ(database.exec("UPDATE environment SET facts = '{}' WHERE facts LIKE '%build-2%'"), 1);

  const nlohmann::json study = Json();

  EXPECT_EQ(study["controls"][0]["duplicates"], 0);
  EXPECT_THAT(WarningAbout(study, "s1c0r0"),
              HasSubstr("lease 7 is no check of its bits: its environment in the store is damaged"))
      << "and that of the accepted attempt is not";
}

TEST_F(StudyTest, ACohortTrainedByTwoBuildsIsAnError) {
  home_.Apply({sample::Pin(2)});
  Done(7, sample::Member(2, 0), R"({"build":"build-1","stack_fingerprint":"f"})");
  Done(8, sample::Member(2, 1), R"({"build":"build-2","stack_fingerprint":"f"})");

  const nlohmann::json study = Json();

  EXPECT_THAT(WarningAbout(study, "cell 2"), HasSubstr("Mixes 2 trainer builds"));
  EXPECT_EQ(study["cohorts"][2]["trainer_build"], "build-1 and build-2");
  EXPECT_EQ(study["cohorts"][2]["stack_fingerprint"], "fingerprint-1") << "as it was pinned";
}

TEST_F(StudyTest, ACohortTrainedByTwoStacksOfOneBuildIsAnError) {
  Done(7, sample::Member(2, 0), R"({"build":"build-1","stack_fingerprint":"f"})");
  Done(8, sample::Member(2, 1), R"({"build":"build-1","stack_fingerprint":"g"})");

  EXPECT_THAT(WarningAbout(Json(), "cell 2"), HasSubstr("Mixes 2 stack fingerprints"));
}

TEST_F(StudyTest, OneBuildAndOneStackAreNoMixture) {
  Done(7, sample::Member(2, 0), R"({"build":"build-1","stack_fingerprint":"f"})");
  Done(8, sample::Member(2, 1), R"({"build":"build-1","stack_fingerprint":"f"})");

  EXPECT_EQ(WarningAbout(Json(), "cell 2").find("Mixes"), std::string::npos);
}

TEST_F(StudyTest, TheUnitOfAMemberIsThatOfItsLease) {
  scheduler::PinCell pin = sample::Pin(2);
  pin.hardware = "nvidia-h200";
  home_.Apply({pin});
  Done(7, sample::Member(2, 0), "{}", "GPU-1");
  Done(8, sample::Member(2, 1), "{}", "GPU-2");
  Done(9, sample::Member(2, 2), "{}", "GPU-1+GPU-2");
  Done(10, sample::Member(3, 0), R"({"gpu":{"uuid":"GPU-1"}})");

  const nlohmann::json study = Json();

  EXPECT_EQ(study["members"][6]["unit"], "GPU-1");
  EXPECT_EQ(study["members"][7]["unit"], "GPU-2");
  EXPECT_EQ(study["members"][8]["unit"], "GPU-1+GPU-2");
  EXPECT_EQ(study["members"][9]["unit"], "cpu of box-1") << "it trained on the CPU beside the GPU";
}

// A worker of version 0.1 has one unit for all of its GPUs, with spaces between them.
TEST_F(StudyTest, OfAUnitOfSeveralGpusItIsTheOneThatTheMemberTells) {
  scheduler::PinCell pin = sample::Pin(2);
  pin.hardware = "nvidia-h200";
  home_.Apply({pin});
  Done(7, sample::Member(2, 0), R"({"gpu":{"uuid":"GPU-2"}})", "GPU-1 GPU-2");
  Done(8, sample::Member(2, 1), R"({"gpu":{"uuid":"GPU-3"}})", "GPU-1 GPU-2");
  Done(9, sample::Member(2, 2), R"({"gpu":{"uuid":"GPU-1"}})", "GPU-1+GPU-2");

  const nlohmann::json study = Json();

  EXPECT_EQ(study["members"][6]["unit"], "GPU-2");
  EXPECT_EQ(study["members"][7]["unit"], "GPU-1 GPU-2") << "it is none of them";
  EXPECT_EQ(study["members"][8]["unit"], "GPU-1+GPU-2") << "it trained on both";
}

// Cells 0 and 1 on the sample, 2 and 3 on CIFAR-100; two members of cell 3 are done.
class TwoDataSetsTest : public StudyTest {
 protected:
  TwoDataSetsTest() {
    scheduler::KeepSweep keep = sample::Keep(2);
    keep.content.axes = {
        {{{"data.name", {std::string("fashion-mnist-sample"), std::string("cifar100")}}}}};
    keep.cells = sweep::Expand(keep.content);
    home_.Apply({keep,
                 scheduler::PinIdentity{SweepId{2}, "fashion-mnist-sample", sample::kIdentity},
                 scheduler::PinIdentity{SweepId{2}, "cifar100", kCifarIdentity}});
    Finish(7, 1, 0, 10, 0);
    Finish(8, 3, 0, 100, 0);
    Finish(9, 3, 1, 100, 1);
  }

  // Example i is of class i; the first `wrong` examples are told as class 9.
  void Finish(uint64_t lease, uint32_t cell, uint32_t replicate, int64_t classes, int64_t wrong) {
    const MemberId member = {SweepId{2}, cell, replicate};
    scheduler::KeepOutcome write = sample::Finish(lease, member);
    write.outcome.artifacts.clear();
    write.outcome.metrics = {};
    if (classes == 100) write.outcome.data_identity = kCifarIdentity;
    std::vector<float> logits(static_cast<size_t>(kExamples * classes), 0);
    for (int64_t i = 0; i < kExamples; ++i) {
      logits[static_cast<size_t>(i * classes + (i < wrong ? 9 : i))] = 1;
    }
    home_.AddFile(write.outcome, member, "predictions",
                  *EncodeNpy(MakeTensorView<float>("logits", {kExamples, classes}, logits)));
    if (lease == 8) {
      const std::vector<int32_t> labels = {0, 1, 2, 3, 4, 5};
      home_.AddFile(write.outcome, member, "evaluation_labels",
                    *EncodeNpy(MakeTensorView<int32_t>("labels", {kExamples}, labels)));
    }
    home_.Apply({sample::Grant(lease, member), write,
                 scheduler::SetMemberState{member, MemberState::kDone, 1, 0}});
  }

  static inline const std::string kCifarIdentity = std::string(64, '7');
};

TEST_F(TwoDataSetsTest, EachCellIsJudgedOnItsOwnSet) {
  const nlohmann::json study = Json();

  const auto& fashion = study["cohorts"][1];
  const auto& cifar = study["cohorts"][3];
  EXPECT_EQ(fashion["per_class"][0]["name"], "T-shirt/top") << "sent by sweep 1";
  EXPECT_EQ(cifar["per_class"][0]["name"], "apple");
  EXPECT_EQ(cifar["counts"]["without_predictions"], 0);
  EXPECT_DOUBLE_EQ(cifar["churn"]["value"].get<double>(), 1.0 / 6);
  EXPECT_DOUBLE_EQ(cifar["accuracy"]["value"].get<double>(), (1.0 + 5.0 / 6) / 2);
  EXPECT_EQ(study["evaluation"]["data_set"], "fashion-mnist-sample");
  EXPECT_THAT(WarningAbout(study, "sweep"),
              HasSubstr("2 sets of examples: fashion-mnist-sample (6 examples) and cifar100 (6"));
}

// Two members whose predictions of two evaluations were kept beside those of the end; at the first
// the second member answers one example otherwise, at the second three.
class OnTheWayTest : public StudyTest {
 protected:
  OnTheWayTest() {
    for (uint32_t replicate = 0; replicate < 2; ++replicate) {
      const MemberId member = sample::Member(2, replicate);
      const uint64_t lease = 20 + replicate;
      scheduler::KeepOutcome write = sample::Finish(lease, member);
      write.outcome.artifacts.clear();
      home_.AddFile(write.outcome, member, "predictions-1", Logits(replicate));
      home_.AddFile(write.outcome, member, "predictions-2", Logits(3 * replicate));
      home_.AddFile(write.outcome, member, "predictions", Logits(3 * replicate));
      home_.AddFile(write.outcome, member, "weights-1", home_.Weights(0));
      home_.AddFile(write.outcome, member, "weights-2", home_.Weights(replicate == 0 ? 0 : 1));
      home_.Apply({sample::Grant(lease, member), sample::Records(lease, member, 1),
                   sample::Records(lease, member, 2), write,
                   scheduler::SetMemberState{member, MemberState::kDone, 1, 0}});
    }
  }

  // Example i is of class i; the first `wrong` examples are told as class 9.
  static std::string Logits(int64_t wrong) {
    std::vector<float> values(kExamples * kClasses, 0);
    for (int64_t i = 0; i < kExamples; ++i) {
      values[static_cast<size_t>(i * kClasses + (i < wrong ? 9 : i))] = 1;
    }
    return *EncodeNpy(MakeTensorView<float>("logits", {kExamples, kClasses}, values));
  }
};

TEST_F(OnTheWayTest, DistanceIsFollowedOverTheEvaluations) {
  const nlohmann::json distance = Json()["trajectories"][0]["l2_normalised"];
  ASSERT_EQ(distance.size(), 2u);
  EXPECT_EQ(distance[0]["value"], 0.0);
  // Of {0, 2, 3} and {1, 2, 3}.
  EXPECT_NEAR(distance[1]["value"].get<double>(), std::sqrt(2 - 2 * std::sqrt(13.0 / 14)), 1e-12);
}

TEST_F(OnTheWayTest, WhatMadeRoomIsSaidOnceForAllEvaluations) {
  scheduler::CollectArtifacts collected;
  for (const char* kind : {"weights-1", "weights-2"}) {
    for (const uint64_t lease : {20, 21}) {
      collected.artifacts.push_back({LeaseId{lease}, kind, kind + std::string(".file")});
    }
  }
  collected.at = sample::At(90);
  home_.Apply({collected});

  const nlohmann::json study = Json();

  EXPECT_THAT(
      study["warnings"].dump(),
      HasSubstr("The weights after evaluations of 2 members were removed to make room; what "
                "is said of weights after evaluations is of what is left."));
  EXPECT_THAT(study["warnings"].dump(), Not(HasSubstr("weights-1")));
  EXPECT_TRUE(study["trajectories"][0]["l2_normalised"][0]["value"].is_null());
  EXPECT_FALSE(study["trajectories"][0]["churn"][0]["value"].is_null());
}

TEST_F(OnTheWayTest, DamagedWeightsAreLeftOutAtTheirEvaluation) {
  ChangeOneByte("s1c2r1", "weights-2");
  const nlohmann::json study = Json();
  EXPECT_EQ(study["trajectories"][0]["l2_normalised"][0]["value"], 0.0);
  EXPECT_TRUE(study["trajectories"][0]["l2_normalised"][1]["value"].is_null());
  EXPECT_FALSE(study["trajectories"][0]["churn"][1]["value"].is_null());
  EXPECT_THAT(study["warnings"].dump(),
              HasSubstr("Its weights after such an evaluation are left out."));
}

TEST_F(OnTheWayTest, ChurnIsFollowedOverTheEvaluations) {
  const nlohmann::json study = Json();

  ASSERT_EQ(study["trajectories"].size(), 1u);
  const auto& of = study["trajectories"][0];
  EXPECT_EQ(of["cells"], nlohmann::json({2}));
  EXPECT_EQ(of["steps"], nlohmann::json({10, 20}));
  EXPECT_DOUBLE_EQ(of["churn"][0]["value"].get<double>(), 1.0 / kExamples);
  EXPECT_DOUBLE_EQ(of["churn"][1]["value"].get<double>(), 3.0 / kExamples);
}

TEST_F(OnTheWayTest, TheInputGivesTheSameStudyWithoutDigests) {
  const auto source = inputs::SourceFromJson(Study(Form::kInput));
  ASSERT_TRUE(source.ok()) << source.status();
  const inputs::LoadedStudy loaded = inputs::LoadArrays(*source, FilesOf(home_.blobs(), verified_));
  EXPECT_EQ(report::StudyToJson(inputs::BuildStudy(loaded)), Study(Form::kJson));
}

TEST_F(OnTheWayTest, WhatIsDamagedIsLeftOutAtItsEvaluation) {
  ChangeOneByte("s1c2r1", "predictions-1");

  const nlohmann::json study = Json();

  EXPECT_TRUE(study["trajectories"][0]["churn"][0]["value"].is_null());
  EXPECT_FALSE(study["trajectories"][0]["churn"][1]["value"].is_null());
  EXPECT_THAT(study["warnings"].dump(), HasSubstr("Evaluations with such a file are left out."));
}

TEST_F(StudyTest, TheStudyFollowsTheStore) {
  EXPECT_EQ(Json()["cohorts"][2]["counts"]["cancelled"], 0);

  home_.Apply({scheduler::SetMemberState{sample::Member(2, 0), MemberState::kCancelled, 0, 0}});

  EXPECT_EQ(Json()["cohorts"][2]["counts"]["cancelled"], 1);
}

TEST_F(StudyTest, TablesAreAsNarrowAsAskedFor) {
  const std::string text = *home_.query().GetStudy({.form = Form::kTables, .columns = 75});

  EXPECT_THAT(text, HasSubstr("c2 control, cpu-test-avx2, no stack yet, learning_rate=0.5"));
  std::istringstream lines(text);
  size_t longest = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 75u) << line;
    longest = std::max(longest, line.size());
  }
  EXPECT_GT(longest, 60u);
}

TEST_F(StudyTest, EveryFormTellsTheSame) {
  EXPECT_THAT(Study(Form::kTables), HasSubstr("algo"));
  EXPECT_THAT(Study(Form::kCsv), HasSubstr("table,cell,label"));
  EXPECT_THAT(Study(Form::kPage), HasSubstr("draw();"));
}

}  // namespace
}  // namespace noisefloor::query

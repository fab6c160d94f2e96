#include <cmath>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "coordinator/query/load_study.h"
#include "coordinator/query/reader_pool.h"
#include "coordinator/query/work_queue.h"
#include "coordinator/store/database.h"
#include "tests/coordinator/query/filled_home.h"

namespace noisefloor::query {
namespace {

using ::testing::HasSubstr;
using Form = v1::GetStudyRequest;

class StudyTest : public ::testing::Test {
 protected:
  std::string Study(Form::Form form) {
    v1::GetStudyRequest request;
    request.set_form(form);
    const auto text = home_.query().GetStudy(request);
    EXPECT_TRUE(text.ok()) << text.status();
    return text.ok() ? *text : "null";
  }
  nlohmann::json Json() { return nlohmann::json::parse(Study(Form::FORM_JSON)); }

  void ChangeOneByte(const std::string& member, const std::string& kind) {
    std::fstream file(home_.blobs().PathOf(home_.Blob(member, kind).sha256),
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(-1, std::ios::end);
    const char last = static_cast<char>(file.get());
    file.seekp(-1, std::ios::end);
    file.put(static_cast<char>(last ^ 1));
  }

  static std::string WarningAbout(const nlohmann::json& study, const std::string& subject) {
    for (const auto& warning : study["warnings"]) {
      if (warning["subject"] == subject) return warning["text"];
    }
    return "";
  }

  FilledHome home_;
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
  // Weights 1, 2, 3 apart: pairs at 1, 1, 2. With the running mean, ten times as far: sqrt(101).
  EXPECT_NEAR(algo["l2_raw"]["value"].get<double>(), 4.0 / 3, 1e-6);
  EXPECT_NEAR(algo["l2_raw_all"]["value"].get<double>(), 4.0 / 3 * std::sqrt(101.0), 1e-5);
  EXPECT_EQ(study["cohorts"][2]["counts"]["missing"], 3);
  EXPECT_EQ(study["evaluation"]["examples"], kExamples);
  EXPECT_EQ(study["evaluation"]["class_names"][9], "Ankle boot");
  EXPECT_EQ(study["controls"][0]["verdict"], "identical");
}

TEST_F(StudyTest, AChangedByteIsNamedAndThosePredictionsAreLeftOut) {
  ChangeOneByte("s1c1r1", "predictions");

  const nlohmann::json study = Json();

  EXPECT_THAT(WarningAbout(study, "s1c1r1"), HasSubstr("its content has changed"));
  EXPECT_THAT(WarningAbout(study, "s1c1r1"), HasSubstr("Its predictions are left out"));
  EXPECT_EQ(study["cohorts"][1]["counts"]["without_predictions"], 1);
  EXPECT_EQ(study["cohorts"][1]["churn"]["n"], 2);
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
  scheduler::KeepOutcome late = sample::Finish(7, sample::Member(0, 0), 2);
  late.accepted = false;
  late.reason = "the lease was lost";
  late.outcome.hashes["weights"] = std::string(64, 'f');
  late.outcome.artifacts.clear();
  home_.Apply({sample::Grant(7, sample::Member(0, 0), 2), late});

  const nlohmann::json study = Json();

  EXPECT_EQ(study["controls"][0]["verdict"], "different");
  EXPECT_EQ(study["controls"][0]["duplicates"], 1);
}

TEST_F(StudyTest, TheStudyFollowsTheStore) {
  EXPECT_EQ(Json()["cohorts"][2]["counts"]["cancelled"], 0);

  home_.Apply(
      {scheduler::SetMemberState{sample::Member(2, 0), scheduler::MemberState::kCancelled, 0, 0}});

  EXPECT_EQ(Json()["cohorts"][2]["counts"]["cancelled"], 1);
}

TEST_F(StudyTest, EveryFormTellsTheSame) {
  EXPECT_THAT(Study(Form::FORM_TABLES), HasSubstr("algo"));
  EXPECT_THAT(Study(Form::FORM_CSV), HasSubstr("table,cell,label"));
  EXPECT_THAT(Study(Form::FORM_PAGE), HasSubstr("draw();"));
  v1::GetStudyRequest request;
  EXPECT_EQ(home_.query().GetStudy(request).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(WorkQueueTest, PostedWorkIsDoneBeforeTheQueueIsGoneAndTooMuchIsRefused) {
  int done = 0;
  {
    Mutex gate;
    gate.Lock();
    WorkQueue queue(1, 2);
    int accepted = 0;
    for (int i = 0; i < 10; ++i) {
      accepted += queue.Post([&] {
        MutexLock lock(gate);
        ++done;
      });
    }
    EXPECT_GE(accepted, 2);
    EXPECT_LE(accepted, 3) << "one runs, two wait";
    gate.Unlock();
  }
  EXPECT_GE(done, 2);
}

TEST_F(StudyTest, AReaderSeesOneMomentHoweverLongItReads) {
  ReaderPool pool(DatabasePath(home_.path()));
  auto reader = pool.Borrow();
  ASSERT_TRUE(reader.ok());
  const auto count = [&](Reader& one) {
    return one.database().execAndGet("SELECT count(*) FROM event").getInt64();
  };
  const int64_t before = count(*reader);

  home_.Apply({scheduler::AppendEvent{{}, {}, "test", "later", sample::At(99)}});

  EXPECT_EQ(count(*reader), before);
  auto other = pool.Borrow();
  EXPECT_EQ(count(*other), before + 1);
}

}  // namespace
}  // namespace noisefloor::query

#include "common/trainer_protocol/json.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/trainer_protocol/fields.h"
#include "common/trainer_protocol/json_reader.h"

namespace noisefloor {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

Specification Unusual() {
  Specification specification;
  specification.model.name = "mlp";
  specification.train.optimizer.learning_rate = 0.1;
  specification.train.schedule.name = "step";
  specification.train.schedule.milestones = {1, 5};
  specification.hardware_class = "cpu-amd-sse";
  specification.stack = "torch-2.11-cu130";
  specification.Source(NoiseSource::kInit) = {SourceState::kFree, {1, 7}, 18446744073709551615ull};
  return specification;
}

TEST(SpecificationJsonTest, ReadsBackWhatItWrites) {
  const std::string json = SpecificationToJson(Unusual());

  const auto read = SpecificationFromJson(json);

  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(SpecificationToJson(*read), json);
  EXPECT_EQ(read->Source(NoiseSource::kInit).seed, 18446744073709551615ull);
  EXPECT_EQ(read->Source(NoiseSource::kInit).lane, (Lane{1, 7}));
  EXPECT_EQ(read->train.schedule.milestones, (std::vector<int64_t>{1, 5}));
}

TEST(SpecificationJsonTest, IsCanonical) {
  const std::string json = SpecificationToJson(Unusual());

  EXPECT_EQ(json, Json::parse(json).dump()) << "sorted keys, no spaces";
  EXPECT_THAT(json, testing::HasSubstr("\"learning_rate\":0.1,"));
  EXPECT_THAT(json, testing::HasSubstr("\"seed\":\"18446744073709551615\""));
}

TEST(RequestJsonTest, ReadsBackWhatItWrites) {
  TrainerRequest request{"s1c2r3", 4, Unusual(), "/data", "/work dir/\"x\"", true};

  const auto read = RequestFromJson(RequestToJson(request));

  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(RequestToJson(*read), RequestToJson(request));
  EXPECT_EQ(read->work_directory, "/work dir/\"x\"");
  EXPECT_TRUE(read->write_evaluation_set);
}

TEST(RequestJsonTest, WeightsAreNamedOnlyWhereThereAreSome) {
  TrainerRequest request{"s1c2r3", 4, Unusual(), "/data", "/work", true};
  EXPECT_FALSE(Json::parse(RequestToJson(request)).contains("weights"));
  EXPECT_EQ(RequestFromJson(RequestToJson(request))->weights, "");
  request.weights = "/cache/trees/ab/weights.safetensors";
  EXPECT_EQ(RequestFromJson(RequestToJson(request))->weights, request.weights);
  const PassedRequest passed{"s1c2r3", 4, "{}", "", "/data", "/work", true, request.weights};
  EXPECT_EQ(Json::parse(RequestToJson(passed))["weights"], request.weights);
}

TEST(SpecificationJsonTest, SourcesThatCameAfter02AreToldOnlyWhereTheyAct) {
  Specification specification;
  Json noise = Json::parse(SpecificationToJson(specification))["noise"];
  EXPECT_EQ(noise.size(), 9u);
  EXPECT_FALSE(noise.contains("dial") || noise.contains("load"));

  specification.sources.dial_size = 1e-6;
  specification.Source(NoiseSource::kDial) = {SourceState::kFree, {1, 3}, 77};
  const std::string text = SpecificationToJson(specification);
  noise = Json::parse(text)["noise"];
  EXPECT_EQ(noise.size(), 10u);
  EXPECT_EQ(noise["dial"].dump(), R"({"block":1,"lane":3,"seed":"77","state":"free"})");
  const auto read = SpecificationFromJson(text);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->Source(NoiseSource::kDial).seed, 77u);
  EXPECT_EQ(read->Source(NoiseSource::kLoad).state, SourceState::kOff);
  EXPECT_EQ(SpecificationToJson(*read), text);
}

// Settings that this program does not know, in an order of their own.
TEST(RequestJsonTest, WhatIsPassedOnIsNotChangedByAByte) {
  const std::string foreign =
      R"({"hardware_class":"tpu-v4","stack":"jax","z": 1.50,"a":{"b":[ 1,2 ]}})";
  const PassedRequest request{"s1c2r3", 4, foreign, std::string(64, 'a'), "/data", "/work", true};

  const std::string text = RequestToJson(request);

  EXPECT_NE(text.find("\"specification\":" + foreign), std::string::npos) << text;
  const Json json = Json::parse(text);
  EXPECT_EQ(json["specification_sha256"], std::string(64, 'a'));
  EXPECT_EQ(json["member"], "s1c2r3");
  EXPECT_EQ(json.size(), 8u);
}

TEST(NeedsTest, AreReadFromAnySpecification) {
  const auto own = NeedsOf(SpecificationToJson(Unusual()));
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(own->stack, Unusual().stack);
  EXPECT_EQ(own->hardware_class, Unusual().hardware_class);
  EXPECT_EQ(own->data_set, Unusual().data.name);
  const auto foreign = NeedsOf(R"({"hardware_class":"tpu-v4","stack":"jax","data":7})");
  ASSERT_TRUE(foreign.ok()) << foreign.status();
  EXPECT_EQ(foreign->data_set, "");
  EXPECT_FALSE(foreign->kernels_free);
  EXPECT_TRUE(NeedsOf(R"({"hardware_class":"c","stack":"s","noise":{"kernels":{"state":"free"}}})")
                  ->kernels_free);
  for (const char* text : {"", "[]", "{}", R"({"stack":"s"})", R"({"hardware_class":"c"})",
                           R"({"hardware_class":7,"stack":"s"})"}) {
    EXPECT_FALSE(NeedsOf(text).ok()) << text;
  }
}

TEST(EventJsonTest, HelloReadsBack) {
  const HelloEvent hello{1, "torch-2.11-cu130", "ab12", R"({"cpu":"EPYC"})", std::string(64, 'a')};
  const auto read = EventFromJson(EventToJson(hello));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(std::get<HelloEvent>(*read).environment, R"({"cpu":"EPYC"})");
  EXPECT_FALSE(std::get<HelloEvent>(*read).resumes);
  HelloEvent resumes = hello;
  resumes.resumes = true;
  EXPECT_TRUE(std::get<HelloEvent>(*EventFromJson(EventToJson(resumes))).resumes);
}

TEST(EventJsonTest, ValuesThatAreNotFiniteSurvive) {
  RecordsEvent records{7, {{1, 0.5, "train_loss", kNan}, {2, 1, "a", kInf}, {3, 2, "b", -kInf}}};

  const auto read = EventFromJson(EventToJson(records));

  ASSERT_TRUE(read.ok()) << read.status();
  const auto& back = std::get<RecordsEvent>(*read);
  ASSERT_EQ(back.records.size(), 3u);
  EXPECT_EQ(back.sequence, 7u);
  EXPECT_TRUE(std::isnan(back.records[0].value));
  EXPECT_EQ(back.records[1].value, kInf);
  EXPECT_EQ(back.records[2].value, -kInf);
}

TEST(EventJsonTest, OutcomeReadsBack) {
  Outcome outcome;
  outcome.kind = Outcome::Kind::kDiverged;
  outcome.hashes = {{"init", std::string(64, '0')}, {"weights_at/1", std::string(64, 'f')}};
  outcome.metrics = {{"loss", kNan}, {"top1", 0.1}};
  outcome.per_class_accuracy = {0.25, 1};
  outcome.environment = "{}";
  outcome.train_seconds = 1.5;

  const auto read = EventFromJson(EventToJson(outcome));

  ASSERT_TRUE(read.ok()) << read.status();
  const auto& back = std::get<Outcome>(*read);
  EXPECT_EQ(back.kind, Outcome::Kind::kDiverged);
  EXPECT_EQ(back.hashes, outcome.hashes);
  EXPECT_TRUE(std::isnan(back.metrics.at("loss")));
  EXPECT_EQ(back.per_class_accuracy, outcome.per_class_accuracy);
}

// The texts of worker/trainer/README.md, "Events": what trainers that are none of ours write.
TEST(EventJsonTest, EveryEventIsTheTextThatTheDocumentHas) {
  const std::string hash(64, 'a');
  const HelloEvent hello{1, "st", "bu", R"({"cpu":"EPYC"})", hash};
  const RecordsEvent records{7, {{3, 0.5, "loss", 2.25}, {4, 1, "top1", 0.125}}};
  const ProgressEvent progress{5, 90};
  const Artifact artifact{"weights", "w.bin", hash, 12};
  Outcome failed;
  failed.cause = CauseClass::kOutOfMemory;
  failed.message = "no room";
  failed.environment = R"({"gpu":1})";
  failed.train_seconds = 1.5;
  const std::pair<TrainerEvent, std::string> cases[] = {
      {hello, R"({"build":"bu","data_identity":")" + hash +
                  R"(","environment":{"cpu":"EPYC"},"event":"hello","protocol":1,"stack":"st"})"},
      {records,
       R"({"event":"records","records":[[3,0.5,"loss",2.25],[4,1.0,"top1",0.125]],"sequence":7})"},
      {progress, R"({"event":"progress","step":5,"step_count":90})"},
      {artifact, R"({"event":"artifact","kind":"weights","path":"w.bin","sha256":")" + hash +
                     R"(","size":12})"},
      {failed, R"({"cause":"out_of_memory","environment":{"gpu":1},"event":"failed","hashes":{},)"
               R"("message":"no room","metrics":{},"per_class_accuracy":[],"train_seconds":1.5})"}};
  for (const auto& [event, text] : cases) {
    EXPECT_EQ(EventToJson(event), text);
    const auto read = EventFromJson(text);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->index(), event.index());
    EXPECT_EQ(EventToJson(*read), text) << "nothing of it was lost on the way";
  }
}

TEST(EventJsonTest, ABrokenTextIsReplacedRatherThanThrown) {
  Outcome outcome;
  outcome.cause = CauseClass::kBug;
  outcome.message = "bad \xff byte";
  EXPECT_TRUE(EventFromJson(EventToJson(outcome)).ok());
}

TEST(CauseTest, NamesAndExitCodesLeadBack) {
  for (int i = 0; i <= static_cast<int>(CauseClass::kLostWorker); ++i) {
    const auto cause = static_cast<CauseClass>(i);
    EXPECT_EQ(ParseCauseClass(Name(cause)), cause);
    EXPECT_EQ(CauseOfExitCode(ExitCodeOf(cause)), cause);
  }
  // worker/trainer/README.md, "Endings": trainers that are none of ours end with them, too.
  EXPECT_EQ(CauseOfExitCode(0), CauseClass::kNone);
  EXPECT_EQ(CauseOfExitCode(10), CauseClass::kBadSpecification);
  EXPECT_EQ(CauseOfExitCode(11), CauseClass::kBadData);
  EXPECT_EQ(CauseOfExitCode(12), CauseClass::kOutOfMemory);
  EXPECT_EQ(CauseOfExitCode(13), CauseClass::kLostDevice);
  EXPECT_EQ(CauseOfExitCode(14), CauseClass::kInterrupted);
  EXPECT_EQ(CauseOfExitCode(15), CauseClass::kBug);
  EXPECT_EQ(CauseOfExitCode(139), CauseClass::kBug);
}

}  // namespace
}  // namespace noisefloor

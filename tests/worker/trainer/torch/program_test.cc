// What a whole run of the program says and leaves behind.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include "common/files/sha256.h"
#include "common/trainer_protocol/json_reader.h"
#include "tests/worker/trainer/torch/trainer_process.h"
#include "worker/trainer/data/examples_seen.h"

namespace noisefloor::trainer {
namespace {

TEST(ProgramTest, LearnsAndTellsHelloFirstOutcomeLastAndNumbersWithoutGaps) {
  TrainerRequest request = SmallRequest();
  request.specification.train.epochs = 6;

  const Ran ran = RunTrainer(request);

  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.output, "");
  EXPECT_EQ(ran.hello().protocol, kTrainerProtocolVersion);
  EXPECT_EQ(ran.hello().data_identity.size(), 64u);
  EXPECT_EQ(ran.outcome().kind, Outcome::Kind::kDone) << ran.outcome().message;
  EXPECT_GT(ran.outcome().metrics.at("top1"), 0.5);
  EXPECT_EQ(ran.outcome().per_class_accuracy.size(), 10u);
  EXPECT_GT(ran.outcome().train_seconds, 0);
  uint64_t sequence = 0;
  for (const TrainerEvent& event : ran.events) {
    const auto* records = std::get_if<RecordsEvent>(&event);
    if (records == nullptr) continue;
    EXPECT_EQ(records->sequence, ++sequence);
  }
  const auto accuracies = ran.RecordsOf("test_top1");
  ASSERT_EQ(accuracies.size(), 6u);
  EXPECT_EQ(accuracies.back().step, 24);
  EXPECT_EQ(accuracies.back().epoch, 6.0);
  EXPECT_EQ(accuracies.back().value, ran.outcome().metrics.at("top1"));
  EXPECT_TRUE(ran.outcome().hashes.contains("weights_at/6"));
  EXPECT_EQ(ran.Hash("weights_at/6"), ran.Hash("weights"));
}

TEST(ProgramTest, TestsComeAsOftenAsAskedAndOnceMoreAtTheEnd) {
  TrainerRequest request = SmallRequest();
  request.specification.train.epochs = 5;
  request.specification.evaluate.every_epochs = 2;

  const Ran ran = RunTrainer(request);

  std::vector<int64_t> steps;
  for (const Record& record : ran.RecordsOf("test_loss")) steps.push_back(record.step);
  EXPECT_EQ(steps, (std::vector<int64_t>{8, 16, 20}));  // Four steps an epoch.
  EXPECT_TRUE(ran.outcome().hashes.contains("weights_at/3"));
  EXPECT_FALSE(ran.outcome().hashes.contains("weights_at/4"));
}

// Without a learning rate nothing else moves, so that one sees when it happens: a step an epoch.
TEST(ProgramTest, APokeComesBeforeItsStep) {
  TrainerRequest request = SmallRequest("mlp");
  Specification& spec = request.specification;
  spec.train.batch_size = 256;
  spec.train.epochs = 3;
  spec.train.optimizer.learning_rate = 0;
  spec.Source(NoiseSource::kPoke).state = SourceState::kFixed;
  spec.sources.poke_step = 1;

  const Ran ran = RunTrainer(request);

  EXPECT_EQ(ran.Hash("weights_at/1"), ran.Hash("init"));
  EXPECT_NE(ran.Hash("weights_at/2"), ran.Hash("init"));
  EXPECT_EQ(ran.Hash("weights_at/3"), ran.Hash("weights_at/2"));
}

TEST(ProgramTest, ArtifactsAreWholeAndAsTold) {
  TrainerRequest request = SmallRequest();
  request.write_evaluation_set = true;
  request.specification.evaluate.predictions = "all";
  request.specification.evaluate.weights = "all";

  const Ran ran = RunTrainer(request);

  std::vector<std::string> kinds;
  std::map<std::string, std::string> contents;
  for (const TrainerEvent& event : ran.events) {
    const auto* artifact = std::get_if<Artifact>(&event);
    if (artifact == nullptr) continue;
    kinds.push_back(artifact->kind);
    contents[artifact->kind] = artifact->sha256;
    const std::string path = request.work_directory + "/" + artifact->path;
    EXPECT_EQ(*Sha256File(path), artifact->sha256);
    EXPECT_EQ(std::filesystem::file_size(path), artifact->size);
  }
  EXPECT_EQ(kinds, (std::vector<std::string>{"evaluation_images", "evaluation_labels",
                                             "predictions-1", "weights-1", "predictions-2",
                                             "weights-2", "predictions", "weights"}));
  EXPECT_NE(contents["weights-1"], contents["weights"]);
  EXPECT_EQ(contents["weights-2"], contents["weights"]) << "the second evaluation is the last";
}

TEST(ProgramTest, EnvironmentSaysEverySwitchAsAskedAndAsReadAndWhatWasSeen) {
  const Ran ran = RunTrainer(SmallRequest());
  const Json environment = Json::parse(ran.outcome().environment);
  EXPECT_GE(environment["switches"].size(), 25u);
  for (const Json& reading : environment["switches"]) {
    EXPECT_EQ(reading["asked"], reading["read"]) << reading.dump();
  }
  EXPECT_EQ(environment["measured"]["steps"], 8);
  std::vector<uint32_t> all(256);
  std::iota(all.begin(), all.end(), 0);
  ExamplesSeen seen(256);
  seen.Add(all);
  EXPECT_EQ(environment["measured"]["examples_seen"], 256);
  EXPECT_EQ(environment["measured"]["examples_seen_sha256"], seen.Hash(ran.hello().data_identity));
  EXPECT_EQ(environment["build"], ran.hello().build);
  EXPECT_EQ(environment["data_identity"], ran.hello().data_identity);
}

TEST(ProgramTest, EnvironmentHoldsWhatTheLibrariesSayInThisProcess) {
  const Ran ran = RunTrainer(
      SmallRequest(), {.variables = {{"ONEDNN_MAX_CPU_ISA", "SSE41"}, {"MKL_CBWR", "COMPATIBLE"}}});
  EXPECT_EQ(ran.output, "");  // What they said went nowhere else.
  for (const std::string& text : {ran.hello().environment, ran.outcome().environment}) {
    const Json environment = Json::parse(text);
    const Json& observed = environment["observed"];
    EXPECT_EQ(observed["onednn_isa"], "Intel SSE4.1");
    EXPECT_EQ(observed["mkl_cbwr"], "COMPATIBLE");
    EXPECT_FALSE(observed["onednn_convolutions"].empty()) << observed.dump();
    EXPECT_NE(environment["notes"][0].get<std::string>().find("were observed"), std::string::npos);
  }
}

TEST(ProgramTest, AProbeThatHearsNothingIsSaidAndChangesNoBit) {
  const Ran heard = RunTrainer(SmallRequest());

  const Ran deaf = RunTrainer(SmallRequest(), {.variables = {{"LD_PRELOAD", NO_MEMFD}}});

  ASSERT_EQ(deaf.exit_code, 0) << deaf.output;
  EXPECT_EQ(deaf.outcome().hashes, heard.outcome().hashes);
  const Json environment = Json::parse(deaf.outcome().environment);
  EXPECT_EQ(environment["observed"]["error"], "memfd_create: Operation not permitted");
  EXPECT_NE(environment["notes"][0].get<std::string>().find("could not be observed"),
            std::string::npos);
}

TEST(ProgramTest, ADiskThatKeepsNothingIsTheMachinesFault) {
  for (const int error : {ENOSPC, EIO, EROFS}) {
    const Ran ran = RunTrainer(
        SmallRequest("mlp"),
        {.variables = {{"LD_PRELOAD", NO_DISK}, {"NO_DISK_ERROR", std::to_string(error)}}});
    EXPECT_EQ(ran.exit_code, ExitCodeOf(CauseClass::kLostDevice));
    EXPECT_EQ(ran.outcome().cause, CauseClass::kLostDevice);
    EXPECT_NE(ran.outcome().message.find("predictions.npy: cannot sync: "), std::string::npos)
        << ran.outcome().message;
  }
}

TEST(ProgramTest, AWorkDirectoryThatIsGoneIsTheMachinesFault) {
  for (const bool evaluation_set : {false, true}) {
    TrainerRequest request = SmallRequest("mlp");
    request.work_directory += "/gone";
    request.write_evaluation_set = evaluation_set;
    const Ran ran = RunTrainer(request);
    EXPECT_EQ(ran.outcome().cause, CauseClass::kLostDevice) << ran.outcome().message;
  }
}

TEST(ProgramTest, DivergenceIsAResultAndNotAFailure) {
  for (const std::string model : {"small_cnn", "mlp"}) {
    TrainerRequest request = SmallRequest(model);
    request.specification.train.optimizer.learning_rate = 1e6;
    request.specification.train.epochs = 50;

    const Ran ran = RunTrainer(request);

    EXPECT_EQ(ran.exit_code, 0) << model;
    EXPECT_EQ(ran.outcome().kind, Outcome::Kind::kDiverged) << model;
    EXPECT_EQ(ran.outcome().cause, CauseClass::kNone);
    EXPECT_TRUE(ran.outcome().message.starts_with("the loss is not finite after "))
        << ran.outcome().message;
    EXPECT_TRUE(ran.outcome().hashes.contains("weights"));
    EXPECT_FALSE(std::isfinite(ran.outcome().metrics.at("loss")));
  }
}

// With four steps an epoch every loss is looked at.
TEST(ProgramTest, TrainingEndsWithTheFirstLossThatIsNotFinite) {
  TrainerRequest request = SmallRequest("mlp");
  request.specification.train.optimizer.learning_rate = 1e6;
  request.specification.train.epochs = 50;

  const Ran ran = RunTrainer(request);

  const std::vector<Record> losses = ran.RecordsOf("train_loss");
  ASSERT_LT(losses.size(), 200u);
  EXPECT_EQ(ran.outcome().message,
            "the loss is not finite after " + std::to_string(losses.size()) + " steps");
  for (const Record& record : losses) {
    EXPECT_EQ(std::isfinite(record.value), &record != &losses.back()) << record.step;
  }
}

TEST(ProgramTest, NoEpochsIsTheUntrainedNetwork) {
  TrainerRequest request = SmallRequest();
  request.specification.train.epochs = 0;
  const Ran ran = RunTrainer(request);
  EXPECT_EQ(ran.exit_code, 0) << ran.outcome().message;
  EXPECT_NEAR(ran.outcome().metrics.at("loss"), 2.3, 0.5);
}

TEST(ProgramTest, SigtermEndsATrainingAsInterrupted) {
  TrainerRequest request = SmallRequest();
  request.specification.train.epochs = 100000;
  request.specification.evaluate.every_epochs = 100;

  const Ran ran = RunTrainer(request, {.stop_after_first_progress = true});

  EXPECT_EQ(ran.exit_code, 14);
  EXPECT_EQ(ran.outcome().kind, Outcome::Kind::kFailed);
  EXPECT_EQ(ran.outcome().cause, CauseClass::kInterrupted);
  EXPECT_TRUE(ran.outcome().message.starts_with("asked to stop after ")) << ran.outcome().message;
}

std::string RecordsOf(const Ran& ran) {
  std::string lines;
  for (const TrainerEvent& event : ran.events) {
    if (std::holds_alternative<RecordsEvent>(event)) lines += EventToJson(event) + "\n";
  }
  return lines;
}

TEST(ProgramTest, SigtermKeepsACheckpointAndTheNextAttemptGoesOnToTheSameBits) {
  TrainerRequest request = SmallRequest();
  request.specification.train.epochs = 20;
  const Ran undisturbed = RunTrainer(request);
  EXPECT_FALSE(undisturbed.hello().resumes) << "it has no folder for them";
  const std::string folder = SmallRequest().work_directory + "/checkpoints";
  const std::map<std::string, std::string> variables = {{"NOISEFLOOR_CHECKPOINTS", folder}};

  const Ran cut = RunTrainer(request, {.variables = variables, .stop_after_first_progress = true});
  EXPECT_EQ(cut.exit_code, 14);
  EXPECT_TRUE(cut.hello().resumes);
  EXPECT_TRUE(cut.outcome().message.ends_with(" steps, which are kept")) << cut.outcome().message;
  request.work_directory = SmallRequest().work_directory;
  const Ran resumed = RunTrainer(request, {.variables = variables});

  EXPECT_EQ(resumed.exit_code, 0) << resumed.output;
  EXPECT_TRUE(resumed.output.starts_with("goes on after ")) << resumed.output;
  EXPECT_EQ(resumed.outcome().hashes, undisturbed.outcome().hashes);
  EXPECT_EQ(RecordsOf(resumed), RecordsOf(undisturbed));
  EXPECT_TRUE(Json::parse(resumed.outcome().environment)["measured"].contains("resumed_at"));
  EXPECT_TRUE(std::filesystem::is_empty(folder)) << "a member that is done needs none any more";
  // Of another member there is none, though all else is the same.
  request.member = "s1c2r4";
  EXPECT_EQ(RunTrainer(request, {.variables = variables}).output, "");
}

TEST(ProgramTest, ACheckpointOfLibrariesInAnotherModeIsNotUsed) {
  TrainerRequest request = SmallRequest();
  request.specification.train.epochs = 100000;
  request.specification.evaluate.every_epochs = 100;
  std::map<std::string, std::string> variables = {
      {"NOISEFLOOR_CHECKPOINTS", request.work_directory + "-checkpoints"}};
  const auto run = [&] {
    request.work_directory = SmallRequest().work_directory;
    return RunTrainer(request, {.variables = variables, .stop_after_first_progress = true});
  };
  EXPECT_EQ(run().exit_code, 14);
  EXPECT_TRUE(run().output.starts_with("goes on after "));
  variables.insert({{"ONEDNN_MAX_CPU_ISA", "SSE41"}, {"MKL_CBWR", "COMPATIBLE"}});
  const std::string said = run().output;
  EXPECT_NE(said.find(" is not used: it is of another libraries: "), std::string::npos) << said;
  EXPECT_EQ(said.find("goes on after "), std::string::npos) << said;
  std::filesystem::remove_all(variables["NOISEFLOOR_CHECKPOINTS"]);
}

// An outcome that nobody heard is told by the next attempt, which needs them.
TEST(ProgramTest, CheckpointsStayUntilTheOutcomeIsHeard) {
  TrainerRequest request = SmallRequest("mlp");
  request.specification.train.epochs = 0;  // Else it would stop at a step.
  const std::string folder = SmallRequest().work_directory + "/checkpoints";
  const RunOptions heard = {.variables = {{"NOISEFLOOR_CHECKPOINTS", folder}}};
  RunOptions unheard = heard;
  unheard.nobody_hears = true;
  const HelloEvent hello = RunTrainer(request, heard).hello();
  // Its own, as scripts in Python name theirs: without a step it writes nothing into it.
  const std::string fingerprint = Json::parse(hello.environment)["stack_fingerprint"];
  const std::string specification = Sha256Hex(SpecificationToJson(request.specification));
  const std::string own =
      folder + "/" +
      Sha256Hex(request.member + "\n" + specification + "\n" + hello.build + "\n" + fingerprint)
          .substr(0, 32);
  std::filesystem::create_directories(own);

  EXPECT_EQ(RunTrainer(request, unheard).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(own));

  EXPECT_EQ(RunTrainer(request, heard).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(own));
}

TEST(ProgramTest, WithoutAFolderForCheckpointsItSaysSoAndTrains) {
  const TrainerRequest request = SmallRequest("mlp");
  const std::string file = SmallRequest().work_directory + "/file";
  std::ofstream(file) << "no folder";
  const Ran ran = RunTrainer(request, {.variables = {{"NOISEFLOOR_CHECKPOINTS", file + "/x"}}});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_FALSE(ran.hello().resumes);
  EXPECT_TRUE(ran.output.starts_with("no checkpoints: ")) << ran.output;
}

TEST(ProgramTest, RequestIsTakenAtItsNewlineWithoutAnEndOfInput) {
  const Ran ran = RunTrainer(SmallRequest(), {.keep_input_open = true});
  EXPECT_EQ(ran.exit_code, 0) << ran.outcome().message;
}

TEST(ProgramTest, AnAllocationThatFailsIsOutOfMemory) {
  TrainerRequest request = SmallRequest("mlp");
  request.specification.model.hidden = 8192;  // 73 million weights.
  const Ran ran = RunTrainer(request, {.memory_limit_bytes = uint64_t{1536} << 20});
  EXPECT_EQ(ran.exit_code, 12) << ran.outcome().message << ran.output;
  EXPECT_EQ(ran.outcome().cause, CauseClass::kOutOfMemory);
}

TEST(ProgramTest, WhatCouldNotBePrintedIsNotSaidToBe) {
  for (const char* option : {"--help", "--version", "--describe", "--example-spec"}) {
    const std::string command = std::string(NOISEFLOOR_TRAINER_PATH) + " " + option;
    EXPECT_EQ(WEXITSTATUS(std::system((command + " > /dev/null").c_str())), 0) << option;
    EXPECT_EQ(WEXITSTATUS(std::system((command + " > /dev/full 2> /dev/null").c_str())), 1)
        << option;
  }
}

struct Export {
  std::string model;
  bool batch_norm = true;  // Where the network has a choice.
  bool standardise = false;
};
void PrintTo(const Export& one, std::ostream* out) { *out << one.model; }

class ExportTest : public testing::TestWithParam<Export> {};

// Networks of Python's own read the weights and give the same logits.
TEST_P(ExportTest, WeightsGiveTheSameLogitsInPython) {
  const char* python = std::getenv("NOISEFLOOR_PYTHON_TORCH");
  if (python == nullptr)
    GTEST_SKIP() << "SKIPPED: set NOISEFLOOR_PYTHON_TORCH to a Python with torch";
  const Export& one = GetParam();
  TrainerRequest request = SmallRequest(one.model);
  request.write_evaluation_set = true;
  Specification& spec = request.specification;
  if (one.model == "small_cnn" && !one.batch_norm) {
    spec.model.batch_norm = false;
    spec.model.batch_norm_momentum = ModelSettings().batch_norm_momentum;  // Not read, then.
  }
  spec.augment.standardise = one.standardise;
  spec.data.train_examples = 64;
  spec.data.test_examples = 40;
  spec.train.epochs = 1;

  const Ran ran = RunTrainer(request);

  ASSERT_EQ(ran.exit_code, 0) << ran.outcome().message;
  const std::string script =
      std::string(std::getenv("NOISEFLOOR_SOURCE")) + "/tests/worker/trainer/torch/check_export.py";
  const std::string command = std::string(python) + " " + script + " " + request.work_directory +
                              " " + one.model + (one.batch_norm ? " 1" : " 0") +
                              (one.standardise ? " 1" : " 0") + " 32";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

INSTANTIATE_TEST_SUITE_P(
    Models, ExportTest,
    testing::Values(Export{.model = "small_cnn"}, Export{.model = "small_cnn", .batch_norm = false},
                    Export{.model = "mlp", .standardise = true}, Export{.model = "medium_cnn"},
                    Export{.model = "resnet18"}),
    [](const auto& info) {
      return info.param.model + (info.param.batch_norm ? "" : "_without_batch_norm");
    });

}  // namespace
}  // namespace noisefloor::trainer

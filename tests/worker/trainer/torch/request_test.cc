// Requests and data that cannot be followed: exact messages and exit codes.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "common/files/sha256.h"
#include "common/trainer_protocol/fields.h"
#include "common/trainer_protocol/hardware_class.h"
#include "common/trainer_protocol/json_reader.h"
#include "common/trainer_protocol/training.h"
#include "tests/worker/trainer/torch/trainer_process.h"
#include "worker/devices/cpu.h"
#include "worker/trainer/torch/facts/machine.h"
#include "worker/trainer/torch/intake.h"

namespace noisefloor::trainer {
namespace {

void ExpectFailure(const Ran& ran, CauseClass cause, const std::string& message) {
  EXPECT_EQ(ran.exit_code, ExitCodeOf(cause)) << ran.output;
  EXPECT_EQ(ran.outcome().kind, Outcome::Kind::kFailed);
  EXPECT_EQ(ran.outcome().cause, cause);
  EXPECT_EQ(ran.outcome().message, message);
  EXPECT_EQ(ran.output, "");
}

// The small request after a change of its JSON.
Ran RunChanged(const std::function<void(Json&)>& change) {
  Json json = Json::parse(RequestToJson(SmallRequest()));
  change(json);
  return RunTrainer(json.dump() + "\n");
}

TEST(RequestTest, NothingIsNoRequest) {
  ExpectFailure(RunTrainer(std::string()), CauseClass::kBadSpecification,
                "no request on standard input; see --help");
}

TEST(RequestTest, WhatIsNotJsonIsRefused) {
  const Ran ran = RunTrainer(std::string("train!\n"));
  EXPECT_EQ(ran.exit_code, 10);
  EXPECT_EQ(ran.outcome().cause, CauseClass::kBadSpecification);
  EXPECT_TRUE(ran.outcome().message.starts_with("not JSON: ")) << ran.outcome().message;
}

TEST(RequestTest, ASpecificationWithAnotherHashIsRefused) {
  TrainerRequest request = SmallRequest();
  request.specification_sha256 = Sha256Hex(SpecificationToJson(request.specification));
  EXPECT_EQ(RunTrainer(request).exit_code, 0);
  ++request.specification.train.epochs;
  const Ran ran = RunTrainer(request);
  EXPECT_EQ(ran.exit_code, 10);
  EXPECT_EQ(ran.outcome().message, "specification: it does not have the hash that came with it");
}

// A coordinator goes on with a sweep of 0.2, whose specifications lack what came later.
TEST(RequestTest, WhatWasWrittenForVersion02IsTrainedToTheSameBits) {
  Training training = TrainingOf(SmallRequest().specification);
  std::erase_if(training.settings, [](const Setting& setting) {
    return SettingsOf02()->Find(setting.first) == nullptr;
  });
  ASSERT_LT(training.settings.size(), AllFields().size());
  const std::string text = TrainingToJson(training);

  const Ran ran = RunChanged([&](Json& request) {
    request["specification"] = Json::parse(text);
    request["specification_sha256"] = Sha256Hex(text);
  });

  EXPECT_EQ(ran.exit_code, 0) << ran.output;
  EXPECT_EQ(ran.outcome().hashes, RunTrainer(SmallRequest()).outcome().hashes);
}

// What 0.2 did not know may be missing from what is hashed only where it is as 0.2 had it.
TEST(RequestTest, ASettingThatTheHashDoesNotCoverIsRefused) {
  const auto run = [](double clip_norm) {
    TrainerRequest request = SmallRequest();
    request.specification.train.clip_norm = clip_norm;
    Training training = TrainingOf(request.specification);
    std::erase_if(training.settings, [](const Setting& setting) {
      return SettingsOf02()->Find(setting.first) == nullptr;
    });
    request.specification_sha256 = Sha256Hex(TrainingToJson(training));
    return RunTrainer(request);
  };
  EXPECT_EQ(run(0).exit_code, 0);
  ExpectFailure(run(0.5), CauseClass::kBadSpecification,
                "specification: it does not have the hash that came with it");
}

TEST(ProbeTest, AProcessorOfThisMachineWorksAndOthersSayWhyNot) {
  const auto probe = [](const std::string& name) {
    const Ran ran = RunTrainer("", {.arguments = {"--probe", name}});
    EXPECT_EQ(ran.exit_code, 0) << ran.output;
    return Json::parse(ran.output, nullptr, false);
  };
  const Json here = probe("cpu-" + CpuVendor() + "-sse");
  EXPECT_EQ(here["works"], true) << here;
  EXPECT_EQ(here["facts"], Json::object());
  EXPECT_EQ(here["devices"], Json::array());
  const Json other = probe(CpuVendor() == "intel" ? "cpu-amd-sse" : "cpu-intel-sse");
  EXPECT_EQ(other["works"], false);
  EXPECT_EQ(other["reason"], "this processor's vendor is " + CpuVendor());
  EXPECT_EQ(probe("nvidia-h200-x2")["works"], false);
  EXPECT_EQ(probe("cpu-vax-780")["works"], false);
}

// LibTorch would run as what the variables say, and die of the first instruction that is missing.
TEST(ProbeTest, AClassWhoseInstructionsThisProcessorLacksIsRefused) {
  const CpuFacts here = ReadCpuFacts();
  const TrainerRequest request = SmallRequest();
  const std::string file = request.work_directory + "/spec.json";
  int lacking = 0;
  for (const std::string& name : AllCpuClasses()) {
    const std::string lacks = LackingSet(here, name);
    if (lacks.empty()) continue;
    ++lacking;
    const std::string why = "hardware_class: " + name + ": this processor has no " + lacks;
    const Ran probed = RunTrainer("", {.arguments = {"--probe", name}});
    EXPECT_EQ(probed.exit_code, 0) << probed.output;
    const Json answer = Json::parse(probed.output, nullptr, false);
    EXPECT_EQ(answer["works"], false);
    EXPECT_EQ(answer["reason"], why);
    Specification spec = request.specification;
    spec.hardware_class = name;
    std::ofstream(file) << SpecificationToJson(spec);
    ExpectFailure(RunTrainer("", {.arguments = {"--spec=" + file, "--data-root=/d",
                                                "--work=" + request.work_directory + "/out"}}),
                  CauseClass::kBadSpecification, why);
  }
  if (lacking == 0) GTEST_SKIP() << "this processor has the instructions of every class";
}

TEST(RequestTest, ARequestLargerThanFourMebibytesIsRefused) {
  ExpectFailure(RunTrainer(std::string((4 << 20) + 1, ' ')), CauseClass::kBadSpecification,
                "the request is larger than 4194304 bytes");
}

struct BadRequest {
  std::function<void(Json&)> change;
  std::string message;
};

TEST(RequestTest, EachMistakeIsNamedWithItsPathAndWhatWasExpected) {
  const std::vector<BadRequest> requests = {
      {[](Json& j) { j["protocol"] = 2; }, "protocol: expected version 1"},
      {[](Json& j) { j.erase("member"); }, "member: missing"},
      {[](Json& j) { j["colour"] = "red"; }, "colour: unknown key"},
      {[](Json& j) { j["attempt"] = 0; }, "attempt: expected an integer from 1 to 4294967295"},
      {[](Json& j) { j["specification"]["train"]["epochs"] = -1; },
       "train.epochs: expected an integer from 0 to 100000, got -1"},
      {[](Json& j) { j["specification"]["train"].erase("shards"); }, "train.shards: missing"},
      {[](Json& j) { j["specification"]["train"]["epoch"] = 1; }, "train.epoch: unknown key"},
      {[](Json& j) { j["specification"]["noise"]["init"]["seed"] = 1; },
       "noise.init.seed: expected a 64-bit number as a decimal string"},
      {[](Json& j) { j["specification"]["train"]["shards"] = 3; },
       "train.batch_size: 64 is not divisible by train.shards 3; the nearest that "
       "are: 63 or 66"},
      {[](Json& j) { j["specification"]["train"]["devices"] = 4; },
       "train.shards: 1 is not divisible by train.devices 4; the nearest that are: 4"},
      {[](Json& j) { j["specification"]["train"]["devices"] = 0; },
       "train.devices: expected an integer from 1 to 64, got 0"},
      {[](Json& j) {
         j["specification"]["train"]["shards"] = 4;
         j["specification"]["train"]["devices"] = 4;
         j["specification"]["hardware_class"] = "nvidia-h200-x2";
       },
       "train.devices: 4 asked, nvidia-h200-x2 has 2 GPUs; expected 2, or the class "
       "nvidia-h200-x4"},
      {[](Json& j) { j["specification"]["hardware_class"] = "cpu-vax-780"; },
       "hardware_class: 'cpu-vax-780'; expected cpu-VENDOR-sse, -avx2 or -avx512 with vendor "
       "intel, amd or other, nvidia-MODEL, or what a worker declares, such as tpu-v4"},
      {[](Json& j) { j["specification"]["model"]["dropout"] = 0.5; },
       "model.dropout: small_cnn has no dropout; expected 0, the default"},
      {[](Json& j) {
         j["specification"]["noise"]["poke"]["state"] = "fixed";
         j["specification"]["sources"]["poke"]["step"] = 8;
       },
       "sources.poke.step: 8 asked, the training has 8 steps, counted from 0: the poke would never "
       "happen"},
      {[](Json& j) {
         j["specification"]["noise"]["poke"]["state"] = "fixed";
         j["specification"]["sources"]["poke"]["parameter"] = "conv9.weight";
       },
       "sources.poke.parameter: the model has no parameter 'conv9.weight'; its first is "
       "'conv1.weight'"},
      {[](Json& j) {
         j["specification"]["noise"]["poke"]["state"] = "fixed";
         j["specification"]["sources"]["poke"]["element"] = 144;
       },
       "sources.poke.element: 144, but 'conv1.weight' has 144 elements"},
  };
  for (const BadRequest& request : requests) {
    SCOPED_TRACE(request.message);
    ExpectFailure(RunChanged(request.change), CauseClass::kBadSpecification, request.message);
  }
}

TEST(RequestTest, AnotherStackIsRefusedByName) {
  const std::string stack = RunTrainer(SmallRequest()).hello().stack;
  ExpectFailure(RunChanged([](Json& j) { j["specification"]["stack"] = "torch-1.0"; }),
                CauseClass::kBadSpecification,
                "stack: the member asks for torch-1.0, this trainer is built with " + stack);
}

TEST(RequestTest, DataOfAnotherIdentityAreRefusedByName) {
  const std::string plain = RunTrainer(SmallRequest()).hello().data_identity;
  TrainerRequest request = SmallRequest();
  request.specification.data.identity = plain;
  EXPECT_EQ(RunTrainer(request).exit_code, 0);
  request.data_root = SyntheticDataRoot("reordered");
  EXPECT_EQ(RunTrainer(request).exit_code, 0);

  request.data_root = SyntheticDataRoot("pixel");
  const Ran ran = RunTrainer(request);

  const std::string other = ran.hello().data_identity;
  EXPECT_NE(other, plain);
  EXPECT_EQ(ran.exit_code, 11);
  EXPECT_EQ(ran.outcome().cause, CauseClass::kBadData);
  EXPECT_NE(ran.outcome().message.find("fashion-mnist-sample"), std::string::npos);
  EXPECT_NE(ran.outcome().message.find(plain), std::string::npos) << ran.outcome().message;
  EXPECT_NE(ran.outcome().message.find(other), std::string::npos) << ran.outcome().message;
}

TEST(RequestTest, MissingTruncatedAndTooLargeDataAreBadData) {
  TrainerRequest request = SmallRequest();
  request.data_root = request.work_directory + "/nowhere";
  const Ran missing = RunTrainer(request);
  EXPECT_EQ(missing.exit_code, 11);
  EXPECT_EQ(missing.hello().data_identity, "");
  EXPECT_NE(missing.outcome().message.find(request.data_root), std::string::npos)
      << missing.outcome().message;

  request = SmallRequest();
  const std::string root = request.work_directory + "/data";
  std::filesystem::copy(SyntheticDataRoot(), root, std::filesystem::copy_options::recursive);
  const std::string file = root + "/fashion-mnist-sample/train-images-idx3-ubyte";
  std::filesystem::resize_file(file, 1000);
  request.data_root = root;
  ExpectFailure(RunTrainer(request), CauseClass::kBadData,
                file + ": 984 bytes after the header; expected 4704000");
  // No disk is full: another worker with the same files has no better chance.
  std::filesystem::resize_file(file, (uintmax_t{1} << 28) + 1);
  ExpectFailure(RunTrainer(request), CauseClass::kBadData,
                file + ": larger than the limit of 268435456 bytes");
}

TEST(RequestTest, AGpuWhereThereIsNoneIsALostDevice) {
  if (std::filesystem::exists("/proc/driver/nvidia/version")) {
    GTEST_SKIP() << "SKIPPED: there is a GPU";
  }
  TrainerRequest request = SmallRequest();
  request.specification.hardware_class = "nvidia-h200";
  const Ran ran = RunTrainer(request);
  EXPECT_EQ(ran.exit_code, 13) << ran.outcome().message;
  EXPECT_EQ(ran.outcome().cause, CauseClass::kLostDevice);
}

TEST(RequestTest, AGpuMustBeAskedForBeforeTheRequestIsRead) {
  TrainerRequest request = SmallRequest();
  request.specification.hardware_class = "nvidia-h200";
  ExpectFailure(RunTrainer(request, {.variables = {{"CUDA_VISIBLE_DEVICES", ""}}}),
                CauseClass::kLostDevice,
                "hardware_class: for nvidia-h200 a trainer must be started with --gpu or "
                "CUDA_VISIBLE_DEVICES");
}

TEST(CommandLineTest, AMistakeIsUsageAndHelpIsNot) {
  EXPECT_EQ(RunTrainer("", {.arguments = {"--spec=x.json"}}).exit_code, 2);
  EXPECT_EQ(RunTrainer("", {.arguments = {"--nonsense"}}).exit_code, 2);
  const Ran help = RunTrainer("", {.arguments = {"--help"}});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_NE(help.output.find("--describe"), std::string::npos);
}

TEST(CommandLineTest, ADirectRunBecomesItsClass) {
  const TrainerRequest request = SmallRequest();
  Specification spec = request.specification;
  spec.hardware_class = "cpu-" + CpuVendor() + "-sse";
  const std::string file = request.work_directory + "/spec.json";
  std::ofstream(file) << SpecificationToJson(spec);
  const Ran ran =
      RunTrainer("", {.arguments = {"--spec=" + file, "--work=" + request.work_directory + "/out",
                                    "--data-root=" + request.data_root}});
  ASSERT_EQ(ran.exit_code, 0) << ran.output << ran.outcome().message;
  const Json environment = Json::parse(ran.outcome().environment);
  EXPECT_EQ(environment["aten_cpu_capability"], "DEFAULT");
  EXPECT_EQ(environment["variables"]["ONEDNN_MAX_CPU_ISA"], "SSE41");
}

TEST(CommandLineTest, ADirectRunIsTheRequestThatItsArgumentsMake) {
  const TrainerRequest given = SmallRequest();
  const std::string file = given.work_directory + "/spec.json";
  std::ofstream(file) << SpecificationToJson(given.specification);
  std::vector<std::string> arguments = {"noisefloor-trainer", "--spec=" + file,
                                        "--work=" + given.work_directory + "/out",
                                        "--data-root=/d"};
  const auto made = [&] {
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    return RequestOf(ParseOptions(static_cast<int>(argv.size()), argv.data(), "a stack"));
  };
  const auto trains = made();
  ASSERT_TRUE(trains.ok()) << trains.status();
  EXPECT_EQ(SpecificationToJson(trains->specification), SpecificationToJson(given.specification));
  EXPECT_EQ(trains->data_root, "/d");
  EXPECT_EQ(trains->work_directory, given.work_directory + "/out");
  EXPECT_EQ(trains->weights, "");
  EXPECT_FALSE(trains->write_evaluation_set);
  arguments.insert(arguments.end(), {"--weights=w.safetensors", "--evaluation-set"});
  const auto evaluates = made();
  ASSERT_TRUE(evaluates.ok()) << evaluates.status();
  EXPECT_EQ(evaluates->weights, "w.safetensors");
  EXPECT_TRUE(evaluates->write_evaluation_set);
}

TEST(CommandLineTest, AWorkFolderThatCannotBeMadeIsTheMachinesFault) {
  const TrainerRequest request = SmallRequest();
  const std::string file = request.work_directory + "/spec.json";
  std::ofstream(file) << SpecificationToJson(request.specification);
  const auto run = [](const std::string& spec, const std::string& work) {
    return RunTrainer("", {.arguments = {"--spec=" + spec, "--work=" + work}});
  };
  for (const std::string& work : {file, file + "/out", std::string("/proc/nowhere")}) {
    const Ran ran = run(file, work);
    EXPECT_EQ(ran.exit_code, 13) << work;
    EXPECT_EQ(ran.outcome().cause, CauseClass::kLostDevice);
    EXPECT_NE(ran.outcome().message.find(": cannot create folder: "), std::string::npos)
        << ran.outcome().message;
  }
  const std::string out = request.work_directory + "/out";
  const Ran ran = run(file + ".none", out);
  EXPECT_EQ(ran.exit_code, 10) << "the file is the person's own";
  EXPECT_FALSE(std::filesystem::exists(out));
}

// LibTorch keeps the first answer that it gets about CUDA, and the probe of its libraries asks.
TEST(CommandLineTest, ADirectRunOnAGpuOpensCudaBeforeLibTorchWorks) {
  const TrainerRequest request = SmallRequest();
  Specification spec = request.specification;
  spec.hardware_class = "nvidia-h200";
  const std::string file = request.work_directory + "/spec.json";
  std::ofstream(file) << SpecificationToJson(spec);
  const std::vector<std::string> arguments = {"--spec=" + file,
                                              "--work=" + request.work_directory + "/out"};

  const Ran ran = RunTrainer("", {.arguments = arguments,
                                  .variables = {{"LD_PRELOAD", NO_MEMFD},
                                                {"LD_LIBRARY_PATH", FAKE_CUDA_FOLDER},
                                                {"CUDA_VISIBLE_DEVICES", ""}}});

  EXPECT_EQ(ran.output, "CUDA is opened\nno file in memory\n");
  EXPECT_EQ(ran.exit_code, 13);
  EXPECT_EQ(ran.outcome().message, "CUDA shows no GPU to this process");
}

TEST(CommandLineTest, DescribesItselfAsOneJsonObject) {
  const Ran ran = RunTrainer("", {.arguments = {"--describe"}});
  ASSERT_EQ(ran.exit_code, 0) << ran.output;
  const Json description = Json::parse(ran.output);
  EXPECT_EQ(description["protocol"], kTrainerProtocolVersion);
  EXPECT_EQ(description["build"].get<std::string>().size(), 64u);
  EXPECT_TRUE(description["environment"]["observed"].contains("onednn_isa")) << ran.output;
}

}  // namespace
}  // namespace noisefloor::trainer

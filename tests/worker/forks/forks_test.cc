// The real trainer, forked: the bits and the environment of a started one, on every class; and what
// it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "common/base/mailbox.h"
#include "common/trainer_protocol/json_reader.h"
#include "tests/worker/trainer/torch/trainer_process.h"
#include "worker/daemon/fork_server.h"
#include "worker/daemon/trainer_process.h"
#include "worker/devices/class_variables.h"
#include "worker/devices/cpu.h"

namespace noisefloor::trainer {
namespace {

using ::testing::HasSubstr;

// A server of the real trainer under the variables of a class.
class RealServer {
 public:
  explicit RealServer(const std::string& hardware_class, const Variables& more = {})
      : news_(1 << 16) {
    environment_ = InheritedEnvironment();
    const Variables variables = VariablesOf({.hardware_class = hardware_class}).value();
    for (const auto& [name, value] : variables) environment_[name] = value;
    for (const auto& [name, value] : more) environment_[name] = value;
    auto server = ForkServer::Start({NOISEFLOOR_TRAINER_PATH}, environment_, {}, absl::Minutes(2));
    EXPECT_TRUE(server.ok()) << server.status();
    if (server.ok()) server_ = *std::move(server);
  }

  absl::Status Load() {
    absl::Status status = server_->Ready();
    while (absl::IsUnavailable(status)) {
      poll(nullptr, 0, 5);
      status = server_->Ready();
    }
    return status;
  }

  absl::StatusOr<Ran> Train(const TrainerRequest& request) {
    TrainerCommand command;
    command.words = {NOISEFLOOR_TRAINER_PATH};
    command.server = server_.get();
    auto process = TrainerProcess::Start(
        command, [this](TrainerNews news) { (void)news_.Post(std::move(news)); });
    if (!process.ok()) return process.status();
    const std::string log = request.work_directory + ".log";
    NF_RETURN_IF_ERROR((*process)->Give(RequestToJson(request), log));
    Ran ran;
    while (true) {
      for (TrainerNews& news : news_.TakeAll(absl::Minutes(2))) {
        (*process)->Consumed();
        if (auto* line = std::get_if<TrainerLine>(&news)) ran.events.push_back(line->event);
        if (const auto* exit = std::get_if<ProcessExit>(&news)) {
          ran.exit_code = exit->signalled ? 128 + exit->code : exit->code;
          std::getline(std::ifstream(log), ran.output, '\0');
          return ran;
        }
      }
    }
  }

  std::string Proc(const std::string& file) const {
    return "/proc/" + std::to_string(server_->process()) + "/" + file;
  }

 private:
  std::map<std::string, std::string> environment_;
  Mailbox<TrainerNews> news_;
  std::unique_ptr<ForkServer> server_;
};

std::vector<std::string> Classes() { return CpuClasses(ReadCpuFacts()); }

// Several networks, threads of both kinds, and everything that draws.
std::vector<TrainerRequest> Requests(const std::string& hardware_class) {
  TrainerRequest cnn = SmallRequest();
  cnn.specification.train.shards = 4;
  cnn.specification.model.batch_norm = true;
  cnn.specification.augment = {.crop_padding = 2, .flip = true, .cutout = 8, .standardise = true};
  TrainerRequest mlp = SmallRequest("mlp");
  mlp.specification.model.dropout = 0.5;
  mlp.specification.train.threads = 2;
  TrainerRequest resnet = SmallRequest("resnet18");
  resnet.specification.data.train_examples = 64;
  resnet.specification.data.test_examples = 20;
  resnet.specification.train.epochs = 1;
  std::vector<TrainerRequest> requests = {cnn, mlp, resnet};
  for (TrainerRequest& request : requests) request.specification.hardware_class = hardware_class;
  return requests;
}

Json WithoutWhatPasses(const std::string& environment) {
  Json json = Json::parse(environment);
  json["machine"].erase("load");
  for (const char* name : {"measured", "load_at_end"}) json.erase(name);
  json["variables"].erase("LD_LIBRARY_PATH");
  return json;
}

TEST(ForksTest, AForkedMemberHasTheBitsAndTheEnvironmentOfAStartedOneOnEveryClass) {
  for (const std::string& hardware_class : Classes()) {
    RealServer server(hardware_class);
    ASSERT_TRUE(server.Load().ok());
    for (const TrainerRequest& request : Requests(hardware_class)) {
      const std::string what = hardware_class + " " + request.specification.model.name;
      const Ran started =
          RunTrainer(request, {.variables = *VariablesOf({.hardware_class = hardware_class})});
      ASSERT_EQ(started.exit_code, 0) << what << started.outcome().message;
      const auto forked = server.Train(request);
      ASSERT_TRUE(forked.ok()) << forked.status();
      ASSERT_EQ(forked->exit_code, 0) << what << forked->outcome().message;
      EXPECT_EQ(forked->outcome().hashes, started.outcome().hashes) << what;
      EXPECT_EQ(WithoutWhatPasses(forked->outcome().environment),
                WithoutWhatPasses(started.outcome().environment))
          << what;
    }
  }
}

TEST(ForksTest, FiftyMembersLeaveTheServerAsItWas) {
  RealServer server(Classes().back());
  ASSERT_TRUE(server.Load().ok());
  TrainerRequest request = SmallRequest("mlp");
  request.specification.hardware_class = Classes().back();
  request.specification.data.train_examples = 64;
  request.specification.data.test_examples = 20;
  request.specification.train.epochs = 1;
  const auto count = [&](const std::string& folder) {
    size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) files += entry.exists();
    return files;
  };
  const auto memory = [&] {
    std::ifstream file(server.Proc("status"));
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("VmData:")) return line;
    }
    return std::string();
  };
  ASSERT_EQ(server.Train(request)->exit_code, 0);
  const size_t files = count(server.Proc("fd"));
  const std::string data = memory();
  for (int i = 0; i < 50; ++i) ASSERT_EQ(server.Train(request)->exit_code, 0) << i;
  EXPECT_EQ(count(server.Proc("fd")), files);
  EXPECT_EQ(count(server.Proc("task")), 1u);
  EXPECT_EQ(memory(), data);
}

TEST(ForksTest, AnotherThreadInTheServerIsRefusedByName) {
  RealServer server(Classes().back(), {{"LD_PRELOAD", EXTRA_THREAD}});
  ASSERT_TRUE(server.Load().ok());
  EXPECT_THAT(Message(server.Train(SmallRequest()).status()),
              HasSubstr("it refused: it has 2 threads; expected 1"));
}

TEST(ForksTest, CudaAndForksExcludeEachOther) {
  const Ran ran = RunTrainer("", {.arguments = {"--serve-forks", "--gpu"}});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.output, HasSubstr("not with CUDA"));
}

// Preloaded code that speaks when libraries are taken apart stays silent.
TEST(LeaveTest, ATrainerLeavesWithoutTakingItselfApartOnceAllIsTold) {
  TrainerRequest request = SmallRequest("mlp");
  const RunOptions heard = {.variables = {{"LD_PRELOAD", LAST_WORDS}}};
  const Ran ran = RunTrainer(request, heard);
  ASSERT_EQ(ran.exit_code, 0) << ran.outcome().message;
  EXPECT_EQ(ran.outcome().hashes, RunTrainer(request).outcome().hashes);
  EXPECT_EQ(ran.output.find("taken apart"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(request.work_directory + "/weights.safetensors"));

  request.specification.model.name = "mlp ";
  EXPECT_EQ(RunTrainer(request, heard).exit_code, 10) << "a failure's code, too";
  const Ran described = RunTrainer("", {.arguments = {"--describe"}, .variables = heard.variables});
  EXPECT_THAT(described.output, HasSubstr("taken apart")) << "the preloaded code works";
}

}  // namespace
}  // namespace noisefloor::trainer

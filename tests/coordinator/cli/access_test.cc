// `access`, and which coordinator a command finds by what the environment says.
#include <sys/stat.h>

#include <fstream>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "common/base/clock.h"
#include "coordinator/certificates/access_folder.h"
#include "tests/coordinator/cli/command_line.h"

namespace noisefloor::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

namespace fs = std::filesystem;

constexpr char kAccessSweep[] = R"(name: tiny
model: {name: mlp}
data: {name: fashion-mnist-sample}
train:
  epochs: 1
  batch_size: 64
  optimizer: {name: sgd, learning_rate: 0.1}
noise: [control]
hardware: any
stack: torch-2.11-cu130
replicates: 1
)";

mode_t ModeOf(const std::string& path) {
  struct stat about {};
  EXPECT_EQ(stat(path.c_str(), &about), 0) << path;
  return about.st_mode & 0777;
}

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class AccessCommandTest : public ::testing::Test {
 protected:
  AccessCommandTest() : line_(Coordinator::Start) {
    fs::remove(line_.home() + "/noisefloor.db");  // No home where nothing was said.
    std::ofstream(line_.home() + "/tiny.yaml") << kAccessSweep;
    line_.SetAccess({.usual = usual_});
    line_.SetUser("bob");
  }

  Printed AtHome(std::vector<std::string> arguments) {
    arguments.push_back("--home=" + home_);
    return line_.Run(arguments);
  }
  // Access set up for a coordinator that then serves where the access files say that it does.
  std::unique_ptr<Coordinator> Serve() {
    EXPECT_EQ(AtHome({"access", "init", "--address=localhost:1"}).code, kDone);
    auto started = Coordinator::Start({.home = home_, .listen = "localhost:0", .use_access = true});
    EXPECT_TRUE(started.ok()) << started.status();
    for (const std::string name : {"admin", "submitter", "worker"}) {
      const std::string path = usual_ + "/" + name + ".access";
      absl::StatusOr<AccessFile> file = ReadAccessFile(path);
      EXPECT_TRUE(file.ok()) << file.status();
      file->coordinator = (*started)->address();
      EXPECT_TRUE(WriteAccessFile(path, *file).ok());
    }
    return *std::move(started);
  }

  CommandLine line_;
  const std::string home_ = line_.home() + "/study";
  const std::string usual_ = line_.home() + "/config/access";
};

TEST_F(AccessCommandTest, InitMakesFilesThatOnlyTheirOwnerReads) {
  const Printed printed = AtHome({"access", "init", "--address=box:7077", "--name=box.lan"});
  EXPECT_EQ(printed.code, kDone) << printed.err;
  EXPECT_THAT(printed.out, AllOf(HasSubstr(usual_ + "/worker.access"), HasSubstr("box:7077"),
                                 HasSubstr("find it by themselves"), Not(HasSubstr("nfl_"))));
  for (const std::string name : {"admin", "submitter", "worker"}) {
    const std::string path = usual_ + "/" + name + ".access";
    EXPECT_EQ(ModeOf(path), 0600u);
    EXPECT_THAT(TextOf(path),
                AllOf(HasSubstr("coordinator box:7077\n"), HasSubstr("token nfl_" + name + "_"),
                      HasSubstr("-----BEGIN CERTIFICATE-----"), Not(HasSubstr("PRIVATE KEY"))));
  }
  EXPECT_THAT(TextOf(home_ + "/noisefloor.db"), Not(HasSubstr("nfl_")));

  const Printed again = AtHome({"access", "init", line_.home() + "/x", "--address=box:7077"});
  EXPECT_EQ(again.code, kRefused);
  EXPECT_THAT(again.err, HasSubstr("is there already: `noisefloor access renew`"));
  EXPECT_FALSE(fs::exists(line_.home() + "/x"));
}

TEST_F(AccessCommandTest, AFolderIsNamedAsItIsFoundFromAnywhere) {
  const std::string folder = line_.home() + "/files";
  const std::string typed =
      fs::relative(line_.home(), fs::current_path()).string() + "/x/../files/";
  const Printed printed = AtHome({"access", "init", typed, "--address=box:7077"});
  ASSERT_EQ(printed.code, kDone) << printed.err;
  EXPECT_THAT(
      printed.out,
      HasSubstr("NOISEFLOOR_ACCESS=" + fs::path(folder).lexically_normal().string() + "\n"));
  EXPECT_TRUE(fs::exists(folder + "/worker.access"));
  const Printed json = line_.Run({"access", "init", typed + "more", "--address=box:7077",
                                  "--home=" + line_.home() + "/other", "--output=json"});
  ASSERT_EQ(json.code, kDone) << json.err;
  for (const auto& one : nlohmann::json::parse(json.out).at("files")) {
    EXPECT_THAT(one.at("file").get<std::string>(), StartsWith("/"));
    EXPECT_THAT(one.at("file").get<std::string>(), Not(HasSubstr("..")));
  }
}

TEST_F(AccessCommandTest, InitDoesNotReplaceFilesOfAnotherCoordinator) {
  fs::create_directories(usual_);
  std::ofstream(usual_ + "/admin.access") << "another's";
  const Printed printed = AtHome({"access", "init", "--address=box:7077"});
  EXPECT_EQ(printed.code, kRefused);
  EXPECT_THAT(printed.err, HasSubstr(usual_ + "/admin.access is there already: remove it"));
  EXPECT_EQ(TextOf(usual_ + "/admin.access"), "another's");
  EXPECT_FALSE(AccessIsSetUp(home_));
}

TEST_F(AccessCommandTest, InitThatWasRefusedCanBeRepeated) {
  EXPECT_EQ(AtHome({"access", "init", "--address=box:7077", "--name=no name"}).code, kRefused);
  EXPECT_FALSE(AccessIsSetUp(home_));
  EXPECT_EQ(AtHome({"access", "init", "--address=box:7077"}).code, kDone);
  const Printed list = AtHome({"access", "list", "--output=json"});
  const auto tokens = nlohmann::json::parse(list.out)["tokens"];
  ASSERT_EQ(tokens.size(), 3u) << "those of the first attempt are revoked";
  EXPECT_EQ(tokens[0]["token"], 4);
  EXPECT_EQ(tokens[0]["created_by"], "bob");
}

TEST_F(AccessCommandTest, ServeOffLoopbackSaysWhatToDo) {
  for (const auto& [listen, address] : std::map<std::string, std::string>{
           {"0.0.0.0:7077", "HOST:7077"}, {"[::]:7077", "HOST:7077"}, {"box:7077", "box:7077"}}) {
    const Printed printed = AtHome({"serve", "--listen=" + listen});
    EXPECT_EQ(printed.code, kRefused);
    EXPECT_THAT(printed.err,
                HasSubstr("others could reach it, and access is not set up: `noisefloor access "
                          "init --address=" +
                          address + " --home=" + home_ + "`"));
  }
  EXPECT_EQ(AtHome({"serve", "--insecure"}).code, kUsage);
}

TEST_F(AccessCommandTest, CommandsFindTheCoordinatorByTheUsualFile) {
  const auto serving = Serve();
  const Printed who = line_.Run({"access", "whoami"});
  EXPECT_EQ(who.out, "admin, admin\n") << who.err;
  const Printed submitted = line_.Run({"submit", line_.home() + "/tiny.yaml"});
  EXPECT_EQ(submitted.code, kDone) << submitted.err;
  EXPECT_EQ(AtHome({"sql", "SELECT owner FROM sweep"}).out, "owner\nadmin\n");

  line_.SetAccess({.named = usual_ + "/submitter.access"});
  EXPECT_EQ(line_.Run({"access", "whoami"}).out, "submitter, submitter\n");
  const Printed denied = line_.Run({"access", "list"});
  EXPECT_EQ(denied.code, kRefused);
  EXPECT_EQ(denied.err,
            "noisefloor access: ListTokens needs the role admin; submitter is a submitter\n");
  EXPECT_EQ(line_.Run({"status", "--coordinator=" + serving->address()}).code, kDone)
      << "an address alone goes with the file that names it";
}

TEST_F(AccessCommandTest, WhoOwnsTheDataDirectoryNeedsNoFile) {
  const auto serving = Serve();
  EXPECT_EQ(ModeOf(OwnerAccessPath(home_)), 0600u);
  const Printed who = AtHome({"access", "whoami"});
  EXPECT_EQ(who.out, "bob, admin\n") << who.err;
  EXPECT_EQ(AtHome({"submit", line_.home() + "/tiny.yaml"}).code, kDone);
  EXPECT_EQ(AtHome({"sql", "SELECT owner FROM sweep"}).out, "owner\nbob\n");
}

TEST_F(AccessCommandTest, TokensAreAddedListedAndRevoked) {
  const auto serving = Serve();
  const std::string file = line_.home() + "/alice.access";
  const Printed added = line_.Run({"access", "add", "alice", "--role=reader", "--to=" + file});
  EXPECT_EQ(added.code, kDone) << added.err;
  EXPECT_THAT(added.out, AllOf(StartsWith("token 4 of alice, reader, until "),
                               HasSubstr(", in " + file), Not(HasSubstr("nfl_"))));
  EXPECT_EQ(ModeOf(file), 0600u);
  const Printed shown = line_.Run({"access", "add", "alice", "--days=1"});
  EXPECT_THAT(shown.out, HasSubstr("it is not shown again:\nnfl_alice_"));
  const Printed third = line_.Run({"access", "add", "alice"});
  EXPECT_EQ(third.code, kRefused);
  EXPECT_THAT(third.err, HasSubstr("access revoke alice --token=4`"));
  const Printed list = line_.Run({"access", "list"});
  EXPECT_THAT(list.out, AllOf(HasSubstr("alice"), HasSubstr("active"), Not(HasSubstr("nfl_"))));
  const auto told = [this] {
    std::map<uint64_t, nlohmann::json> by_number;
    const Printed printed = line_.Run({"access", "list", "--all", "--output=json"});
    const auto all = nlohmann::json::parse(printed.out);
    for (const auto& one : all.at("tokens")) by_number[one["token"]] = one;
    return by_number;
  };
  const auto life = [](const nlohmann::json& token) {
    return token["expires_unix_seconds"].get<int64_t>() -
           token["created_unix_seconds"].get<int64_t>();
  };
  auto tokens = told();
  EXPECT_EQ(life(tokens.at(4)), 365 * 86400);
  EXPECT_EQ(life(tokens.at(5)), 86400) << "--days=1";
  for (const uint64_t number : {4, 5}) {
    EXPECT_EQ(tokens[number]["identity"], "alice");
    EXPECT_EQ(tokens[number]["role"], "reader");
    EXPECT_EQ(tokens[number]["active"], true);
    EXPECT_EQ(tokens[number]["revoked_unix_seconds"], 0);
  }

  EXPECT_EQ(line_.Run({"access", "revoke", "alice", "--token=5"}).out, "alice: 1 token revoked\n");
  tokens = told();
  EXPECT_EQ(tokens.at(4)["active"], true);
  EXPECT_EQ(tokens.at(5)["active"], false);
  EXPECT_GT(tokens.at(5)["revoked_unix_seconds"], 0);
  EXPECT_EQ(line_.Run({"access", "revoke", "alice"}).out, "alice: 1 token revoked\n");
  EXPECT_EQ(line_.Run({"access", "revoke", "alice"}).code, kRefused);
  EXPECT_THAT(line_.Run({"access", "list"}).out, Not(HasSubstr("alice")));
  EXPECT_THAT(line_.Run({"access", "list", "--all"}).out, HasSubstr("revoked on "));
}

TEST_F(AccessCommandTest, WhatTheEnvironmentNamesMustBeThere) {
  line_.SetAccess({.named = usual_});
  const Printed none = line_.Run({"status"});
  EXPECT_EQ(none.code, kRefused);
  EXPECT_THAT(none.err, HasSubstr("$NOISEFLOOR_ACCESS: " + usual_ + ": no access file there"));
  line_.SetAccess({});
  line_.SetCoordinator("box");
  EXPECT_THAT(line_.Run({"status"}).err,
              HasSubstr("$NOISEFLOOR_COORDINATOR: address 'box': expected HOST:PORT"));
}

TEST_F(AccessCommandTest, AnAddressInTheEnvironmentIsAsked) {
  const auto open = Coordinator::Start({.home = home_, .listen = "127.0.0.1:0"});
  ASSERT_TRUE(open.ok()) << open.status();
  line_.SetCoordinator((*open)->address());
  EXPECT_EQ(line_.Run({"access", "whoami"}).out, "bob, as you say: no token is asked for here\n");
  const std::string other = line_.home() + "/other";
  EXPECT_THAT(line_.Run({"status", "--home=" + other}).err, HasSubstr("no data directory " + other))
      << "what is typed goes first";
}

TEST_F(AccessCommandTest, RenewNeedsNoCoordinator) {
  EXPECT_EQ(AtHome({"access", "renew"}).code, kRefused);
  EXPECT_EQ(AtHome({"access", "init", "--address=box:7077"}).code, kDone);
  const Printed renewed = AtHome({"access", "renew", "--name=nas", "--name=10.0.0.7"});
  EXPECT_EQ(renewed.code, kDone) << renewed.err;
  EXPECT_THAT(renewed.out, StartsWith("a new certificate for box, localhost, 127.0.0.1, ::1, nas, "
                                      "10.0.0.7 until "));
}

TEST_F(AccessCommandTest, DoctorSaysWhatHelpsAgainstARefusedToken) {
  const std::unique_ptr<Coordinator> served = Serve();
  ASSERT_NE(served, nullptr);
  EXPECT_THAT(line_.Run({"doctor"}).out, HasSubstr("ok       coordinator: "));
  absl::StatusOr<AccessFile> file = ReadAccessFile(usual_ + "/admin.access");
  ASSERT_TRUE(file.ok()) << file.status();
  file->token += "x";
  ASSERT_TRUE(WriteAccessFile(usual_ + "/admin.access", *file).ok());

  const Printed refused = line_.Run({"doctor"});

  EXPECT_EQ(refused.code, kRefused);
  EXPECT_THAT(refused.out, AllOf(HasSubstr("problem  coordinator: "),
                                 HasSubstr("put a valid access file in " + usual_ + ": "),
                                 Not(HasSubstr("look at its log"))));
}

}  // namespace
}  // namespace noisefloor::cli

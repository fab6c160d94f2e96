// `gc --caches`: what goes of the caches and state directories of workers, and what stays.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "tests/coordinator/cli/command_line.h"

namespace noisefloor::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

// A lock on a file, as the worker of a state and the user of a data set hold it.
class Held {
 public:
  Held(const std::string& path, int kind) : file_(open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    EXPECT_EQ(flock(file_, kind | LOCK_NB), 0) << path;
  }
  ~Held() { close(file_); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  const int file_;
};

class CachesTest : public ::testing::Test {
 protected:
  CachesTest() {
    fs::create_directories(state_ + "/cache");
    fs::create_directories(state_ + "/spool");
    std::ofstream(state_ + "/lock") << "";
  }
  // Of `days` ago.
  static void Age(const std::string& path, int days) {
    const timespec time = {::time(nullptr) - int64_t{days} * 86400, 0};
    const std::array<timespec, 2> times = {time, time};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times.data(), 0), 0) << path;
  }
  std::string PutSet(char letter, int days) const {
    std::string path = state_ + "/cache/" + std::string(64, letter) + ".data";
    std::ofstream(path) << std::string(1000, letter);
    Age(path, days);
    return path;
  }
  std::string PutAttempt(int lease, int days, bool has_result) const {
    std::string folder = state_ + "/spool/" + std::to_string(lease);
    fs::create_directories(folder + "/work");
    std::ofstream(folder + "/work/weights") << std::string(100, 'w');
    if (has_result) std::ofstream(folder + "/result") << "done";
    for (const auto& entry : fs::recursive_directory_iterator(folder)) Age(entry.path(), days);
    Age(folder, days);
    return folder;
  }
  Printed Gc(std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.begin(), {"gc", "--caches"});
    return line_.Run(arguments);
  }

  CommandLine line_;
  const std::string state_ = line_.home() + "/worker";
};

TEST_F(CachesTest, WhatNobodyHasUsedLatelyGoes) {
  const std::string old = PutSet('a', 40);
  const std::string young = PutSet('b', 20);

  EXPECT_THAT(Gc({"--dry-run"}).out, HasSubstr("1 data set (0.0 MB) would go\n"));
  EXPECT_TRUE(fs::exists(old));
  const Printed gone = Gc();

  EXPECT_EQ(gone.code, kDone) << gone.err;
  EXPECT_EQ(gone.out,
            "1 data set (0.0 MB) removed\n1 data set (0.0 MB) used lately\n"
            "0 unfinished attempts (0.0 MB) removed\n");
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young));
  EXPECT_THAT(Gc({"--older-than=10d"}).out, HasSubstr("1 data set (0.0 MB) removed\n"));
  EXPECT_FALSE(fs::exists(young));
}

TEST_F(CachesTest, TreesThatWereFetchedGoAsSetsDo) {
  const auto put = [&](const std::string& name, int days) {
    const std::string tree = state_ + "/cache/trees/" + name;
    fs::create_directories(tree + "/mnist");
    std::ofstream(tree + "/mnist/images") << std::string(2'000'000, 'i');
    Age(tree, days);
    return tree;
  };
  const std::string old = put(std::string(64, 'a'), 40);
  const std::string half = put(std::string(64, 'b') + ".part", 40);
  const std::string young = put(std::string(64, 'c'), 20);

  EXPECT_THAT(Gc({"--dry-run"}).out, HasSubstr("2 fetched trees (4.0 MB) would go\n"
                                               "1 fetched tree (2.0 MB) used lately\n"));
  {
    const int folder = open(half.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ASSERT_EQ(flock(folder, LOCK_EX | LOCK_NB), 0);  // As whoever brings it.
    EXPECT_THAT(Gc().out, HasSubstr("1 fetched tree (2.0 MB) removed\n"
                                    "1 fetched tree (2.0 MB) in use\n"));
    close(folder);
  }
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(half));
  EXPECT_TRUE(fs::exists(young));
}

TEST_F(CachesTest, ASetInUseStaysHoweverOld) {
  const std::string used = PutSet('a', 400);
  {
    const Held trainer(used, LOCK_SH);
    EXPECT_THAT(Gc({"--older-than=0s"}).out, AllOf(HasSubstr("0 data sets (0.0 MB) removed"),
                                                   HasSubstr("1 data set (0.0 MB) in use")));
    EXPECT_TRUE(fs::exists(used));
  }
  EXPECT_EQ(Gc({"--older-than=0s"}).code, kDone);
  EXPECT_FALSE(fs::exists(used));
}

TEST_F(CachesTest, AnAttemptWithoutAResultGoesAndAResultWaits) {
  const std::string left = PutAttempt(1, 40, false);
  const std::string result = PutAttempt(2, 40, true);
  const std::string young = PutAttempt(3, 1, false);

  const auto told = nlohmann::json::parse(Gc({"--output=json"}).out);

  std::map<std::string, uint64_t> counts;
  for (const auto& share : told["caches"]) {
    counts[share["thing"].get<std::string>() + " " + share["what"].get<std::string>()] =
        share["count"];
  }
  EXPECT_EQ(counts["unfinished attempt removed"], 1u);
  EXPECT_EQ(counts["unfinished attempt left lately"], 1u);
  EXPECT_EQ(counts["result waiting for its worker"], 1u);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(result + "/result"));
  EXPECT_TRUE(fs::exists(young));
}

TEST_F(CachesTest, AnAttemptIsAsYoungAsTheYoungestOfItsFiles) {
  const std::string folder = PutAttempt(1, 1, false);
  for (const char* name : {"/work/log", "/work/checkpoint"}) std::ofstream(folder + name) << "x";
  // Whatever the order in which a file system lists them, the young one comes first.
  const fs::path young = fs::directory_iterator(folder + "/work")->path();
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path() != young) Age(entry.path(), 40);
  }
  Age(folder, 40);

  EXPECT_THAT(Gc().out, HasSubstr("0 unfinished attempts (0.0 MB) removed"));
  EXPECT_TRUE(fs::exists(young));
}

TEST_F(CachesTest, OfAWorkerThatRunsNoAttemptIsTouched) {
  const std::string folder = PutAttempt(1, 400, false);
  const Held worker(state_ + "/lock", LOCK_EX);

  EXPECT_THAT(Gc({"--older-than=0s"}).out, HasSubstr("0 unfinished attempts"));
  EXPECT_TRUE(fs::exists(folder + "/work/weights"));
}

TEST_F(CachesTest, OtherStatesAndCachesAreNamed) {
  const std::string elsewhere = line_.home() + "/elsewhere";
  fs::create_directories(elsewhere + "/cache");
  fs::rename(PutSet('a', 40), elsewhere + "/cache/" + std::string(64, 'a') + ".data");

  EXPECT_THAT(Gc({"--dry-run"}).out, HasSubstr("0 data sets"));
  EXPECT_THAT(Gc({"--dry-run", "--state=" + elsewhere}).out, HasSubstr("1 data set ("));
  EXPECT_THAT(Gc({"--dry-run", "--cache=" + elsewhere + "/cache"}).out, HasSubstr("1 data set ("));
  EXPECT_THAT(Gc({"--dry-run", "--state=" + elsewhere, "--cache=" + elsewhere + "/cache"}).out,
              HasSubstr("1 data set ("))
      << "once";
}

TEST_F(CachesTest, SayWhatIsWrong) {
  EXPECT_THAT(Gc({"--kind=weights"}).err, HasSubstr("neither --kind nor --sweep"));
  EXPECT_THAT(Gc({"--state=/nowhere"}).err, HasSubstr("/nowhere: there is no such folder"));
  EXPECT_THAT(Gc({"--coordinator=box:1"}).err, HasSubstr("caches lie on this machine"));
  EXPECT_THAT(line_.Run({"gc", "--state=" + state_}).err, HasSubstr("expected --caches"));
  fs::remove_all(state_);
  const Printed none = Gc();
  EXPECT_EQ(none.code, kDone);
  EXPECT_THAT(none.out, HasSubstr("there is no cache here"));
}

}  // namespace
}  // namespace noisefloor::cli

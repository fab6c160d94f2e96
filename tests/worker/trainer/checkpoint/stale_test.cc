// What nobody has come back for goes, and nothing else.
#include "worker/trainer/checkpoint/stale.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/clock.h"
#include "worker/trainer/checkpoint/checkpoint_folder.h"

namespace noisefloor::trainer {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class StaleTest : public testing::Test {
 protected:
  StaleTest() : base_(testing::TempDir() + "/noisefloor-stale-XXXXXX") {
    EXPECT_NE(mkdtemp(base_.data()), nullptr);
  }
  ~StaleTest() override { fs::remove_all(base_); }

  std::string Make(const std::string& name) {
    fs::create_directories(base_ + "/" + name + "/000000000001-0");
    std::ofstream(base_ + "/" + name + "/000000000001-0/manifest.json") << "x";
    return base_ + "/" + name;
  }

  std::string base_;
  const absl::Time now_ = SystemClock().Now();
};

TEST_F(StaleTest, FoldersOfMembersGoAfterTwoWeeks) {
  const std::string member = Make(std::string(32, 'a'));
  EXPECT_THAT(RemoveStaleCheckpoints(base_, now_ + absl::Hours(13 * 24)), IsEmpty());
  EXPECT_TRUE(fs::exists(member));
  EXPECT_THAT(RemoveStaleCheckpoints(base_, now_ + absl::Hours(15 * 24)), ElementsAre(member));
  EXPECT_FALSE(fs::exists(member));
}

TEST_F(StaleTest, WhatIsNoMembersStays) {
  for (const char* name : {"a", "0123456789abcdef0123456789abcdeF", "notes"}) Make(name);
  EXPECT_THAT(RemoveStaleCheckpoints(base_, now_ + absl::Hours(10000)), IsEmpty());
  EXPECT_THAT(RemoveStaleCheckpoints(base_ + "/none", now_), IsEmpty());
}

// One of many checkpoints written lately is enough.
TEST_F(StaleTest, AYoungCheckpointKeepsItsMember) {
  const std::string member = Make(std::string(32, 'b'));
  const auto old = fs::last_write_time(member) - std::chrono::hours(1000);
  fs::create_directory(member + "/000000000002-0");
  fs::last_write_time(member + "/000000000001-0", old);
  fs::last_write_time(member, old);
  EXPECT_THAT(RemoveStaleCheckpoints(base_, now_), IsEmpty());
  fs::last_write_time(member + "/000000000002-0", old);
  EXPECT_THAT(RemoveStaleCheckpoints(base_, now_), ElementsAre(member));
}

// Before it writes anything: the trainer that removes may be of another member.
TEST_F(StaleTest, WhatAnAttemptGoesOnFromIsNotStale) {
  const std::string name(32, 'c');
  const std::string member = base_ + "/" + name;
  const CheckpointIdentity identity = {{"member", "s1c2r3"}};
  CheckpointFolder before(base_, name, identity);
  ASSERT_TRUE(before.Open().ok());
  ASSERT_TRUE(before.Write({.step = 1}, "tensors", base_).ok());
  const auto old = fs::last_write_time(member) - std::chrono::hours(1000);
  for (const auto& entry : fs::directory_iterator(member)) fs::last_write_time(entry.path(), old);
  fs::last_write_time(member, old);

  CheckpointFolder next(base_, name, identity);
  const auto found = next.Load(1000, [](const Checkpoint&) { return absl::OkStatus(); });
  ASSERT_TRUE(found.checkpoint.has_value());

  EXPECT_THAT(RemoveStaleCheckpoints(base_, now_), IsEmpty());
  fs::last_write_time(member, old);
  EXPECT_THAT(RemoveStaleCheckpoints(base_, now_), ElementsAre(member));
}

}  // namespace
}  // namespace noisefloor::trainer

#include "worker/daemon/spool.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "worker/daemon/state_directory.h"

namespace noisefloor {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr LeaseId kLease{7};

class SpoolTest : public testing::Test {
 protected:
  SpoolTest() {
    std::string pattern = testing::TempDir() + "nf-spool-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~SpoolTest() override { std::filesystem::remove_all(folder_); }

  Spool Open(uint64_t limit = 1 << 20) const { return Spool(folder_ + "/spool", limit); }
  absl::StatusOr<StateDirectory> OpenState() const {
    return StateDirectory::Open(folder_ + "/state", [] { return false; });
  }
  static AttemptResult Done() {
    AttemptResult result;
    result.outcome.kind = Outcome::Kind::kDone;
    result.artifacts = {{"weights", "w", std::string(64, 'b'), 100}};
    return result;
  }
  std::vector<SpooledAttempt> Recovered() {
    Spool spool = Open();
    auto found = spool.Recover();
    EXPECT_TRUE(found.ok()) << found.status();
    if (!found.ok()) return {};
    losses_ = std::move(found->losses);
    return std::move(found->attempts);
  }
  // A finished attempt of two batches, whose file is then changed by the test.
  std::string Finished(const std::string& file) const {
    Spool spool = Open();
    EXPECT_TRUE(spool.Begin(kLease, "s1c0r0", 3).ok());
    EXPECT_TRUE(spool.AppendRecords(kLease, 1, "first").ok());
    EXPECT_TRUE(spool.AppendRecords(kLease, 2, "second").ok());
    EXPECT_TRUE(spool.Finish(kLease, Done()).ok());
    return folder_ + "/spool/7/" + file;
  }
  static void Replace(const std::string& path, const std::string& old, const std::string& text) {
    std::string content = ReadFile(path, 1 << 20).value();
    content.replace(content.find(old), old.size(), text);
    std::ofstream(path) << content;
  }

  std::string folder_;
  std::vector<SpoolLoss> losses_;  // Of Recovered.
};

TEST_F(SpoolTest, RecordsComeBackInTheirPlaces) {
  Spool spool = Open();
  ASSERT_TRUE(spool.Begin(kLease, "s1c0r0", 1).ok());
  ASSERT_TRUE(spool.AppendRecords(kLease, 1, "first").ok());
  ASSERT_TRUE(spool.AppendRecords(kLease, 2, "second line").ok());

  EXPECT_EQ(spool.ReadRecords(kLease, 1).value(), "first");
  EXPECT_EQ(spool.ReadRecords(kLease, 2).value(), "second line");
  EXPECT_EQ(spool.Batches(kLease), 2u);
  EXPECT_EQ(spool.ReadRecords(kLease, 3).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(spool.AppendRecords(kLease, 2, "again").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(spool.Begin(kLease, "s1c0r0", 1).code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(SpoolTest, AResultOutlivesTheProcess) {
  {
    Spool spool = Open();
    ASSERT_TRUE(spool.Begin(kLease, "s1c0r0", 3).ok());
    ASSERT_TRUE(spool.AppendRecords(kLease, 1, "first").ok());
    ASSERT_TRUE(spool.Finish(kLease, Done()).ok());
  }
  const auto found = Recovered();

  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].lease, kLease);
  EXPECT_EQ(found[0].member, "s1c0r0");
  EXPECT_EQ(found[0].attempt, 3u);
  ASSERT_TRUE(found[0].result.has_value());
  EXPECT_EQ(found[0].result->record_batches, 1u);
  EXPECT_THAT(found[0].result->artifacts, SizeIs(1));
}

TEST_F(SpoolTest, AnAttemptThatWasCutOffIsFoundWithoutAResultAndItsHalfLineIsGone) {
  {
    Spool spool = Open();
    ASSERT_TRUE(spool.Begin(kLease, "s1c0r0", 1).ok());
    ASSERT_TRUE(spool.AppendRecords(kLease, 1, "first").ok());
  }
  std::ofstream(folder_ + "/spool/7/records", std::ios::app) << "half a li";

  Spool spool = Open();
  const auto found = spool.Recover();

  ASSERT_TRUE(found.ok());
  ASSERT_THAT(found->attempts, SizeIs(1));
  EXPECT_FALSE(found->attempts[0].result.has_value());
  EXPECT_EQ(spool.Batches(kLease), 1u);
  ASSERT_TRUE(spool.AppendRecords(kLease, 2, "second").ok());
  EXPECT_EQ(spool.ReadRecords(kLease, 2).value(), "second");
}

TEST_F(SpoolTest, AFolderThatIsNotWholeIsRemoved) {
  std::filesystem::create_directories(folder_ + "/spool/9/work");
  EXPECT_THAT(Recovered(), IsEmpty());
  EXPECT_FALSE(PathExists(folder_ + "/spool/9"));
  ASSERT_THAT(losses_, SizeIs(1));
  EXPECT_EQ(losses_[0].lease, LeaseId{9});
  EXPECT_TRUE(losses_[0].removed);
}

TEST_F(SpoolTest, AResultOrRecordsThatHaveChangedAreRefused) {
  for (const auto& [file, old] : {std::pair("result", "done"), std::pair("records", "second")}) {
    const std::string path = Finished(file);
    Replace(path, old, std::string(old).substr(1) + "x");
    EXPECT_THAT(Recovered(), IsEmpty());
    ASSERT_THAT(losses_, SizeIs(1));
    EXPECT_EQ(Message(losses_[0].why),
              folder_ +
                  "/spool/7/result: the result or the records have not the hash they were "
                  "kept with");
    EXPECT_TRUE(losses_[0].removed);
    EXPECT_FALSE(PathExists(path));
  }
}

TEST_F(SpoolTest, FilesOfARecoveredResultTakeRoomLikeThoseOfAFreshOne) {
  AttemptResult large = Done();
  large.artifacts[0].size = 5000;
  uint64_t used = 0;
  {
    Spool spool = Open();
    ASSERT_TRUE(spool.Begin(kLease, "s1c0r0", 1).ok());
    ASSERT_TRUE(spool.AppendRecords(kLease, 1, "first").ok());
    ASSERT_TRUE(spool.Finish(kLease, large).ok());
    used = spool.used_bytes();
  }
  Spool spool = Open(5000);
  ASSERT_TRUE(spool.Recover().ok());

  EXPECT_EQ(used, 5000 + std::string("first\n").size());
  EXPECT_EQ(spool.used_bytes(), used);
  EXPECT_EQ(spool.Begin(LeaseId{8}, "s1c0r1", 1).code(), absl::StatusCode::kResourceExhausted);
  spool.Remove(kLease);
  EXPECT_EQ(spool.used_bytes(), 0u);
}

TEST_F(SpoolTest, AResultWithoutAHashIsRefused) {
  const std::string path = Finished("result");
  const std::string content = ReadFile(path, 1 << 20).value();
  std::ofstream(path) << content.substr(0, content.rfind("sha256 "));
  EXPECT_THAT(Recovered(), IsEmpty());
  ASSERT_THAT(losses_, SizeIs(1));
  EXPECT_EQ(Message(losses_[0].why), path + ": its last line is no hash");
}

TEST_F(SpoolTest, AResultThatCannotBeReadNowIsLeftForTheNextStart) {
  const std::string path = Finished("result");
  std::filesystem::rename(path, folder_ + "/aside");
  std::filesystem::create_directory(path);  // Reading it fails, and says nothing of its content.

  EXPECT_THAT(Recovered(), IsEmpty());

  ASSERT_THAT(losses_, SizeIs(1));
  EXPECT_FALSE(losses_[0].removed);
  std::filesystem::remove(path);
  std::filesystem::rename(folder_ + "/aside", path);
  EXPECT_THAT(Recovered(), SizeIs(1));
}

TEST_F(SpoolTest, WhatIsSettledLeavesNothing) {
  Spool spool = Open();
  ASSERT_TRUE(spool.Begin(kLease, "s1c0r0", 1).ok());
  ASSERT_TRUE(spool.AppendRecords(kLease, 1, "first").ok());
  ASSERT_TRUE(spool.Finish(kLease, Done()).ok());
  EXPECT_GT(spool.used_bytes(), 100u);

  spool.Remove(kLease);
  spool.Remove(kLease);

  EXPECT_EQ(spool.used_bytes(), 0u);
  EXPECT_FALSE(PathExists(folder_ + "/spool/7"));
}

TEST_F(SpoolTest, AFullSpoolSaysSo) {
  Spool spool = Open(100);
  ASSERT_TRUE(spool.Begin(kLease, "s1c0r0", 1).ok());
  ASSERT_TRUE(spool.AppendRecords(kLease, 1, std::string(80, 'x')).ok());

  const absl::Status full = spool.AppendRecords(kLease, 2, std::string(80, 'x'));

  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Message(full),
            "the spool " + folder_ +
                "/spool is full: 81 bytes wait for the coordinator, at most 100 may");
  ASSERT_TRUE(spool.Finish(kLease, Done()).ok());
  EXPECT_EQ(spool.Begin(LeaseId{8}, "s1c0r1", 1).code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(SpoolTest, AStateDirectoryHasOneHolderAndKeepsItsIdentity) {
  uint64_t identity = 0;
  {
    const auto first = OpenState();
    ASSERT_TRUE(first.ok()) << first.status();
    identity = first->identity();
    EXPECT_NE(identity, 0u);
    const auto second = OpenState();
    EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  }
  const auto again = OpenState();
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->identity(), identity);
}

TEST_F(SpoolTest, AStateDirectoryIsOpenedWhenItsHolderLeaves) {
  std::optional<StateDirectory> first(OpenState().value());
  int waits = 0;
  const auto second = StateDirectory::Open(folder_ + "/state", [&] {
    if (++waits == 3) first.reset();
    return true;
  });
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(waits, 3);
}

TEST_F(SpoolTest, ADamagedIdentityIsRefused) {
  std::filesystem::create_directories(folder_ + "/state");
  std::ofstream(folder_ + "/state/identity") << "no number";
  EXPECT_THAT(Message(OpenState().status()),
              testing::HasSubstr("identity: expected a number, got 'no number'"));
}

}  // namespace
}  // namespace noisefloor

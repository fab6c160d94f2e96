// One home hands its data over to another through a folder: exactly one has them at any time, and
// whoever has not is told who has.
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/store/blob_store.h"
#include "coordinator/store/database.h"
#include "coordinator/store/home_lock.h"
#include "coordinator/store/restore.h"
#include "coordinator/store/store.h"
#include "coordinator/store/take_over.h"
#include "coordinator/store/term_holder.h"
#include "tests/coordinator/store/rows_of.h"
#include "tests/coordinator/store/sample_files.h"
#include "tests/coordinator/store/sample_writes.h"
#include "tests/coordinator/store/temp_home.h"
#include "tests/support/clock_ahead.h"
#include "tests/support/forwarding_disk.h"

namespace noisefloor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

// To read a file below `folder` takes three minutes.
class SlowDisk final : public ForwardingDisk {
 public:
  SlowDisk(std::string folder, ClockAhead& clock) : folder_(std::move(folder)), clock_(clock) {}
  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenToRead(const std::string& path) override {
    if (path.starts_with(folder_)) clock_.Advance(absl::Minutes(3));
    return ForwardingDisk::OpenToRead(path);
  }

 private:
  const std::string folder_;
  ClockAhead& clock_;
};

class HandoverTest : public testing::Test {
 protected:
  HandoverTest() { fs::create_directories(folder_); }

  std::string Home(const std::string& name) const { return all_.path() + "/" + name; }

  // A home in the middle of things: leases live, files are there.
  void Live(const std::string& name) {
    auto store = SqliteStore::Open(Home(name));
    ASSERT_TRUE(store.ok()) << store.status();
    const auto blobs = BlobStore::Open(Home(name));
    ASSERT_TRUE(blobs.ok()) << blobs.status();
    ASSERT_TRUE((*store)->Apply(sample::StoryWithFiles(*blobs)).ok());
  }
  void MakeHome(const std::string& name) {
    fs::create_directories(Home(name));
    Live(name);
  }

  // `between`: what happens each time that it waits.
  absl::StatusOr<TakenOver> Take(
      const std::string& name, const std::function<void()>& between = [] {},
      absl::Duration patience = absl::ZeroDuration()) {
    TakeOverOptions options;
    options.home = Home(name);
    options.folder = folder_;
    options.who = {.id = "", .host = "host-of-" + name, .process = 7, .home = Home(name), .at = {}};
    options.chance = "chance" + std::to_string(++chances_);
    options.patience = patience;
    options.stopped = [this] { return stopped_; };
    options.pause = [&](absl::Duration) { between(); };
    options.says = [this](std::string_view what) {
      said_.emplace_back(what);
      if (what == "takes over") at_the_end_();
    };
    return TakeOver(options, clock_, *disk_);
  }

  TermHolder HolderOf(
      const std::string& name, const TakenOver& taken,
      const std::function<bool()>& stopped = [] { return false; },
      FileSystem& disk = LocalFileSystem()) {
    return TermHolder({.home = Home(name),
                       .folder = HandoverFolder(folder_),
                       .mark = taken.mark,
                       .version = "test",
                       .clock = clock_,
                       .stopped = stopped},
                      disk);
  }

  // The first home serves, and hands over to the second, which is ready when it says so.
  void HandOver(
      const std::string& from, const std::string& to,
      const std::function<void()>& before_the_end = [] {}) {
    const auto taken = Take(from);
    ASSERT_TRUE(taken.ok()) << taken.status();
    TermHolder holder = HolderOf(from, *taken);
    bool ended = false;
    const auto come = Take(
        to,
        [&] {
          const auto ready = holder.SuccessorIsReady();
          ASSERT_TRUE(ready.ok()) << ready.status();
          if (!*ready) return;
          EXPECT_TRUE(fs::exists(Home(to) + "/blobs/" + HashOf("images.npy").substr(0, 2)))
              << "what could be copied ahead of the end was";
          before_the_end();
          ASSERT_TRUE(holder.Finish().ok());
          ended = true;
        },
        absl::Minutes(2));
    ASSERT_TRUE(come.ok()) << come.status();
    EXPECT_TRUE(ended);
    EXPECT_TRUE(come->came_here);
    EXPECT_EQ(come->mark.term, taken->mark.term + 1);
  }

  static std::string HashOf(const std::string& path) { return Sha256Hex("content of " + path); }
  static std::vector<std::string> Ask(const std::string& home, const std::string& sql) {
    const auto database = OpenForReading(DatabasePath(home));
    EXPECT_TRUE(database.ok()) << database.status();
    return RowsOf(**database, sql);
  }
  // All rows of what a home has of attempts and events.
  std::vector<std::string> RowsIn(const std::string& name) const {
    std::vector<std::string> rows;
    for (const char* table :
         {"step", "lease", "member", "attempt", "artifact", "event", "worker"}) {
      for (std::string& row : Ask(Home(name), std::string("SELECT * FROM ") + table)) {
        rows.push_back(std::move(row));
      }
    }
    return rows;
  }

  const TempHome all_;
  const std::string folder_ = all_.path() + "/shared";
  ClockAhead clock_;
  FileSystem* disk_ = &LocalFileSystem();  // Of who takes over.
  std::vector<std::string> said_;
  std::function<void()> at_the_end_ = [] {};  // Of what a successor waits for.
  bool stopped_ = false;
  int chances_ = 0;
};

TEST_F(HandoverTest, ASuccessorHasEverythingInTheSameEpochWithAllLeases) {
  MakeHome("a");
  const std::vector<std::string> before = RowsIn("a");
  HandOver("a", "b");
  EXPECT_EQ(RowsIn("b"), before);
  EXPECT_EQ((*SqliteStore::Open(Home("b")))->Recover()->leases.size(), 1u);
  EXPECT_EQ(ReadEpoch(Home("b")).value_or(9), 0u);
  for (const std::string path : {"predictions.npy", "images.npy"}) {
    const uint64_t size = ("content of " + path).size();
    EXPECT_TRUE(BlobStore::At(Home("b")).Verify({HashOf(path), size}).ok()) << path;
  }
  EXPECT_TRUE(CheckHandedOver(Home("b")).ok());
  EXPECT_FALSE(fs::exists(Home("b") + "/restore-unfinished"));
  EXPECT_THAT(said_, ElementsAre(HasSubstr("waits for host-of-a"), "takes over"));
}

TEST_F(HandoverTest, WhatIsKeptWhileASuccessorFetchesIsHandedOverToo) {
  MakeHome("a");
  const std::string late = "the last file";
  HandOver("a", "b", [&] {
    auto store = SqliteStore::Open(Home("a"));
    ASSERT_TRUE(store.ok()) << store.status();
    scheduler::KeepOutcome outcome = sample::Finish(3, sample::Member(1, 2));
    outcome.outcome.artifacts = {{"log", "log", Sha256Hex(late), late.size()}};
    ASSERT_TRUE(BlobStore::At(Home("a")).Put({Sha256Hex(late), late.size()}, late).ok());
    const absl::Status kept = (*store)->Apply(std::vector<scheduler::Write>{
        outcome, scheduler::DropLease{LeaseId{3}, CauseClass::kNone, "", sample::At(60)},
        scheduler::SetMemberState{sample::Member(1, 2), MemberState::kDone, 1, 0}});
    ASSERT_TRUE(kept.ok()) << kept;
  });
  EXPECT_EQ(RowsIn("b"), RowsIn("a"));
  EXPECT_TRUE(BlobStore::At(Home("b")).Verify({Sha256Hex(late), late.size()}).ok());
  EXPECT_THAT((*SqliteStore::Open(Home("b")))->Recover()->leases, IsEmpty());
}

// The other one has nothing to say meanwhile.
TEST_F(HandoverTest, FetchingMayTakeLongerThanSilenceIsBorne) {
  MakeHome("a");
  SlowDisk slow(folder_ + "/state/blobs", clock_);
  disk_ = &slow;
  HandOver("a", "b");
  EXPECT_EQ(RowsIn("b"), RowsIn("a"));
  EXPECT_GT(clock_.ahead(), absl::Minutes(2)) << "or this shows nothing";
}

TEST_F(HandoverTest, WhoGivesSignsOfLifeIsWaitedForHoweverLong) {
  MakeHome("a");
  const auto taken = Take("a");
  ASSERT_TRUE(taken.ok()) << taken.status();
  const HandoverFolder folder(folder_);
  TermHolder holder = HolderOf("a", *taken);
  uint64_t beats = 0;
  const auto come = Take(
      "b",
      [&] {
        clock_.Advance(absl::Minutes(90));
        Word copies = {.id = folder.Wanted(1)->id, .stage = "copies", .problem = "", .beat = 0};
        copies.beat = ++beats;
        ASSERT_TRUE(beats < 4 ? folder.Tell(1, copies).ok() : holder.Finish().ok());
      },
      absl::Minutes(120));
  ASSERT_TRUE(come.ok()) << come.status();
  EXPECT_EQ(beats, 4u);
}

TEST_F(HandoverTest, WhoGivesNoneIsGivenUpAfterAWhile) {
  MakeHome("a");
  ASSERT_TRUE(Take("a").ok());
  int looks = 0;
  const auto come = Take(
      "b",
      [&] {
        clock_.Advance(absl::Minutes(50));
        stopped_ = ++looks > 5;
      },
      absl::Minutes(120));
  EXPECT_TRUE(absl::IsFailedPrecondition(come.status())) << come.status();
  EXPECT_EQ(looks, 3);
}

TEST_F(HandoverTest, WhileFilesAreCopiedTheSuccessorHearsOfIt) {
  MakeHome("a");
  const auto taken = Take("a");
  ASSERT_TRUE(taken.ok()) << taken.status();
  const HandoverFolder folder(folder_);
  ASSERT_TRUE(folder.Want(1, {.id = "next", .stage = "asks", .problem = "", .beat = 1}).ok());
  SlowDisk slow(Home("a") + "/blobs", clock_);
  TermHolder holder = HolderOf(
      "a", *taken, [] { return false; }, slow);
  EXPECT_FALSE(holder.SuccessorIsReady().value());
  EXPECT_EQ(folder.Answer(1)->stage, "copied");
  EXPECT_GE(folder.Answer(1)->beat, 3u) << "between the first file and the second, too";
}

TEST_F(HandoverTest, AHomeThatWasHandedOverIsNotServedAgainAndSaysWhoHasIt) {
  MakeHome("a");
  HandOver("a", "b");
  EXPECT_THAT(Message(CheckHandedOver(Home("a"))),
              AllOf(HasSubstr("was handed over"), HasSubstr("serve --home=" + Home("a"))));
  const auto again = Take("a");
  EXPECT_TRUE(absl::IsFailedPrecondition(again.status())) << again.status();
  EXPECT_THAT(Message(again.status()), AllOf(HasSubstr("term 2"), HasSubstr("host-of-b")));
  // Also when its own term is forgotten, and from a later holder.
  HandOver("b", "c");
  ASSERT_TRUE(HandoverFolder(folder_).Forget(2).ok());
  EXPECT_FALSE(fs::exists(folder_ + "/term-1"));
  EXPECT_TRUE(fs::exists(folder_ + "/term-2")) << "the one before the last";
  EXPECT_THAT(Message(Take("a").status()), AllOf(HasSubstr("term 3"), HasSubstr("host-of-c")));
  EXPECT_FALSE(CheckHandedOver(Home("b")).ok());
  EXPECT_TRUE(Take("c").ok());
}

TEST_F(HandoverTest, WhatNobodyHasTakenIsTakenBackWithoutACopy) {
  MakeHome("a");
  const auto taken = Take("a");
  ASSERT_TRUE(taken.ok()) << taken.status();
  ASSERT_TRUE(HolderOf("a", *taken).Finish().ok());
  EXPECT_FALSE(CheckHandedOver(Home("a")).ok());
  const auto back = Take("a");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->mark.term, 2u);
  EXPECT_FALSE(back->came_here);
  EXPECT_TRUE(CheckHandedOver(Home("a")).ok());
  // And that is seen by one who comes now.
  EXPECT_THAT(Message(Take("b").status()), HasSubstr("nothing is heard from host-of-a"));
}

TEST_F(HandoverTest, OneThatHasDiedIsNotSucceededButGoesOnWhereItsHomeIs) {
  MakeHome("a");
  ASSERT_TRUE(Take("a").ok());
  const auto other = Take("b");
  EXPECT_TRUE(absl::IsFailedPrecondition(other.status())) << other.status();
  EXPECT_THAT(Message(other.status()),
              AllOf(HasSubstr("host-of-a"), HasSubstr("noisefloor restore"),
                    HasSubstr("start it again where its home is")));
  EXPECT_FALSE(CheckHandedOver(Home("b")).ok()) << "nothing is served from what was prepared";
  const auto again = Take("a");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->mark.term, 1u);
}

TEST_F(HandoverTest, OfTwoSuccessorsOneHasItAndTheOtherIsTold) {
  MakeHome("a");
  const auto taken = Take("a");
  ASSERT_TRUE(taken.ok()) << taken.status();
  bool once = false;
  const auto slow = Take(
      "slow",
      [&] {
        if (std::exchange(once, true)) return;
        TermHolder holder = HolderOf("a", *taken);
        ASSERT_TRUE(holder.Finish().ok());
        const auto quick = Take("quick");
        ASSERT_TRUE(quick.ok()) << quick.status();
      },
      absl::Minutes(2));
  EXPECT_TRUE(absl::IsFailedPrecondition(slow.status())) << slow.status();
  EXPECT_THAT(Message(slow.status()), HasSubstr("term 2 is that of another home (host-of-quick"));
  EXPECT_FALSE(fs::exists(DatabasePath(Home("slow"))));
}

TEST_F(HandoverTest, ATermIsClaimedOnceHoweverManyTry) {
  const HandoverFolder folder(folder_);
  const Claim first = {.id = "1", .host = "one", .process = 1, .home = "/1", .at = clock_.Now()};
  const Claim second = {.id = "2", .host = "two", .process = 2, .home = "/2", .at = clock_.Now()};
  EXPECT_TRUE(folder.Make(1, first).value());
  EXPECT_FALSE(folder.Make(1, second).value());
  EXPECT_TRUE(folder.Make(1, first).value()) << "who was killed behind its claim has it";
  EXPECT_EQ(folder.LastTerm()->claim.id, "1");
  EXPECT_EQ(ToText(folder.LastTerm()->claim), ToText(first));
  size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_)) ++entries;
  EXPECT_EQ(entries, 1u) << "nothing aside is left";
}

// It was killed between its claim and the mark.
TEST_F(HandoverTest, ASuccessorThatDiesBehindItsClaimGoesOnWithWhatItHas) {
  MakeHome("a");
  HandOver("a", "b");
  HomeMark mark = ReadHomeMark(Home("b"))->value();
  mark.standing = HomeStanding::kTaking;
  ASSERT_TRUE(WriteHomeMark(Home("b"), mark).ok());
  const auto again = Take("b");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->mark.term, 2u);
  EXPECT_FALSE(again->came_here);
  EXPECT_EQ(RowsIn("b"), RowsIn("a"));
}

// Its terms were removed, or are those of an older copy of the folder.
TEST_F(HandoverTest, AFolderThatKnowsLessThanAHomeGivesItNothing) {
  MakeHome("a");
  const auto taken = Take("a");
  ASSERT_TRUE(taken.ok()) << taken.status();
  HomeMark mark = taken->mark;
  mark.term = 3;
  for (const HomeStanding standing : {HomeStanding::kServing, HomeStanding::kEnding}) {
    mark.standing = standing;
    ASSERT_TRUE(WriteHomeMark(Home("a"), mark).ok());
    EXPECT_THAT(Message(Take("a").status()), HasSubstr("term 1 is that of another home"));
  }
  ASSERT_TRUE(WriteHomeMark(Home("a"), taken->mark).ok());
  ASSERT_TRUE(HolderOf("a", *taken).Finish().ok());
  at_the_end_ = [this] { std::ofstream(folder_ + "/term-2") << "in the way"; };
  EXPECT_FALSE(Take("b").ok());
  at_the_end_ = [] {};
  for (const std::string term : {"/term-1", "/term-2"}) fs::remove_all(folder_ + term);
  EXPECT_THAT(Message(Take("b").status()), HasSubstr("which has no terms any more"));
  EXPECT_FALSE(CheckHandedOver(Home("b")).ok());
}

TEST_F(HandoverTest, ASuccessorThatDiesBeforeItsClaimLeavesTheTermToOthers) {
  MakeHome("a");
  const auto taken = Take("a");
  ASSERT_TRUE(taken.ok()) << taken.status();
  ASSERT_TRUE(HolderOf("a", *taken).Finish().ok());
  // It comes as far as its claim.
  at_the_end_ = [this] { std::ofstream(folder_ + "/term-2") << "in the way"; };
  EXPECT_FALSE(Take("b").ok());
  EXPECT_TRUE(fs::exists(DatabasePath(Home("b"))));
  EXPECT_FALSE(CheckHandedOver(Home("b")).ok());
  at_the_end_ = [] {};
  fs::remove_all(folder_ + "/term-2");
  ASSERT_TRUE(Take("c").ok());
  const auto late = Take("b");
  EXPECT_THAT(Message(late.status()), HasSubstr("nothing is heard from host-of-c"));
  EXPECT_FALSE(fs::exists(DatabasePath(Home("b")))) << "a copy of another's data is not kept";
}

TEST_F(HandoverTest, WhatIsDamagedIsNamedAndNotServed) {
  MakeHome("a");
  const auto taken = Take("a");
  ASSERT_TRUE(taken.ok()) << taken.status();
  ASSERT_TRUE(HolderOf("a", *taken).Finish().ok());
  const std::string path = BlobStore::At(folder_ + "/state").PathOf(HashOf("predictions.npy"));
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.put('C');
  }
  const auto come = Take("b");
  EXPECT_TRUE(absl::IsDataLoss(come.status())) << come.status();
  EXPECT_THAT(Message(come.status()), HasSubstr(path));
  EXPECT_FALSE(CheckHandedOver(Home("b")).ok());
  EXPECT_TRUE(Take("a").ok()) << "nobody has claimed it: its home goes on";
}

TEST_F(HandoverTest, AnotherBackupInThePlaceOfWhatWasHandedOverIsRefused) {
  MakeHome("a");
  const auto taken = Take("a");
  ASSERT_TRUE(taken.ok()) << taken.status();
  ASSERT_TRUE(HolderOf("a", *taken).Finish().ok());
  MakeHome("other");
  ASSERT_TRUE(MakeBackup(Home("other"), folder_ + "/state", clock_, {.version = "b"}).ok());
  EXPECT_THAT(Message(Take("b").status()), HasSubstr("is not what was handed over"));
}

TEST_F(HandoverTest, AHomeThatWasAboutToBeHandedOverGoesOn) {
  MakeHome("a");
  auto taken = Take("a");
  ASSERT_TRUE(taken.ok()) << taken.status();
  // It was killed between its mark and the end of the term.
  taken->mark.standing = HomeStanding::kEnding;
  ASSERT_TRUE(WriteHomeMark(Home("a"), taken->mark).ok());
  EXPECT_FALSE(CheckHandedOver(Home("a")).ok()) << "only who looks into the folder knows";
  const auto again = Take("a");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->mark.term, 1u);
  EXPECT_TRUE(CheckHandedOver(Home("a")).ok());
}

TEST_F(HandoverTest, AHandoverThatFailsLeavesTheHomeAsItWas) {
  MakeHome("a");
  const auto taken = Take("a");
  ASSERT_TRUE(taken.ok()) << taken.status();
  std::ofstream(folder_ + "/state") << "a file where the copy belongs";
  TermHolder holder = HolderOf("a", *taken);
  EXPECT_FALSE(holder.Finish().ok());
  EXPECT_TRUE(CheckHandedOver(Home("a")).ok());
  // A successor hears why, and the coordinator goes on.
  TermHolder next = HolderOf("a", *taken);
  absl::Status failed;
  const auto come = Take(
      "b",
      [&] {
        const auto ready = next.SuccessorIsReady();
        if (failed.ok()) failed = ready.status();
      },
      absl::Minutes(2));
  EXPECT_FALSE(failed.ok());
  EXPECT_THAT(Message(come.status()), AllOf(HasSubstr("cannot hand over"), HasSubstr("/state")));
}

// It said that it was ready, and died; the one that has the data was started again since.
TEST_F(HandoverTest, ASuccessorThatSaysNothingMoreGetsNothing) {
  MakeHome("a");
  const auto taken = Take("a");
  ASSERT_TRUE(taken.ok()) << taken.status();
  const HandoverFolder folder(folder_);
  ASSERT_TRUE(folder.Want(1, {.id = "dead", .stage = "ready", .problem = "", .beat = 4}).ok());
  TermHolder holder = HolderOf("a", *taken);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(holder.SuccessorIsReady().value());
  EXPECT_EQ(folder.Answer(1)->stage, "copied");
  ASSERT_TRUE(folder.Want(1, {.id = "dead", .stage = "ready", .problem = "", .beat = 5}).ok());
  EXPECT_TRUE(holder.SuccessorIsReady().value()) << "it lives";
}

TEST_F(HandoverTest, WhoIsStoppedWhileItCopiesAheadHandsOverAllTheSame) {
  MakeHome("a");
  const auto taken = Take("a");
  ASSERT_TRUE(taken.ok()) << taken.status();
  TermHolder holder = HolderOf("a", *taken, [] { return true; });
  bool ended = false;
  const auto come = Take(
      "b",
      [&] {
        EXPECT_FALSE(holder.SuccessorIsReady().value());
        if (std::exchange(ended, true)) return;
        ASSERT_TRUE(holder.Finish().ok());
      },
      absl::Minutes(2));
  ASSERT_TRUE(come.ok()) << come.status();
  EXPECT_EQ(RowsIn("b"), RowsIn("a"));
}

TEST_F(HandoverTest, AHomeWithDataOfItsOwnTakesNoOthers) {
  MakeHome("a");
  ASSERT_TRUE(Take("a").ok());
  MakeHome("b");
  const std::vector<std::string> before = RowsIn("b");
  EXPECT_THAT(Message(Take("b").status()), HasSubstr("has data of its own"));
  EXPECT_EQ(RowsIn("b"), before);
  EXPECT_TRUE(CheckHandedOver(Home("b")).ok());
}

TEST_F(HandoverTest, AFolderThatIsNotThereIsNotMade) {
  fs::remove_all(folder_);
  EXPECT_THAT(Message(Take("a").status()), HasSubstr("is that mounted here?"));
  EXPECT_FALSE(fs::exists(folder_));
  EXPECT_FALSE(fs::exists(Home("a")));
}

TEST_F(HandoverTest, WhoIsStoppedWhileItWaitsTakesNothing) {
  MakeHome("a");
  ASSERT_TRUE(Take("a").ok());
  const auto come = Take(
      "b", [this] { stopped_ = true; }, absl::Minutes(2));
  EXPECT_TRUE(absl::IsCancelled(come.status())) << come.status();
  EXPECT_EQ(HandoverFolder(folder_).LastTerm()->number, 1u);
}

TEST_F(HandoverTest, KeysAndCertificateGoWithTheDataAndStayPrivate) {
  MakeHome("a");
  fs::create_directories(Home("a") + "/access");
  for (const std::string_view name : kAccessNames) {
    std::ofstream(Home("a") + "/access/" + std::string(name)) << "the " << name;
  }
  std::ofstream(Home("a") + "/access/owner.access") << "of that process alone";
  HandOver("a", "b");
  for (const std::string_view name : kAccessNames) {
    std::string text;
    std::getline(std::ifstream(Home("b") + "/access/" + std::string(name)), text);
    EXPECT_EQ(text, "the " + std::string(name));
    const fs::path shared = folder_ + "/access/" + std::string(name);
    EXPECT_EQ(fs::status(shared).permissions() & fs::perms::all,
              fs::perms::owner_read | fs::perms::owner_write);
  }
  EXPECT_EQ(fs::status(folder_ + "/access").permissions() & fs::perms::all, fs::perms::owner_all);
  EXPECT_FALSE(fs::exists(Home("b") + "/access/owner.access"));
  // What was changed in the folder is not served with.
  HandOver("b", "c");
  const auto taken = Take("c");
  ASSERT_TRUE(HolderOf("c", *taken).Finish().ok());
  std::ofstream(folder_ + "/access/ca.pem") << "another authority";
  EXPECT_THAT(Message(Take("d").status()), HasSubstr("ca.pem: is not what was handed over"));
}

TEST_F(HandoverTest, NothingButFilesOfAccessGoesIntoAHomeAsSuch) {
  MakeHome("a");
  const auto taken = Take("a");
  ASSERT_TRUE(HolderOf("a", *taken).Finish().ok());
  const HandoverFolder folder(folder_);
  TermEnd end = folder.LastTerm()->end.value();
  fs::create_directories(folder.AccessPath());
  std::ofstream(folder_ + "/page.token") << "theirs";
  end.access["../page.token"] = Sha256Hex("theirs");
  ASSERT_TRUE(folder.End(1, end).ok());
  EXPECT_THAT(Message(Take("b").status()), HasSubstr("../page.token: is no file of access"));
  EXPECT_FALSE(fs::exists(Home("b") + "/page.token"));
}

// The successor on the very same home: the one that has the data is asked, and leaves the lock.
TEST_F(HandoverTest, TheSameHomeIsTakenOverFromItsHolder) {
  MakeHome("a");
  const auto taken = Take("a");
  ASSERT_TRUE(taken.ok()) << taken.status();
  std::optional<HomeLock> lock;
  {
    auto held = HomeLock::Acquire(Home("a"));
    ASSERT_TRUE(held.ok()) << held.status();
    lock.emplace(*std::move(held));
  }
  TermHolder holder = HolderOf("a", *taken);
  bool ended = false;
  const auto next = Take(
      "a",
      [&] {
        if (ended) return lock.reset();
        if (!holder.SuccessorIsReady().value()) return;
        ASSERT_TRUE(holder.Finish().ok());
        ended = true;
      },
      absl::Minutes(2));
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->mark.term, 2u);
  EXPECT_FALSE(next->came_here);
}

TEST_F(HandoverTest, ARestorationIntoAHomeThatTakesOverIsRefused) {
  MakeHome("a");
  const auto taken = Take("a");
  ASSERT_TRUE(HolderOf("a", *taken).Finish().ok());
  at_the_end_ = [this] { std::ofstream(folder_ + "/term-2") << "in the way"; };
  EXPECT_FALSE(Take("b").ok());
  const auto restored = RestoreBackup(folder_ + "/state", Home("b"), clock_, RestoreOptions{});
  EXPECT_THAT(Message(restored.status()), HasSubstr("being taken over"));
}

}  // namespace
}  // namespace noisefloor

// Bytes that a disk gives back otherwise than they were written, in a data directory whose
// coordinator was killed. Nothing crashes or hangs over them; a file of an attempt is named, and so
// is a database that cannot be opened.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/store/temp_home.h"
#include "tests/crash/budget.h"
#include "tests/crash/home_checker.h"
#include "tests/crash/life.h"

namespace noisefloor::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

constexpr int kDrawn = 12;  // Of the database and of its log.

class DamageTest : public testing::Test {
 protected:
  DamageTest() {
    Served coordinator(ended_.path(), nullptr);
    Life life(coordinator);
    EXPECT_TRUE(coordinator.SetUpAccess().ok()) << coordinator.Log();
    EXPECT_TRUE(coordinator.Start().ok());
    for (size_t step = 0; step < Life::Steps(); ++step) {
      const absl::Status done = life.Do(step);
      EXPECT_TRUE(done.ok()) << Life::NameOf(step) << ": " << done;
    }
    coordinator.Kill();  // Its log is not in the database yet.
    fs::copy(home(), ended_.path() + "/calm", fs::copy_options::recursive);
    calm_ = StudyOf(ended_.path() + "/calm");
    EXPECT_THAT(FaultsOf(ended_.path() + "/calm"), IsEmpty());
    Copy(home(), folded_);
    Served other(folded_.path(), nullptr);
    EXPECT_TRUE(other.Start().ok());
    EXPECT_TRUE(other.Stop().ok());
    EXPECT_FALSE(fs::exists(folded_.path() + "/home/noisefloor.db-wal"));
  }

  std::string home() const { return ended_.path() + "/home"; }

  // A home, and what opens it.
  void Copy(const std::string& home, const TempHome& to) const {
    fs::copy(home, to.path() + "/home", fs::copy_options::recursive);
    fs::copy(ended_.path() + "/access", to.path() + "/access", fs::copy_options::recursive);
  }

  static void Flip(const std::string& path, uint64_t at, int mask) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const int was = file.get();
    ASSERT_GE(was, 0) << path;
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(was ^ mask));
  }

  struct Range {
    uint64_t first = 0;
    uint64_t end = 0;
  };

  // Of the log of the home, in bytes; its format is SQLite's.
  Range LastTransaction() const {
    std::ifstream file(home() + "/noisefloor.db-wal", std::ios::binary);
    const std::string log(std::istreambuf_iterator<char>(file), {});
    const auto number = [&](size_t at) {
      uint32_t value = 0;
      for (size_t i = 0; i < 4; ++i)
        value = value << 8 | static_cast<unsigned char>(log.at(at + i));
      return value;
    };
    const size_t frame = 24 + number(8);
    Range last = {32, 32};
    for (size_t at = 32; at + frame <= log.size(); at += frame) {
      if (log.compare(at + 8, 8, log, 16, 8) != 0) break;  // Of a log before this one.
      if (number(at + 4) != 0) last = {last.end, at + frame};
    }
    return last;
  }

  // A copy of the home `from` of which one byte is not what it was.
  void FlipOneOf(const std::string& from, const std::string& name, Chance& chance,
                 std::optional<Range> of = {}) {
    const TempHome folder;
    Copy(from, folder);
    const std::string path = folder.path() + "/home/" + name;
    other_ = 0;
    if (!of) of = Range{0, fs::file_size(path)};
    const uint64_t at = of->first + chance.Below(of->end - of->first);
    const auto mask = static_cast<int>(1 + chance.Below(255));
    SCOPED_TRACE(name + " at " + std::to_string(at) + " xor " + std::to_string(mask));
    Flip(path, at, mask);
    Served coordinator(folder.path(), nullptr);
    const absl::Status started = coordinator.Start();
    if (!started.ok()) {
      ++refused_;
      EXPECT_TRUE(coordinator.EndsSoon());
      EXPECT_EQ(coordinator.Code(), 1) << started;
      EXPECT_THAT(std::string(started.message()),
                  testing::AnyOf(HasSubstr("noisefloor.db"), HasSubstr("s1"), HasSubstr("s2"),
                                 HasSubstr("s3")));
      return;
    }
    for (int sweep = 1; sweep <= 3; ++sweep) ReadAll(coordinator, static_cast<uint64_t>(sweep));
    EXPECT_FALSE(coordinator.Ended()) << coordinator.Log();
    coordinator.Kill();
    Count(StudyOf(coordinator.home()));
    // Every page of the database has a sum, and every frame of the log; the mark beside them says
    // how far the log goes.
    EXPECT_EQ(other_, 0) << "acknowledged things are lost in silence";
  }

  // What readers are told of a home in which a coordinator has started.
  void Count(const std::vector<std::string>& study) {
    const bool named = std::ranges::any_of(study, [](const std::string& line) {
      return line.starts_with("cannot read: ") && line.find("noisefloor.db") != line.npos;
    });
    if (named) {
      ++named_;
    } else {
      (study == calm_ ? same_ : other_) += 1;
    }
  }

  // Answers or refusals, each in its time.
  static void ReadAll(Served& coordinator, uint64_t sweep) {
    v1::ListMembersRequest members;
    members.set_sweep_id(sweep);
    members.set_view(v1::MEMBER_VIEW_FULL);
    const auto listed =
        Ask(coordinator.people(), &v1::CoordinatorService::Stub::ListMembers, members);
    if (!listed.ok()) EXPECT_FALSE(listed.status().message().empty());
    grpc::ClientContext context;
    SetDeadline(context, absl::Minutes(1));
    v1::GetStudyRequest study;
    study.set_sweep_id(sweep);
    study.set_form(v1::GetStudyRequest::FORM_JSON);
    const auto reader = coordinator.people().GetStudy(&context, study);
    v1::GetStudyResponse piece;
    while (reader->Read(&piece)) {
    }
    const absl::Status read = FromGrpc(reader->Finish());
    EXPECT_NE(read.code(), absl::StatusCode::kDeadlineExceeded);
    if (!read.ok()) EXPECT_FALSE(read.message().empty());
  }

  TempHome ended_;
  TempHome folded_;  // The same, with all that its log held in the database.
  std::vector<std::string> calm_;
  int refused_ = 0;
  int named_ = 0;
  int same_ = 0;
  int other_ = 0;
};

TEST_F(DamageTest, AByteOfTheDatabaseOrItsLogEndsNothingWithoutAWord) {
  Chance chance(CrashSeed());
  const std::string folded = folded_.path() + "/home";
  for (const auto& [from, name] :
       {std::pair(folded, "noisefloor.db"), std::pair(home(), "noisefloor.db"),
        std::pair(home(), "noisefloor.db-wal")}) {
    const int count = EveryPoint() ? 300 : kDrawn;
    for (int i = 0; i < count && !HasFailure(); ++i) FlipOneOf(from, name, chance);
    std::cout << name << " until now: " << refused_ << " refused by name, " << named_
              << " named to readers, " << same_ << " without effect on the study, " << other_
              << " with another study\n";
  }
}

// The log ends with a whole transaction: a damaged one looks as if it had been cut off, and is not
// taken for that.
TEST_F(DamageTest, AByteOfTheLastTransactionIsNamed) {
  Chance chance(CrashSeed());
  const std::string log = "noisefloor.db-wal";
  for (int i = 0; i < kDrawn && !HasFailure(); ++i)
    FlipOneOf(home(), log, chance, LastTransaction());
  EXPECT_EQ(refused_, kDrawn);
}

TEST_F(DamageTest, AByteOfAFileIsNamedWhenItIsRead) {
  const auto files = Rows(home(), "SELECT DISTINCT file FROM v_artifact WHERE accepted");
  ASSERT_EQ(files.size(), 3u);
  Chance chance(CrashSeed());
  for (const std::string& file : files) {
    const std::string path = home() + "/" + file;
    Flip(path, chance.Below(fs::file_size(path)), static_cast<int>(1 + chance.Below(255)));
  }
  EXPECT_EQ(FaultsOf(home()).size(), 3u) << "the checker sees them";

  Served coordinator(ended_.path(), nullptr);
  ASSERT_TRUE(coordinator.Start().ok()) << coordinator.Log();
  for (const char* member : {"s1c0r0", "s1c0r1", "s3c0r0"}) {
    grpc::ClientContext context;
    SetDeadline(context, absl::Minutes(1));
    v1::GetArtifactRequest request;
    request.set_member(member);
    request.set_kind("weights");
    const auto reader = coordinator.people().GetArtifact(&context, request);
    v1::GetArtifactResponse piece;
    while (reader->Read(&piece)) {
    }
    const absl::Status read = FromGrpc(reader->Finish());
    EXPECT_EQ(read.code(), absl::StatusCode::kDataLoss) << member << ": " << read;
    EXPECT_THAT(std::string(read.message()), HasSubstr("blobs/")) << read;
  }
}

}  // namespace
}  // namespace noisefloor::test

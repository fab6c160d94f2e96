// Where the page is opened, and the token that is kept for it.
#include <sys/stat.h>

#include <filesystem>

#include "common/files/atomic_file.h"
#include "coordinator/live/live_page.h"
#include "tests/coordinator/live/live_fixture.h"

namespace noisefloor::test {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

class LiveDoorTest : public LiveTest {
 protected:
  std::string TokenPath() const { return home_.path() + "/page.token"; }
  int StatusWith(const std::string& token) const {
    return GetWith("/api/GetVersion", Bearer(token)).status;
  }
  static absl::StatusOr<std::unique_ptr<Coordinator>> StartAt(const TempHome& home,
                                                              const std::string& page,
                                                              bool use_access = false,
                                                              bool at_any_port = false) {
    return Coordinator::Start({.home = home.path(),
                               .listen = "127.0.0.1:0",
                               .use_access = use_access,
                               .page = page,
                               .page_at_any_port = at_any_port});
  }
};

TEST_F(LiveDoorTest, TheTokenIsTheOwnersAlone) {
  EXPECT_THAT(page_.token, MatchesRegex("[0-9a-f]{64}"));
  EXPECT_EQ(*ReadFile(TokenPath(), 100), page_.token + "\n");
  struct stat about {};
  ASSERT_EQ(stat(TokenPath().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
}

TEST_F(LiveDoorTest, ARestartSignsNobodyOut) {
  const std::string token = page_.token;
  StartWithPage();
  EXPECT_EQ(page_.token, token);
  EXPECT_EQ(StatusWith(token), 200);
}

TEST_F(LiveDoorTest, AnotherHomeHasAnother) {
  const TempHome home;
  const auto other = StartAt(home, "127.0.0.1:0");
  ASSERT_TRUE(other.ok()) << other.status();
  const PageUrl page = ParsePageUrl((*other)->page_url());
  EXPECT_NE(page.token, page_.token);
  EXPECT_EQ(StatusWith(page.token), 401);
}

TEST_F(LiveDoorTest, ADamagedTokenIsMadeAnew) {
  for (const std::string& damaged :
       {std::string(), std::string("\n"), page_.token.substr(0, 63) + "\n",
        page_.token.substr(0, 63) + "g\n", page_.token + "0\n", page_.token + page_.token,
        std::string(64, ' '), std::string(64, '\0'), std::string(1 << 20, 'a')}) {
    coordinator_.reset();
    ASSERT_TRUE(WriteFileAtomically(TokenPath(), damaged).ok());
    const std::string before = page_.token;
    StartWithPage();
    EXPECT_THAT(page_.token, MatchesRegex("[0-9a-f]{64}"));
    EXPECT_NE(page_.token, before);
    EXPECT_EQ(*ReadFile(TokenPath(), 100), page_.token + "\n");
    struct stat about {};
    ASSERT_EQ(stat(TokenPath().c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0600u);
    EXPECT_EQ(StatusWith(page_.token), 200);
    EXPECT_EQ(StatusWith(before), 401);
  }
}

TEST_F(LiveDoorTest, ATokenThatCannotBeKeptOpensThePageAllTheSame) {
  coordinator_.reset();
  std::filesystem::remove(TokenPath());
  std::filesystem::create_directories(TokenPath() + "/in the way");
  const std::string before = page_.token;
  StartWithPage();
  EXPECT_NE(page_.token, before);
  EXPECT_EQ(StatusWith(page_.token), 200);
  EXPECT_EQ(StatusWith(before), 401);
}

TEST(PageTokenTest, IsKeptOrMadeOfChance) {
  const TempHome home;
  const std::string first(64, 'a');
  const std::string second(64, 'b');
  EXPECT_EQ(*live::PageToken(home.path(), first), first);
  EXPECT_EQ(*live::PageToken(home.path(), second), first);
  std::filesystem::remove(home.path() + "/page.token");
  EXPECT_EQ(*live::PageToken(home.path(), second), second);
  EXPECT_FALSE(live::PageToken(home.path() + "/nowhere", first).ok());
}

TEST_F(LiveDoorTest, OffLoopbackItNeedsAccess) {
  const TempHome home;
  for (const char* const address : {"0.0.0.0:0", "[::]:0", "203.0.113.1:7078", "box:7078"}) {
    for (const bool use_access : {false, true}) {
      const auto refused = StartAt(home, address, use_access);
      EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument) << address;
      EXPECT_THAT(Message(refused.status()), HasSubstr("page"));
      EXPECT_THAT(Message(refused.status()), HasSubstr(address));
      EXPECT_THAT(Message(refused.status()), HasSubstr("access init"));
    }
  }
}

TEST_F(LiveDoorTest, AnAddressThatIsNoneIsRefused) {
  const TempHome home;
  for (const char* const address : {"7078", "127.0.0.1", "127.0.0.1:x", ":1"}) {
    EXPECT_EQ(StartAt(home, address).status().code(), absl::StatusCode::kInvalidArgument)
        << address;
  }
}

TEST_F(LiveDoorTest, ATakenPortIsUnavailableOrAnother) {
  const TempHome home;
  const std::string taken = ToText(page_.address);
  const auto refused = StartAt(home, taken);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Message(refused.status()), HasSubstr(taken));
  const auto other = StartAt(home, taken, /*use_access=*/false, /*at_any_port=*/true);
  ASSERT_TRUE(other.ok()) << other.status();
  const PageUrl page = ParsePageUrl((*other)->page_url());
  EXPECT_EQ(page.address.host, page_.address.host);
  EXPECT_NE(page.address.port, page_.address.port);
  httplib::Client client(page.address.host, page.address.port);
  EXPECT_EQ(client.Get("/", Bearer(page.token))->status, 200);
  EXPECT_EQ(StatusWith(page_.token), 200) << "whoever was there stays";
}

TEST_F(LiveDoorTest, AFreePortIsTakenThoughAnyWillDo) {
  coordinator_->Stop();
  coordinator_.reset();
  const TempHome home;
  const auto other = StartAt(home, ToText(page_.address), false, /*at_any_port=*/true);
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(ParsePageUrl((*other)->page_url()).address.port, page_.address.port);
}

TEST_F(LiveDoorTest, WithoutAPageThereIsNone) {
  const TempHome home;
  const auto other = StartAt(home, "");
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ((*other)->page_url(), "");
  EXPECT_FALSE(std::filesystem::exists(home.path() + "/page.token"));
}

TEST_F(LiveDoorTest, WithoutANetworkThePageIsThereToo) {
  const TempHome home;
  const auto other = Coordinator::Start({.home = home.path(), .page = "127.0.0.1:0"});
  ASSERT_TRUE(other.ok()) << other.status();
  const PageUrl page = ParsePageUrl((*other)->page_url());
  httplib::Client client(page.address.host, page.address.port);
  EXPECT_EQ(client.Get("/api/GetVersion", Bearer(page.token))->status, 200);
}

TEST_F(LiveDoorTest, AfterStopNobodyIsAnswered) {
  coordinator_->Stop();
  EXPECT_EQ(Get("/").status, 0);
  coordinator_->Stop();
}

}  // namespace
}  // namespace noisefloor::test

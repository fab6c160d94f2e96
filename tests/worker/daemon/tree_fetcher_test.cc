// Data sets come from the coordinator whatever breaks on the way, and what cannot come is said.
#include "worker/daemon/tree_fetcher.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/mailbox.h"
#include "common/rpc/channel.h"
#include "tests/support/clock_ahead.h"
#include "tests/support/mini_coordinator.h"

namespace noisefloor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using Code = absl::StatusCode;

std::string Content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TreeName Set(const std::string& name) { return {TreeName::Kind::kDataSet, name}; }

class TreeFetcherTest : public testing::Test {
 protected:
  TreeFetcherTest() {
    std::string pattern = testing::TempDir() + "nf-fetch-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    coordinator_.OfferData("own", {{"own/a", a_}, {"own/b", b_}});
    fetcher_ = Make();
  }
  ~TreeFetcherTest() override {
    fetcher_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::unique_ptr<TreeFetcher> Make(absl::Duration patience = absl::Minutes(2),
                                    uint64_t limit = 1 << 20) {
    stubs_.emplace_back(
        v1::WorkerService::NewStub(MakeChannel(ParseAddress(coordinator_.address()).value())));
    return std::make_unique<TreeFetcher>(
        stubs_.back(), TreeCache(folder_, limit), clock_, 1,
        [this](FetchNews news) { (void)news_.Post(std::move(news)); }, patience);
  }
  // How the next one ends, of whichever fetcher.
  std::optional<FetchNews> End() {
    const absl::Duration give_up = clock_.Steady() + absl::Minutes(1);
    while (clock_.Steady() < give_up) {
      if (ended_.empty()) {
        for (FetchNews& news : news_.TakeAll(absl::Seconds(1))) {
          if (news.ended) ended_.push_back(std::move(news));
        }
      }
      if (ended_.empty()) continue;
      FetchNews news = std::move(ended_.front());
      ended_.pop_front();
      return news;
    }
    return std::nullopt;
  }
  // Whether such news come before a minute without any.
  bool Hears(const std::function<bool(const FetchNews&)>& such) {
    for (bool heard = false; !heard;) {
      std::vector<FetchNews> all = news_.TakeAll(absl::Minutes(1));
      if (all.empty()) return false;
      for (FetchNews& news : all) {
        heard = heard || such(news);
        if (news.ended) ended_.push_back(std::move(news));
      }
    }
    return true;
  }
  bool HearsTaken(uint64_t bytes) {
    return Hears(
        [&](const FetchNews& news) { return news.bytes > 0 && news.bytes_taken == bytes; });
  }
  // Of a fetcher whose tree another one brings.
  bool HearsOfAnother(uint64_t bytes_here) {
    return Hears([&](const FetchNews& news) {
      return news.bytes_taken == 0 && news.bytes_here == bytes_here;
    });
  }
  void ExpectWhole(const std::optional<FetchNews>& end) {
    ASSERT_TRUE(end.has_value());
    ASSERT_TRUE(end->tree.ok()) << end->tree.status();
    EXPECT_EQ(Content((*end->tree)->path() + "/own/a"), a_);
    EXPECT_EQ(Content((*end->tree)->path() + "/own/b"), b_);
  }

  const std::string a_ = std::string(5000, 'a');
  const std::string b_ = std::string(3000, 'b') + "end";
  std::string folder_;
  MiniCoordinator coordinator_;
  ClockAhead clock_;
  Mailbox<FetchNews> news_{1000};
  std::deque<FetchNews> ended_;
  std::list<WorkerStub> stubs_;
  std::unique_ptr<TreeFetcher> fetcher_;
};

TEST_F(TreeFetcherTest, ADataSetComesOnceAndIsThereTheNextTime) {
  fetcher_->Want(Set("own"));
  fetcher_->Want(Set("own"));
  const auto first = End();
  ExpectWhole(first);
  EXPECT_EQ(first->bytes, 8003u);
  EXPECT_EQ(first->bytes_taken, 8003u);

  fetcher_->Want(Set("own"));
  const auto second = End();
  ExpectWhole(second);
  EXPECT_EQ(second->bytes_taken, 0u);
  EXPECT_EQ(coordinator_.bytes_sent(), 8003u);
}

TEST_F(TreeFetcherTest, ABrokenCallGoesOnBehindTheLastByte) {
  coordinator_.LetThrough(6000);
  fetcher_->Want(Set("own"));
  ASSERT_TRUE(coordinator_.WaitForBytesSent(6000));
  coordinator_.DropReads();
  coordinator_.LetThrough(100000);

  ExpectWhole(End());

  EXPECT_EQ(coordinator_.bytes_sent(), 8003u);
  EXPECT_THAT(coordinator_.reads(),
              ElementsAre(Pair("own/a", 0), Pair("own/b", 0), Pair("own/b", 1000)));
}

TEST_F(TreeFetcherTest, WhatChangesInTheMiddleIsDescribedAgainAndBeginsAnew) {
  coordinator_.LetThrough(2000);
  fetcher_->Want(Set("own"));
  ASSERT_TRUE(coordinator_.WaitForBytesSent(2000));
  const std::string other(5000, 'x');
  coordinator_.OfferData("own", {{"own/a", other}, {"own/b", b_}});
  coordinator_.DropReads();
  coordinator_.LetThrough(100000);

  const auto end = End();

  ASSERT_TRUE(end.has_value());
  ASSERT_TRUE(end->tree.ok()) << end->tree.status();
  EXPECT_EQ(Content((*end->tree)->path() + "/own/a"), other);
}

TEST_F(TreeFetcherTest, TwoOfOneMachineBringItOnce) {
  const auto second = Make();
  coordinator_.LetThrough(3000);
  fetcher_->Want(Set("own"));
  ASSERT_TRUE(coordinator_.WaitForBytesSent(3000));
  second->Want(Set("own"));
  coordinator_.LetThrough(100000);

  ExpectWhole(End());
  ExpectWhole(End());

  EXPECT_EQ(coordinator_.bytes_sent(), 8003u);
}

TEST_F(TreeFetcherTest, WhatTheCoordinatorDoesNotHaveIsSaidAtOnce) {
  fetcher_->Want(Set("other"));
  const auto end = End();
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->tree.status().code(), Code::kNotFound);
  EXPECT_FALSE(end->machine_failed);
  EXPECT_THAT(Message(end->tree.status()), HasSubstr("the coordinator has no other"));
}

TEST_F(TreeFetcherTest, AHostileTreeWritesNothing) {
  coordinator_.OfferData("own", {{"../../escaped", "x"}});
  fetcher_->Want(Set("own"));
  const auto end = End();
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->tree.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(Message(end->tree.status()), HasSubstr("'../../escaped' is no path below"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(TreeFetcherTest, WithoutAByteForLongItIsGivenUp) {
  coordinator_.LetThrough(0);
  const auto impatient = Make(absl::Milliseconds(1));
  impatient->Want(Set("own"));
  std::optional<FetchNews> end;
  while (!end) {  // gRPC itself tries calls again that have said nothing yet.
    coordinator_.DropReads();
    for (FetchNews& news : news_.TakeAll(absl::Milliseconds(10))) {
      if (news.ended) end = std::move(news);
    }
  }
  EXPECT_EQ(end->tree.status().code(), Code::kUnavailable);
  EXPECT_FALSE(end->machine_failed);
}

// Two minutes without a byte, not two minutes in all.
TEST_F(TreeFetcherTest, WhileBytesComeItIsWaitedForHoweverLongItTakes) {
  coordinator_.LetThrough(0);
  fetcher_->Want(Set("own"));
  ASSERT_TRUE(HearsTaken(0));
  clock_.Advance(absl::Seconds(90));
  coordinator_.LetThrough(1000);
  ASSERT_TRUE(HearsTaken(1000));
  clock_.Advance(absl::Seconds(90));
  coordinator_.DropReads();
  coordinator_.LetThrough(100000);
  ExpectWhole(End());
}

TEST_F(TreeFetcherTest, WhatComesToAnotherOfTheMachineCountsAsWell) {
  coordinator_.LetThrough(0);
  fetcher_->Want(Set("own"));
  ASSERT_TRUE(HearsTaken(0));
  clock_.Advance(absl::Seconds(2));
  coordinator_.LetThrough(1000);
  ASSERT_TRUE(HearsTaken(1000));
  const auto second = Make();
  second->Want(Set("own"));
  ASSERT_TRUE(HearsOfAnother(1000));

  clock_.Advance(absl::Seconds(90));
  coordinator_.LetThrough(1000);
  ASSERT_TRUE(HearsTaken(2000));
  clock_.Advance(absl::Seconds(2));
  second->Wake();
  ASSERT_TRUE(HearsOfAnother(2000));
  clock_.Advance(absl::Seconds(90));
  second->Wake();
  ASSERT_TRUE(HearsOfAnother(2000));

  coordinator_.LetThrough(100000);
  ExpectWhole(End());
  ExpectWhole(End());
}

TEST_F(TreeFetcherTest, WhatComesThriceWithAWrongContentIsGivenUp) {
  coordinator_.Spoil(a_);
  fetcher_->Want(Set("own"));
  const auto end = End();
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->tree.status().code(), Code::kDataLoss);
  EXPECT_FALSE(end->machine_failed);
  EXPECT_THAT(coordinator_.reads(),
              ElementsAre(Pair("own/a", 0), Pair("own/a", 0), Pair("own/a", 0)));
}

TEST_F(TreeFetcherTest, ACacheThatCannotBeWrittenToIsThisMachinesFault) {
  std::ofstream(folder_ + "/trees") << "no folder";
  fetcher_->Want(Set("own"));
  const auto end = End();
  ASSERT_TRUE(end.has_value());
  EXPECT_FALSE(end->tree.ok());
  EXPECT_TRUE(end->machine_failed) << end->tree.status();
}

TEST_F(TreeFetcherTest, WhatIsLargerThanItsCacheMayBeIsThisMachinesFault) {
  const auto small = Make(absl::Minutes(2), 8002);
  small->Want(Set("own"));
  const auto end = End();
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->tree.status().code(), Code::kOutOfRange);
  EXPECT_TRUE(end->machine_failed) << end->tree.status();
  EXPECT_EQ(coordinator_.bytes_sent(), 0u);
}

TEST_F(TreeFetcherTest, WhatNobodyWantsAnyMoreMakesWayForTheNext) {
  coordinator_.OfferData("another", {{"another/c", "c"}});
  coordinator_.LetThrough(1000);
  fetcher_->Want(Set("own"));
  ASSERT_TRUE(coordinator_.WaitForBytesSent(1000));
  fetcher_->Want(Set("another"));
  fetcher_->Forget(Set("own"));
  coordinator_.LetThrough(100000);

  const auto end = End();

  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->wanted.name, "another");
  EXPECT_TRUE(end->tree.ok()) << end->tree.status();
}

}  // namespace
}  // namespace noisefloor

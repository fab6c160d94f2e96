// Many pools with many jobs: what a look costs, and how many jobs are asked for at one time.
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/fleet/array_size.h"
#include "coordinator/fleet/fleet.h"
#include "coordinator/fleet/job_index.h"
#include "tests/coordinator/fleet/fleet_fixture.h"

namespace noisefloor::fleet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

PoolRecord PoolOf(uint64_t number, uint32_t most) {
  PoolRecord pool;
  pool.number = number;
  pool.wish.name = "p" + std::to_string(number);
  pool.wish.most = pool.wish.backlog = most;
  pool.tag = "tag";
  pool.classes = {"class" + std::to_string(number)};
  return pool;
}

// A fleet whose jobs all wait, and what its cluster shows.
struct Many {
  Fleet fleet;
  View view;
};
Many ManyJobs(uint64_t pools, uint32_t launches) {
  std::vector<PoolRecord> records;
  std::vector<LaunchRecord> live;
  Many many;
  many.view.now = kStart;
  many.view.nonce = "n";
  many.view.jobs.emplace();
  for (uint64_t number = 1; number <= pools; ++number) {
    records.push_back(PoolOf(number, launches));
    many.view.waiting.push_back({records.back().classes[0], "", launches});
    for (uint32_t index = 0; index < launches; ++index) {
      LaunchRecord launch;
      launch.number = live.size() + 1;
      launch.pool = number;
      launch.nonce = "old";
      launch.index = index;
      launch.job = std::to_string(number) + "_" + std::to_string(index);
      launch.phase = LaunchPhase::kWaiting;
      Job job;
      job.key = launch.job;
      job.name = JobName(records.back(), launch);
      job.index = index;
      job.phase = JobPhase::kWaiting;
      many.view.jobs->push_back(std::move(job));
      live.push_back(std::move(launch));
    }
  }
  many.fleet = Fleet({}, std::move(records), std::move(live), {}, pools, pools * launches);
  return many;
}

TEST(ManyJobs, ALookGrowsWithTheJobsAndNotWithTheirSquare) {
  const auto cost = [](uint64_t pools, uint32_t launches) {
    Many many = ManyJobs(pools, launches);
    EXPECT_THAT(many.fleet.Look(many.view).launches, IsEmpty()) << "all is as it was";
    return static_cast<double>(many.fleet.looked_at()) / static_cast<double>(pools * launches);
  };
  const double small = cost(5, 20);
  EXPECT_GT(small, 1);
  EXPECT_LE(cost(50, 200), 3 * small) << "a search is the logarithm of what is searched";
  EXPECT_LE(cost(50, 200), 40);
  EXPECT_LE(cost(1, 10000), 40);
}

TEST(ManyJobs, ThatAreAllStraysAreEachCancelledOnce) {
  Many many = ManyJobs(3, 50);
  for (Job& job : *many.view.jobs) job.name += "-given-up";
  const Decisions decisions = many.fleet.Look(many.view);
  ASSERT_EQ(decisions.cancels.size(), 150u);
  EXPECT_EQ(decisions.cancels[0].pool, 1u);
  EXPECT_EQ(decisions.cancels[149].pool, 3u);
}

TEST(ManyJobs, AreAskedForAThousandAtATime) {
  Fleet fleet({}, {PoolOf(1, 2500)}, {}, {}, 1, 0);
  View view;
  view.now = kStart;
  view.waiting = {{"class1", "", 5000}};
  view.jobs.emplace();
  std::vector<uint32_t> counts;
  for (int look = 0; look < 4; ++look) {
    view.nonce = "n" + std::to_string(look);
    for (const Submit& submit : fleet.Look(view).submits) {
      counts.push_back(submit.count);
      (void)fleet.Submitted(submit, std::to_string(look), kStart);
    }
    view.jobs.reset();
    view.unasked = true;
  }
  EXPECT_THAT(counts, ElementsAre(1000, 1000, 500));
}

TEST(Jobs, AreFoundByNameAndPlaceAndTheFirstOfTwoAlikeIsMeant) {
  std::vector<Job> jobs(4);
  jobs[0] = {.key = "9_1", .name = "nf-b", .index = 1};
  jobs[1] = {.key = "8", .name = "nf-a"};
  jobs[2] = {.key = "9_0", .name = "nf-b"};
  jobs[3] = {.key = "10", .name = "nf-a"};
  const JobIndex index(jobs);
  EXPECT_EQ(index.Find("nf-a", 0)->key, "8");
  EXPECT_EQ(index.Find("nf-b", 0)->key, "9_0");
  EXPECT_EQ(index.Find("nf-b", 1)->key, "9_1");
  EXPECT_EQ(index.Find("nf-b", 2), nullptr);
  EXPECT_EQ(index.Find("nf-aa", 0), nullptr);
  EXPECT_EQ(index.Find("nf-", 0), nullptr);
  EXPECT_EQ(index.Find("z", 0), nullptr);
  std::vector<std::string> keys;
  for (const Job* job : index.Beginning("nf-b")) keys.push_back(job->key);
  EXPECT_THAT(keys, ElementsAre("9_0", "9_1"));
  EXPECT_EQ(index.Beginning("nf-").size(), 4u);
  EXPECT_THAT(index.Beginning("nf-c"), IsEmpty());
}

TEST(Arrays, AreAsLargeAsWasFoundToBeTaken) {
  const auto tries = [](uint32_t bound) {
    ArraySize size;
    std::vector<uint32_t> asked;
    for (int i = 0; i < 12; ++i) {
      asked.push_back(size.Next(1000));
      asked.back() <= bound ? size.Take(asked.back()) : size.Refuse(asked.back());
    }
    return asked;
  };
  EXPECT_EQ(tries(1000), std::vector<uint32_t>(12, 1000));
  EXPECT_THAT(tries(100), ElementsAre(1000, 500, 250, 125, 63, 94, 109, 101, 97, 99, 100, 100));
  EXPECT_EQ(tries(1).back(), 1u);
}

TEST(Arrays, WhatIsNoLongerTakenIsTriedSmaller) {
  ArraySize size;
  size.Take(64);
  EXPECT_EQ(size.Next(1000), 1000u);
  size.Refuse(64);
  EXPECT_EQ(size.Next(1000), 32u);
  EXPECT_EQ(size.Next(7), 7u);
  size.Take(64);  // And is again.
  EXPECT_EQ(size.Next(1000), 1000u);
}

}  // namespace
}  // namespace noisefloor::fleet

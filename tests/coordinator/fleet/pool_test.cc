// What a pool may be, how many GPUs its jobs have, and what its jobs and workers are called.
#include "coordinator/fleet/pool.h"

#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace noisefloor::fleet {
namespace {

using testing::HasSubstr;

PoolWish Wish() {
  PoolWish wish;
  wish.name = "a100";
  wish.program = "/opt/noisefloor-worker";
  wish.logs = "/home/alice/logs";
  return wish;
}

// Why a wish with that change is refused; "OK" when it is not.
template <typename Change>
std::string Wrong(Change change) {
  PoolWish wish = Wish();
  change(wish);
  const absl::Status status = Check(wish);
  if (status.ok()) return "OK";
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return Message(status);
}

TEST(CheckWish, TakesWhatIsUsual) {
  EXPECT_TRUE(Check(Wish()).ok()) << Check(Wish());
  EXPECT_EQ(Wrong([](PoolWish& w) { w.name = "0-a"; }), "OK");
  EXPECT_EQ(Wrong([](PoolWish& w) { w.name = std::string(40, 'a'); }), "OK");
  EXPECT_EQ(Wrong([](PoolWish& w) { w.most = 10000; }), "OK");
  EXPECT_EQ(Wrong([](PoolWish& w) { w.least = w.most = 3; }), "OK");
  EXPECT_EQ(Wrong([](PoolWish& w) { w.backlog = 1; }), "OK");
  EXPECT_EQ(Wrong([](PoolWish& w) { w.idle = absl::Seconds(1); }), "OK");
  EXPECT_EQ(Wrong([](PoolWish& w) { w.gpu_hours = 0.5; }), "OK");
  EXPECT_EQ(Wrong([](PoolWish& w) { w.drain_before = absl::ZeroDuration(); }), "OK");
  EXPECT_EQ(Wrong([](PoolWish& w) { w.drain_before = absl::Hours(9); }), "OK")
      << "the cluster's own limit is not known";
  EXPECT_EQ(Wrong([](PoolWish& w) { w.time_limit = w.drain_before + absl::Seconds(1); }), "OK");
}

TEST(CheckWish, NamesAreOfLowerCaseLettersDigitsAndHyphens) {
  for (const std::string& name : {std::string(), std::string("A100"), std::string("a_b"),
                                  std::string("a b"), std::string("a/b"), std::string("-a"),
                                  std::string("a-"), std::string("ä"), std::string(41, 'a')}) {
    EXPECT_THAT(Wrong([&](PoolWish& w) { w.name = name; }), HasSubstr("name: expected")) << name;
  }
  EXPECT_THAT(Wrong([](PoolWish& w) { w.name = "A100"; }), HasSubstr("got \"A100\""));
}

TEST(CheckWish, NumbersHaveTheirBounds) {
  EXPECT_EQ(Wrong([](PoolWish& w) { w.most = 0; }), "max: expected 1 to 10000, got 0");
  EXPECT_EQ(Wrong([](PoolWish& w) { w.most = 10001; }), "max: expected 1 to 10000, got 10001");
  EXPECT_EQ(Wrong([](PoolWish& w) { std::tie(w.least, w.most) = std::pair(4u, 3u); }),
            "min: expected at most max, which is 3, got 4");
  EXPECT_THAT(Wrong([](PoolWish& w) { w.backlog = 0; }), HasSubstr("backlog"));
  EXPECT_THAT(Wrong([](PoolWish& w) { w.gpu_hours = -1; }), HasSubstr("GPU hours"));
  EXPECT_THAT(Wrong([](PoolWish& w) { w.gpu_hours = std::nan(""); }), HasSubstr("GPU hours"));
}

// What is kept is JSON, and JSON has no infinity.
TEST(CheckWish, NothingIsInfinite) {
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_THAT(Wrong([&](PoolWish& w) { w.gpu_hours = infinite; }), HasSubstr("GPU hours"));
}

TEST(CheckWish, TimesHaveTheirBounds) {
  EXPECT_THAT(Wrong([](PoolWish& w) { w.idle = absl::Milliseconds(999); }), HasSubstr("idle"));
  EXPECT_THAT(Wrong([](PoolWish& w) { w.idle = -absl::Seconds(5); }), HasSubstr("idle"));
  EXPECT_THAT(Wrong([](PoolWish& w) { w.time_limit = -absl::Seconds(1); }), HasSubstr("limit"));
  EXPECT_THAT(Wrong([](PoolWish& w) { w.drain_before = -absl::Seconds(1); }), HasSubstr("drain"));
  EXPECT_THAT(Wrong([](PoolWish& w) { w.time_limit = w.drain_before; }),
              HasSubstr("drain before: expected less than the time limit"));
}

TEST(CheckWish, AProgramAndAFolderOfLogsAreNeeded) {
  EXPECT_THAT(Wrong([](PoolWish& w) { w.program.clear(); }), HasSubstr("noisefloor-worker"));
  EXPECT_THAT(Wrong([](PoolWish& w) { w.logs.clear(); }), HasSubstr("folder of logs"));
}

TEST(CheckWish, ItsTextsAreBoundedTogether) {
  const std::string much(16384, 'x');
  EXPECT_THAT(Wrong([&](PoolWish& w) { w.prologue = much; }), HasSubstr("16 KiB"));
  EXPECT_THAT(Wrong([&](PoolWish& w) { w.program = much; }), HasSubstr("16 KiB"));
  EXPECT_THAT(Wrong([&](PoolWish& w) { w.logs = much; }), HasSubstr("16 KiB"));
  EXPECT_THAT(Wrong([&](PoolWish& w) { w.cluster = {much}; }), HasSubstr("16 KiB"));
  EXPECT_THAT(Wrong([&](PoolWish& w) { w.worker = {much}; }), HasSubstr("16 KiB"));
  EXPECT_THAT(Wrong([&](PoolWish& w) { w.access = much; }), HasSubstr("16 KiB"));
  EXPECT_THAT(Wrong([&](PoolWish& w) { w.hardware = much; }), HasSubstr("16 KiB"));
  const std::string half(8192, 'x');
  EXPECT_EQ(Wrong([&](PoolWish& w) { w.prologue = half; }), "OK");
  EXPECT_THAT(Wrong([&](PoolWish& w) { w.cluster = {half}, w.worker = {half}; }),
              HasSubstr("16 KiB"));
}

uint32_t Gpus(std::vector<std::string> cluster) {
  PoolWish wish = Wish();
  wish.cluster = std::move(cluster);
  return GpusOf(wish);
}

TEST(GpusOfAJob, AreReadFromTheUsualOptions) {
  EXPECT_EQ(Gpus({"--gres=gpu"}), 1u);
  EXPECT_EQ(Gpus({"--gres=gpu:2"}), 2u);
  EXPECT_EQ(Gpus({"--gres=gpu:a100"}), 1u);
  EXPECT_EQ(Gpus({"--gres=gpu:a100:4"}), 4u);
  EXPECT_EQ(Gpus({"--gres=gpu:1g.10gb:3"}), 3u);
  EXPECT_EQ(Gpus({"--gres=gpu:1g.10gb"}), 1u);
  EXPECT_EQ(Gpus({"--gpus=8"}), 8u);
  EXPECT_EQ(Gpus({"--gpus=a100:2"}), 2u);
  EXPECT_EQ(Gpus({"--gpus-per-node=a100:3"}), 3u);
  EXPECT_EQ(Gpus({"--gpus-per-task=16"}), 16u);
  EXPECT_EQ(Gpus({"--gres", "gpu:a100:2"}), 2u);
  EXPECT_EQ(Gpus({"--gpus", "2"}), 2u);
  EXPECT_EQ(Gpus({"--partition=gpu", "--qos=gpu:9", "--gres=gpu:5"}), 5u);
}

TEST(GpusOfAJob, AreReadFromTheShortOption) {
  EXPECT_EQ(Gpus({"-G2"}), 2u);
  EXPECT_EQ(Gpus({"-Ga100:3"}), 3u);
  EXPECT_EQ(Gpus({"-G", "4"}), 4u);
}

TEST(GpusOfAJob, AreReadFromALongerList) {
  EXPECT_EQ(Gpus({"--gres=gpu:2,nvme:100"}), 2u);
  EXPECT_EQ(Gpus({"--gres=nvme:100,gpu:a100:2"}), 2u);
  EXPECT_EQ(Gpus({"--gpus=a100:1,v100:2"}), 3u);
}

TEST(GpusOfAJob, AreOneWhenNobodySays) {
  EXPECT_EQ(Gpus({}), 1u);
  EXPECT_EQ(Gpus({"--constraint=a100"}), 1u);
  EXPECT_EQ(Gpus({"--gres=nvme:3"}), 1u);
  EXPECT_EQ(Gpus({"--gres=gpu_memory:4096"}), 1u) << "something else";
  EXPECT_EQ(Gpus({"--gres"}), 1u);
  EXPECT_EQ(Gpus({"--gres="}), 1u);
  EXPECT_EQ(Gpus({"--gpus=0"}), 1u);
  EXPECT_EQ(Gpus({"--gpus=99999999999999999999"}), 1u);
  EXPECT_EQ(Gpus({"--gpus-per-socket-of-ours=7"}), 1u);
}

TEST(NamesOfAPool, AreItsOwn) {
  PoolRecord pool;
  pool.wish.name = "a100";
  pool.tag = "1f2e3d4c";
  LaunchRecord launch;
  launch.nonce = "9f8e";
  launch.index = 12;
  EXPECT_EQ(JobPrefix(pool), "nf-a100-1f2e3d4c-");
  EXPECT_EQ(JobName(pool, launch), "nf-a100-1f2e3d4c-9f8e") << "one for the whole array";
  EXPECT_EQ(WorkerName(pool, launch), "a100-9f8e-12");
}

}  // namespace
}  // namespace noisefloor::fleet

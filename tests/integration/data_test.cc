// Two workers of one machine without data: real processes, of which the coordinator and the one
// that fetches are killed in the middle.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/clock.h"
#include "tests/integration/fleet.h"

namespace noisefloor::test {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kPatience = absl::Minutes(3);
constexpr size_t kImages = 60 << 20;  // Bytes.

class DataTest : public testing::Test {
 protected:
  DataTest() {
    std::string pattern = testing::TempDir() + "nf-data-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    const std::string set = folder_ + "/roots/mnist";
    fs::create_directories(set);
    fs::create_directories(folder_ + "/nothing");
    // The trainer that stands in does not look into them.
    std::ofstream(set + "/train-images-idx3-ubyte") << std::string(kImages, 'i');
    for (const char* name :
         {"train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}) {
      std::ofstream(set + "/" + name) << name;
    }
    setenv("NOISEFLOOR_DATA", (folder_ + "/roots").c_str(), 1);  // The coordinator's.
    auto fleet = Fleet::Start(
        {.folder = folder_,
         .program = NOISEFLOOR,
         .worker = WORKER,
         .worker_arguments = {"--trainer=fake=" FAKE_TRAINER, "--data-root=" + folder_ + "/nothing",
                              "--cache=" + folder_ + "/cache"},
         .workers = 2});
    EXPECT_TRUE(fleet.ok()) << fleet.status();
    if (fleet.ok()) fleet_.emplace(*std::move(fleet));
  }
  ~DataTest() override {
    fleet_.reset();
    unsetenv("NOISEFLOOR_DATA");
    fs::remove_all(folder_);
  }

  // Of the set that is being fetched, on disk; whole or not.
  uint64_t BytesHere() const {
    uint64_t bytes = 0;
    std::error_code error;  // What was listed may be renamed meanwhile.
    fs::recursive_directory_iterator it(folder_ + "/cache/trees", error);
    for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
      std::error_code gone;
      const uint64_t size = it->is_regular_file(gone) ? it->file_size(gone) : 0;
      if (!gone) bytes += size;
    }
    return bytes;
  }
  // What both workers say that they have taken from the coordinator for members that they began.
  uint64_t BytesFetched() const {
    uint64_t bytes = 0;
    for (const char* name : {"/worker-0.log", "/worker-1.log"}) {
      std::ifstream file(folder_ + name);
      for (std::string line; std::getline(file, line);) {
        std::smatch match;
        if (std::regex_search(line, match, std::regex(R"(data_is_here .*fetched=(\d+))"))) {
          bytes += std::stoull(match[1]);
        }
      }
    }
    return bytes;
  }

  std::string folder_;
  std::optional<Fleet> fleet_;
};

v1::Sweep OfLackingData(uint32_t replicates) {
  v1::Sweep sweep;
  sweep.set_name("lacking");
  v1::Setting& data = *sweep.add_training();
  data.set_path("data.name");
  data.mutable_value()->set_text("mnist");
  sweep.add_noise()->set_name("algo");
  sweep.mutable_hardware()->set_kind(v1::HardwareChoice::KIND_ANY);
  sweep.add_stacks("fake");
  sweep.set_replicates(replicates);
  sweep.set_blocks(1);
  return sweep;
}

bool HasEnded(const v1::SweepSummary& sweep) { return sweep.done() + sweep.failed() == 6; }

TEST_F(DataTest, TheyAreFetchedOnceThoughEverybodyIsKilledInTheMiddle) {
  ASSERT_TRUE(fleet_.has_value());
  ASSERT_TRUE(fleet_->Submit(OfLackingData(6), "lacking").ok());
  const SystemClock clock;
  const absl::Duration give_up = clock.Steady() + kPatience;
  while (BytesHere() == 0) {
    ASSERT_LT(clock.Steady(), give_up) << fleet_->Logs();
    absl::SleepFor(absl::Milliseconds(1));  // Between two looks.
  }
  ASSERT_TRUE(fleet_->KillCoordinator().ok());
  ASSERT_TRUE(fleet_->KillWorker(0).ok());
  ASSERT_TRUE(fleet_->KillWorker(1).ok());

  const absl::Status ended = fleet_->WatchUntil(1, HasEnded);

  ASSERT_TRUE(ended.ok()) << ended << fleet_->Logs();
  const auto members = fleet_->Members(1);
  ASSERT_TRUE(members.ok()) << members.status();
  for (const v1::Member& member : *members) {
    EXPECT_EQ(member.state(), v1::MEMBER_STATE_DONE) << member.id() << fleet_->Logs();
  }
  size_t trees = 0;
  for (const auto& entry : fs::directory_iterator(folder_ + "/cache/trees")) {
    ++trees;
    EXPECT_EQ(fs::file_size(entry.path() / "mnist" / "train-images-idx3-ubyte"), kImages);
  }
  EXPECT_EQ(trees, 1u);
  EXPECT_LE(BytesFetched(), kImages + 1000) << "not once for each worker";
  const absl::Status stopped = fleet_->Stop();
  EXPECT_TRUE(stopped.ok()) << stopped << fleet_->Logs();
}

}  // namespace
}  // namespace noisefloor::test

// Sweeps that people extend and delete over real gRPC, beside workers and over restarts.
#include <thread>

#include "google/protobuf/util/message_differencer.h"

#include "tests/coordinator/rpc/coordinator_fixture.h"

namespace noisefloor::test {
namespace {

using testing::HasSubstr;

class ExtentTest : public CoordinatorTest {
 protected:
  absl::StatusOr<v1::ExtendSweepResponse> Extend(
      const std::function<void(v1::ExtendSweepRequest&)>& say) {
    v1::ExtendSweepRequest request;
    request.set_sweep_id(1);
    say(request);
    return Call(&People::ExtendSweep, request);
  }
  absl::StatusOr<v1::DeleteSweepResponse> Delete(uint64_t sweep) {
    v1::DeleteSweepRequest request;
    request.set_sweep_id(sweep);
    return Call(&People::DeleteSweep, request);
  }
  absl::StatusOr<v1::GetSweepResponse> Get(uint64_t sweep) {
    v1::GetSweepRequest request;
    request.set_sweep_id(sweep);
    return Call(&People::GetSweep, request);
  }
  // All lines from the beginning, and how the watch ended.
  std::pair<std::string, absl::Status> Watched(uint64_t sweep) {
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::WatchSweepRequest request;
    request.set_sweep_id(sweep);
    request.set_resume_token(1);
    const auto reader = people_->WatchSweep(&context, request);
    std::string lines;
    v1::WatchSweepResponse news;
    while (reader->Read(&news)) {
      for (const std::string& line : news.lines()) lines += line + "\n";
    }
    return {lines, FromGrpc(reader->Finish())};
  }
  void Train(ScriptedWorker& worker, const std::string& member) {
    const v1::StartMember start = worker.Started();
    EXPECT_EQ(start.member(), member);
    started_[member] = start.specification();
    ASSERT_TRUE(worker.Send(ScriptedWorker::Finish(start.lease_id(), 0)));
    ASSERT_TRUE(worker.Next(ScriptedWorker::Case::kSettled).has_value());
  }

  std::map<std::string, std::string> started_;
};

TEST_F(ExtentTest, ClassesAreNamedOrAllThatAreConnected) {
  ASSERT_TRUE(Submit(SmallSweep("a", 1)).ok());
  const auto with = [&](const std::vector<std::string>& classes) {
    return Extend([&](auto& r) { r.mutable_hardware()->Add(classes.begin(), classes.end()); });
  };
  EXPECT_THAT(Message(with({"all"}).status()), HasSubstr("and there is none"));
  for (const std::string name : {"any", "gpu", "nvidia", "cpu-amd-avx3"}) {
    EXPECT_EQ(with({name}).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
  EXPECT_THAT(Message(with({"all", "cpu-amd-sse"}).status()), HasSubstr("all by itself"));
  EXPECT_EQ(Get(1)->sweep().waiting(), 1u) << "nothing was added";

  ScriptedWorker worker(*workers_, "box", 7);
  const auto all = with({"all"});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->members(), 0u) << "it has that of the worker";
  EXPECT_EQ(with({"cpu-amd-sse"})->members(), 1u);
}

TEST_F(ExtentTest, AnEndedSweepGoesOnWithWhatIsNewAndARestartKnowsIt) {
  ASSERT_TRUE(Submit(SmallSweep("a", 1)).ok());
  std::optional<ScriptedWorker> worker(std::in_place, *workers_, "box", 7);
  Train(*worker, "s1c0r0");
  const v1::Member before = Member("s1c0r0");
  ASSERT_EQ(before.state(), v1::MEMBER_STATE_DONE);
  EXPECT_EQ(Extend([](auto& r) {
              r.set_replicates(2);
              r.set_dry_run(true);
            })->members(),
            1u);
  EXPECT_EQ(Get(1)->sweep().waiting(), 0u) << "nothing was kept";

  const auto extended = Extend([](auto& r) {
    r.set_replicates(2);
    r.set_blocks(2);
  });

  ASSERT_TRUE(extended.ok()) << extended.status();
  EXPECT_EQ(extended->members(), 3u);
  EXPECT_EQ(extended->cells(), 1u);
  EXPECT_EQ(extended->sweep().done(), 1u);
  EXPECT_EQ(Extend([](auto& r) {
              r.set_replicates(2);
              r.set_blocks(2);
            })->members(),
            0u);
  const auto plan = [this] {
    v1::PlanSweepRequest request;
    *request.mutable_sweep() = SmallSweep("a", 2);
    request.mutable_sweep()->set_blocks(2);
    return Call(&People::PlanSweep, request)->specification_sha256();
  };
  EXPECT_EQ(extended->sweep().specification_sha256(), plan()) << "of the larger one";
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(Member("s1c0r0"), before));
  worker.reset();
  Restart();
  EXPECT_EQ(Get(1)->sweep().specification_sha256(), plan());
  worker.emplace(*workers_, "box", 7);
  Train(*worker, "s1c1r0");
  Train(*worker, "s1c0r1");
  Train(*worker, "s1c1r1");
  const auto [lines, status] = Watched(1);
  EXPECT_TRUE(status.ok()) << "it has ended";
  EXPECT_THAT(lines, HasSubstr("s1 extended by 3 members, 1 new cell: 4 members in 2 cells"));

  // The same sweep submitted at once has the same specifications.
  v1::Sweep at_once = SmallSweep("a", 2);
  at_once.set_blocks(2);
  ASSERT_EQ(Submit(at_once)->sweep_id(), 2u);
  // Replicate r of every cell comes before r + 1.
  for (const char* member : {"c0r0", "c1r0", "c0r1", "c1r1"}) {
    const std::string one = std::string("s2") + member;
    const std::string twin = std::string("s1") + member;
    Train(*worker, one);
    EXPECT_EQ(started_[one], started_[twin]) << twin;
  }
}

// Who extends the same sweep at the same time is none the worse: each asks for sizes.
TEST_F(ExtentTest, ManyWhoExtendAtOnceAllHaveWhatTheyAskedFor) {
  ASSERT_TRUE(Submit(SmallSweep("a", 1)).ok());
  std::vector<std::thread> people;
  std::vector<absl::Status> statuses(4);
  for (size_t i = 0; i < statuses.size(); ++i) {
    people.emplace_back([this, i, &statuses] {
      statuses[i] = Extend([&](auto& r) {
                      if (i % 2 == 0) r.set_replicates(5);
                      if (i % 2 == 1) r.set_blocks(3);
                    }).status();
    });
  }
  for (std::thread& one : people) one.join();

  for (const absl::Status& status : statuses) EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(Get(1)->sweep().waiting(), 15u);
  EXPECT_EQ(Get(1)->sweep().cells(), 3u);
}

TEST_F(ExtentTest, ADeletedSweepIsGoneForWhoWatchesAndAfterARestart) {
  ASSERT_TRUE(Submit(SmallSweep("a", 1)).ok());
  ASSERT_TRUE(Submit(SmallSweep("b", 1)).ok());
  EXPECT_EQ(Delete(1).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Delete(9).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Delete(0).status().code(), absl::StatusCode::kInvalidArgument);
  ScriptedWorker worker(*workers_, "box", 7);
  Train(worker, "s1c0r0");
  ASSERT_EQ(Get(1)->sweep().done(), 1u);

  ASSERT_EQ(Delete(1)->members(), 1u);

  const auto expect_gone = [&] {
    EXPECT_EQ(Get(1).status().code(), absl::StatusCode::kNotFound);
    EXPECT_THAT(Message(Get(1).status()), HasSubstr("s1 was deleted"));
    v1::GetMemberRequest member;
    member.set_member("s1c0r0");
    EXPECT_THAT(Message(Call(&People::GetMember, member).status()), HasSubstr("s1 was deleted"));
    EXPECT_THAT(Message(Watched(1).second), HasSubstr("s1 was deleted"));
    EXPECT_THAT(Message(Delete(1).status()), HasSubstr("there is no sweep s1"));
    const auto listed = Call(&People::ListSweeps, v1::ListSweepsRequest());
    ASSERT_EQ(listed->sweeps_size(), 1);
    EXPECT_EQ(listed->sweeps(0).id(), 2u);
  };
  expect_gone();
  Restart();
  expect_gone();
  EXPECT_EQ(Submit(SmallSweep("c", 1))->sweep_id(), 3u);
}

}  // namespace
}  // namespace noisefloor::test

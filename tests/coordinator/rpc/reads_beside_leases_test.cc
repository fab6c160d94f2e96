// Reads and watches beside leases that come and go. All that is asked is right, and so must every
// answer be; under the address sanitizer it also shows what a reader holds that the loop has freed.
#include <atomic>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "tests/coordinator/rpc/coordinator_fixture.h"

namespace noisefloor::test {
namespace {

constexpr uint32_t kMembers = 600;
constexpr uint32_t kSlots = 100;  // So many leases are live at a time, for readers to go through.

class ReadsTest : public CoordinatorTest {
 protected:
  // One worker trains all members; another lease is granted for each that it ends.
  void TrainAll() {
    ScriptedWorker worker(*workers_);
    v1::SessionRequest hello = RegisterAs("box", 7);
    v1::Inventory& inventory = *hello.mutable_register_()->mutable_inventory();
    const v1::Slot slot = inventory.slots(0);
    for (uint32_t i = 1; i < kSlots; ++i) *inventory.add_slots() = slot;
    ASSERT_TRUE(worker.Send(hello));
    std::deque<uint64_t> live;
    for (uint32_t started = 0; started < kMembers; ++started) {
      live.push_back(worker.Started().lease_id());
      if (live.size() < kSlots) continue;
      ASSERT_TRUE(worker.Send(ScriptedWorker::Finish(live.front(), 0)));
      live.pop_front();
    }
    for (const uint64_t lease : live) ASSERT_TRUE(worker.Send(ScriptedWorker::Finish(lease, 0)));
    for (size_t settled = 0; settled < live.size(); ++settled) {
      EXPECT_TRUE(worker.Settled().accepted());
    }
  }

  // Asks again and again until the members have ended.
  std::thread Repeat(std::function<absl::Status()> read) {
    return std::thread([this, read = std::move(read)] {
      do {
        const absl::Status status = read();
        EXPECT_TRUE(status.ok()) << status;
        ++reads_;
      } while (!ended_);
    });
  }

  absl::Status ReadSweep() { return Call(&People::GetSweep, v1::GetSweepRequest()).status(); }
  absl::Status ReadSweeps() { return Call(&People::ListSweeps, v1::ListSweepsRequest()).status(); }
  absl::Status ReadMember() {
    v1::GetMemberRequest request;
    request.set_member("s1c0r300");
    return Call(&People::GetMember, request).status();
  }
  absl::Status ReadMembers() {
    v1::ListMembersRequest request;
    request.set_page_size(5);
    return Call(&People::ListMembers, request).status();
  }

  // The counts that the last message held, of a watch from now to the end of the sweep.
  v1::SweepSummary Watch() {
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::WatchSweepRequest request;
    request.set_sweep_id(1);
    const auto watch = people_->WatchSweep(&context, request);
    v1::WatchSweepResponse news;
    while (watch->Read(&news)) {
    }
    const absl::Status status = FromGrpc(watch->Finish());
    EXPECT_TRUE(status.ok()) << status;
    return news.sweep();
  }

  std::atomic<bool> ended_ = false;
  std::atomic<int> reads_ = 0;
};

TEST_F(ReadsTest, ReadsAndWatchesBesideLeasesThatComeAndGo) {
  ASSERT_TRUE(Submit(SmallSweep("busy", kMembers)).ok());
  std::vector<std::thread> readers;
  readers.push_back(Repeat([this] { return ReadSweep(); }));
  readers.push_back(Repeat([this] { return ReadSweeps(); }));
  readers.push_back(Repeat([this] { return ReadMember(); }));
  readers.push_back(Repeat([this] { return ReadMembers(); }));
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([this] { EXPECT_EQ(Watch().done(), kMembers); });
  }

  TrainAll();
  ended_ = true;
  for (std::thread& reader : readers) reader.join();

  EXPECT_GE(reads_, 4);
  v1::GetSweepRequest request;
  const auto sweep = Call(&People::GetSweep, request);
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  EXPECT_EQ(sweep->sweep().done(), kMembers);
}

}  // namespace
}  // namespace noisefloor::test

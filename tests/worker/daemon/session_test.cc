#include "worker/daemon/session.h"

#include <deque>
#include <optional>
#include <string>

#include "gtest/gtest.h"

#include "common/base/mutex.h"
#include "common/rpc/channel.h"
#include "tests/support/mini_coordinator.h"

namespace noisefloor {
namespace {

using Case = v1::SessionRequest::MessageCase;

class Listener final : public SessionListener {
 public:
  void OnMessage(v1::SessionResponse message) override {
    MutexLock lock(mutex_);
    heard_.push_back(message.ByteSizeLong());
    changed_.NotifyAll();
  }
  void OnHeartbeatTaken() override {}
  void OnClosed(absl::Status) override {
    MutexLock lock(mutex_);
    closed_ = true;
    changed_.NotifyAll();
  }
  void WaitForTheEnd() {
    MutexLock lock(mutex_);
    while (!closed_) changed_.Wait(mutex_);
  }
  // Bytes of the next message; none when none comes for a minute.
  std::optional<size_t> Next() {
    MutexLock lock(mutex_);
    while (heard_.empty()) {
      if (!changed_.WaitFor(mutex_, absl::Minutes(1))) return std::nullopt;
    }
    const size_t bytes = heard_.front();
    heard_.pop_front();
    return bytes;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<size_t> heard_ ABSL_GUARDED_BY(mutex_);
};

// 32 MiB may wait; more than that in all is no matter when each is taken before the next.
TEST(SessionTest, WhatWasTakenWaitsNoMore) {
  MiniCoordinator coordinator({.keeps_records = false});
  const auto stub = v1::WorkerService::NewStub(MakeChannel(coordinator.place()));
  v1::SessionRequest registration;
  registration.mutable_register_()->set_name("box");
  Listener listener;
  Session session(*stub, registration, listener);

  v1::SessionRequest records;
  records.mutable_records()->mutable_batch()->add_metric_names(std::string(1 << 20, 'm'));
  int taken = 0;
  while (taken < 40 && session.Send(records) && coordinator.Wait(Case::kRecords)) ++taken;

  EXPECT_EQ(taken, 40);
  session.Cancel();
  listener.WaitForTheEnd();
}

// 1 MiB may be unread; more than that in all is no matter when each is dealt with.
TEST(SessionTest, WhatWasDealtWithKeepsNothingFromBeingRead) {
  MiniCoordinator coordinator;
  const auto stub = v1::WorkerService::NewStub(MakeChannel(coordinator.place()));
  v1::SessionRequest registration;
  registration.mutable_register_()->set_name("box");
  Listener listener;
  Session session(*stub, registration, listener);
  const auto hear = [&] {
    const std::optional<size_t> bytes = listener.Next();
    if (bytes) session.Consumed(*bytes);
    return bytes.has_value();
  };
  ASSERT_TRUE(hear()) << "the welcome";

  v1::SessionResponse stop;
  stop.mutable_stop()->set_reason(std::string(64 << 10, 'r'));
  int heard = 0;
  while (heard < 40 && coordinator.Send(stop) && hear()) ++heard;

  EXPECT_EQ(heard, 40);
  session.Cancel();
  listener.WaitForTheEnd();
}

}  // namespace
}  // namespace noisefloor

#include "worker/daemon/session.h"

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
  void OnMessage(v1::SessionResponse) override {}
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

 private:
  Mutex mutex_;
  CondVar changed_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
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

}  // namespace
}  // namespace noisefloor

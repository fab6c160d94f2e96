// A loop over a real store that can be stopped in a commit and made to fail, and a journal of what
// happened in which order.
#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/clock.h"
#include "coordinator/loop/event_loop.h"
#include "coordinator/loop/recovery.h"
#include "tests/coordinator/scheduler/fleet.h"
#include "tests/coordinator/store/temp_home.h"

namespace noisefloor::test {

// Lines in order of time. Thread-safe.
class Journal {
 public:
  void Add(std::string line) {
    MutexLock lock(mutex_);
    lines_.push_back(std::move(line));
    changed_.NotifyAll();
  }
  // Waits until there is such a line; false after two minutes.
  bool Await(const std::string& line) { return AwaitCount(line, 1); }
  bool AwaitCount(const std::string& line, int count) {
    const absl::Duration give_up = clock_.Steady() + absl::Minutes(2);
    MutexLock lock(mutex_);
    while (std::ranges::count(lines_, line) < count) {
      if (clock_.Steady() >= give_up) return false;
      changed_.WaitFor(mutex_, absl::Seconds(1));
    }
    return true;
  }
  std::vector<std::string> lines() {
    MutexLock lock(mutex_);
    return lines_;
  }
  bool Has(const std::string& line) {
    const auto all = lines();
    return std::ranges::find(all, line) != all.end();
  }

 private:
  const SystemClock clock_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mutex_);
};

// Passes on to a real store, unless it is told to wait or to fail.
class TroubledStore final : public Store {
 public:
  TroubledStore(Store& store, Journal& journal) : store_(store), journal_(journal) {}

  absl::Status Apply(StepNumber step, std::span<const scheduler::Write> writes) override {
    {
      MutexLock lock(mutex_);
      if (held_) journal_.Add("commit waits");
      while (held_) changed_.Wait(mutex_);
      if (!failure_.ok()) {
        journal_.Add("commit failed");
        return failure_;
      }
    }
    const absl::Status kept = store_.Apply(step, writes);
    ++applied_;
    for (const scheduler::Write& write : writes) {
      if (const auto* grant = std::get_if<scheduler::GrantLease>(&write)) {
        journal_.Add("kept lease " + std::to_string(grant->lease.value));
      }
      if (std::holds_alternative<scheduler::KeepSweep>(write)) journal_.Add("kept sweep");
      if (std::holds_alternative<scheduler::KeepRecords>(write)) journal_.Add("kept records");
      if (std::holds_alternative<scheduler::KeepExtension>(write)) journal_.Add("kept extension");
    }
    return kept;
  }
  absl::StatusOr<StepNumber> LastStep() override { return store_.LastStep(); }
  absl::StatusOr<scheduler::RecoveredState> Recover() override { return store_.Recover(); }

  // Commits so far.
  int applied() const { return applied_; }
  void Hold(bool held) {
    MutexLock lock(mutex_);
    held_ = held;
    changed_.NotifyAll();
  }
  void Fail(absl::Status failure) {
    MutexLock lock(mutex_);
    failure_ = std::move(failure);
  }

 private:
  Store& store_;
  Journal& journal_;
  Mutex mutex_;
  CondVar changed_;
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  std::atomic<int> applied_{0};
};

// Without what programs are told of it.
inline std::string InWords(const absl::Status& status) {
  return status.ok() ? "OK" : MakeError(status.code(), Message(status)).ToString();
}

class JournalLinks final : public WorkerLinks {
 public:
  explicit JournalLinks(Journal& journal) : journal_(journal) {}

  bool Deliver(const scheduler::Send& send) override {
    if (std::holds_alternative<scheduler::SendWelcome>(send)) journal_.Add("sent welcome");
    if (const auto* start = std::get_if<scheduler::SendStart>(&send)) {
      journal_.Add("sent lease " + std::to_string(start->lease.value));
    }
    if (std::holds_alternative<scheduler::SendRecordsKept>(send)) journal_.Add("sent kept");
    if (std::holds_alternative<scheduler::SendSettled>(send)) journal_.Add("sent settled");
    return true;
  }
  void Consumed(SessionId, size_t events) override {
    for (size_t i = 0; i < events; ++i) journal_.Add("consumed");
  }

 private:
  Journal& journal_;
};

class LoopTest : public testing::Test {
 protected:
  LoopTest() : links_(journal_) {
    auto store = SqliteStore::Open(home_.path());
    EXPECT_TRUE(store.ok()) << store.status();
    sqlite_ = *std::move(store);
    store_.emplace(*sqlite_, journal_);
    Start({});
  }
  ~LoopTest() override {
    store_->Hold(false);
    loop_.reset();
  }

  void Start(EventLoopOptions options,
             const scheduler::Options& decides = {.lease_ttl = absl::Hours(1)}) {
    loop_.reset();
    options.storage_retry = absl::Milliseconds(20);
    const absl::Time now = clock_.Now();
    auto scheduler = RecoverScheduler(*store_, decides, now);
    ASSERT_TRUE(scheduler.ok()) << scheduler.status();
    loop_ = std::make_unique<EventLoop>(
        EventLoop::Parts{*store_, links_, clock_, [](const std::set<SweepId>&) {},
                         [](const absl::Status&) { std::_Exit(3); },
                         [this] { journal_.Add("storage changed"); }},
        options, *std::move(scheduler), now);
    loop_->Start();
  }
  // Writes "NAME: STATUS" when it is answered.
  void Submit(const std::string& name, const std::string& request_id = "") {
    scheduler::SweepSubmitted event = test::Submit(MakeSweep({"control"}, 2));
    event.request_id = request_id;
    loop_->Call(std::move(event), [this, name](const CallResult& result) {
      journal_.Add(name + ": " + InWords(result.status));
    });
  }
  void Cancel(const std::string& name) {
    loop_->Call(scheduler::SweepCancelled{0, SweepId{1}}, [this, name](const CallResult& result) {
      journal_.Add(name + ": " + InWords(result.status));
    });
  }
  // The status of what is known of that request.
  std::string Found(const std::string& request_id) {
    std::promise<std::string> answer;
    loop_->FindRequest(request_id,
                       [&](const CallResult& result) { answer.set_value(InWords(result.status)); });
    return answer.get_future().get();
  }
  void Connect(uint64_t number) {
    EXPECT_TRUE(loop_->Post(SessionId{number}, Join(number, 1, "u"), true));
  }

  const SystemClock clock_;
  TempHome home_;
  Journal journal_;
  JournalLinks links_;
  std::unique_ptr<Store> sqlite_;
  std::optional<TroubledStore> store_;
  std::unique_ptr<EventLoop> loop_;
};

}  // namespace noisefloor::test

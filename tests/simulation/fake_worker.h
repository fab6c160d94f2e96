// A worker as the coordinator sees one: takes leases, reports records and ends again and again
// until they are acknowledged, crashes, and keeps unreported results over a crash. Not thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/scheduler/effect.h"
#include "coordinator/scheduler/event.h"
#include "tests/simulation/chance.h"

namespace noisefloor::test {

struct WorkerTraits {
  std::string name;
  uint64_t identity = 0;
  std::shared_ptr<const Inventory> inventory;  // shared: with what it says of itself.
  std::string data_identity;
};

class FakeWorker {
 public:
  // What it was told by the coordinator since it was last asked: to be compared with the store.
  struct Told {
    std::map<LeaseId, uint64_t> records_kept;
    std::set<LeaseId> accepted;
  };
  using Post = std::function<void(scheduler::Event)>;

  // In the chaos one attempt in `fails` does.
  FakeWorker(WorkerTraits traits, uint64_t fails, Post post)
      : traits_(std::move(traits)), fails_(fails), post_(std::move(post)) {}

  const WorkerTraits& traits() const { return traits_; }

  // One round of its life. `next_session` numbers a session when it opens one.
  void Live(Chance& chance, absl::Time now, uint64_t& next_session, bool calm);
  void Receive(const scheduler::Send& message, absl::Time now);

  void BreakStream(absl::Time back_at);
  void Crash(absl::Time back_at);
  void Drain();
  // Its steady clock jumps forward, as over a suspension: all that it does from time to time is
  // due.
  void JumpClock();

  std::optional<SessionId> session() const { return session_; }
  Told TakeTold() { return std::exchange(told_, {}); }

 private:
  struct Run {
    bool said_hello = false;
    uint64_t batches = 0;  // In all.
    uint64_t sent = 0;
    uint64_t kept = 0;
    std::optional<ingest::AttemptOutcome> outcome;
    absl::Time reported = absl::InfinitePast();
  };

  void Connect(uint64_t& next_session);
  void Train(Chance& chance, LeaseId lease, Run& run, absl::Time now, bool calm);
  ingest::AttemptOutcome End(Chance& chance, const Run& run, bool calm) const;
  std::vector<scheduler::HeldLease> Held() const;

  const WorkerTraits traits_;
  const uint64_t fails_;
  const Post post_;
  Told told_;
  std::optional<SessionId> session_;
  absl::Time back_at_ = absl::InfinitePast();
  absl::Time beat_at_ = absl::InfinitePast();
  std::map<LeaseId, Run> runs_;
  std::set<LeaseId> ended_;
};

}  // namespace noisefloor::test

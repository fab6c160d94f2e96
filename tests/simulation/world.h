// One simulated world: see simulation.h. Its files share this header; nobody else includes it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/scheduler/scheduler.h"
#include "tests/simulation/bent_sharing.h"
#include "tests/simulation/clocks.h"
#include "tests/simulation/fake_store.h"
#include "tests/simulation/fake_worker.h"
#include "tests/simulation/faulty_disk.h"
#include "tests/simulation/grant_checker.h"
#include "tests/simulation/network.h"
#include "tests/simulation/share_checker.h"
#include "tests/simulation/simulation.h"
#include "tests/simulation/term_checker.h"

namespace noisefloor::test {

// Not thread-safe; runs once.
class World {
 public:
  World(const WorldSize& size, uint64_t seed, Mutant mutant, Witness witness);
  SimulationResult Run();

 private:
  using Event = scheduler::Event;
  using Write = scheduler::Write;

  // --- Rounds: world.cc ---

  void AddWorker(size_t number);
  void Mishaps();
  void MishapOf(size_t worker);
  void Round();
  void Listen();
  void Calm();
  void Hand(absl::Time until);
  void CheckTold();
  bool AllEnded() const;
  std::string WhoHasNotEnded() const;
  bool Stopped() const;
  void Count();

  // --- People: world_people.cc ---

  void Submit();
  uint32_t Limit();
  void People();
  void PeopleShare(SweepId sweep);
  void PeopleGrow(SweepId sweep);
  scheduler::Selection Some();
  void OpenEverything();

  // --- The coordinator, as coordinator/loop has it: world_coordinator.cc ---

  void Handle(std::vector<Event> events, bool tick);
  void Take(Event event);
  scheduler::Effects Decide(Event event);
  void DecideAnd(Event event);  // And keep it with what else there is to keep.
  bool Commit();                // False: it died.
  bool DieAtTheCommit();
  void RetryWhenDue();
  void DecideCalls();
  bool DecideTogether(const std::vector<Event>& calls);
  scheduler::Effects TriedAndTakenBack(const Event& call);
  void FailStorage();
  std::optional<absl::Duration> Keep(const std::vector<Write>& writes);
  std::optional<absl::Duration> KeepDecided();
  void TellAll();
  void Tell(const std::vector<scheduler::Send>& sends);
  void TellWorker(SessionId session, const scheduler::Send& send);
  void Saw(const std::vector<Write>& writes);
  void Restart();
  absl::Time Now() const;
  std::vector<Write> Mutated(std::vector<Write> writes);
  void Check();
  Event Believed(Event event) const;

  const WorldSize size_;
  Chance chance_;
  const Mutant mutant_;
  const Witness witness_;
  bool calm_ = false;
  Clocks clocks_{absl::FromUnixSeconds(1'000'000)};
  SimulationResult result_;
  Network network_{{}, chance_};
  FakeStore store_;
  FaultyDisk disk_{size_.disk, store_, chance_,
                   [this](const std::vector<Write>& writes) { Saw(writes); }};
  const scheduler::Options options_;  // As agreed; the checkers'.
  scheduler::Scheduler scheduler_;
  GrantChecker grants_{options_, result_.problems};
  ShareChecker shares_{result_.problems};
  TermChecker terms_{options_.lease_ttl, result_.problems};
  BentSharing bent_{mutant_};
  std::vector<std::unique_ptr<FakeWorker>> workers_;
  std::map<SessionId, size_t> worker_of_;       // By session.
  std::vector<absl::Time> stands_still_until_;  // Workers.
  uint64_t next_session_ = 0;
  uint64_t submitted_ = 0;
  std::vector<scheduler::SweepSubmitted> requests_;
  uint64_t next_whole_check_ = 0;
  size_t seen_violations_ = 0;

  // What the loop holds.
  uint64_t last_step_ = 0;      // That is kept, as far as it knows.
  bool took_back_ = false;      // The next one was tried for calls that were refused then.
  scheduler::Effects effects_;  // Decided, not kept, or not all of it:
  size_t kept_writes_ = 0;      // the first ones are,
  size_t tried_writes_ = 0;     // and up to here they were tried as one step.
  std::vector<Event> calls_;
  std::vector<Event> held_;
  bool more_ = false;
  bool failing_ = false;
  absl::Time next_retry_ = absl::InfinitePast();
  absl::Time busy_until_ = absl::InfinitePast();  // It waits for its disk, or stands still.
};

}  // namespace noisefloor::test

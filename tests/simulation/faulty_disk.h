// The disk of a simulated world: it refuses, fails at the commit so that only the number of the
// last step, or the next start, can say what was kept, is full for a while, or slow.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/time.h"

#include "tests/simulation/chance.h"
#include "tests/simulation/fake_store.h"

namespace noisefloor::test {

// Not thread-safe.
class FaultyDisk {
 public:
  // One commit in so many, and how long at most what lasts does.
  struct Faults {
    uint64_t refuses = 80;
    uint64_t in_doubt = 30;
    uint64_t full = 250;
    uint64_t slow = 80;
    absl::Duration longest_full = absl::Seconds(20);
    absl::Duration longest_commit = absl::Seconds(9);
  };
  // What happened so far.
  struct Told {
    uint64_t commits = 0;
    uint64_t refused = 0;  // While it was full, too.
    uint64_t full = 0;     // Times that it became so.
    uint64_t in_doubt = 0;
    uint64_t found = 0;  // Of those: were there after all, when the process had died,
    uint64_t kept = 0;   // or already while it went on.
    uint64_t slow = 0;
  };
  using Writes = std::vector<scheduler::Write>;

  // Both references outlive it. `kept` sees each transaction once the store holds it.
  FaultyDisk(Faults faults, FakeStore& store, Chance& chance,
             std::function<void(const Writes&)> kept)
      : faults_(faults), store_(store), chance_(chance), kept_(std::move(kept)) {}

  // As a store's Apply: how long it took; nothing when it failed. What failed in doubt is there
  // already, or it is not there for this process, which may try again, and whether the next one
  // finds it is open until then.
  std::optional<absl::Duration> Apply(uint64_t step, const Writes& writes, absl::Time now);
  // Without faults: a commit at which the process dies.
  void Keep(uint64_t step, const Writes& writes);
  // The process is gone: what was in doubt is there, or not.
  void Crash();
  // Nothing fails from now on.
  void Calm() { calm_ = true; }

  const Told& told() const { return told_; }

 private:
  struct Step {
    uint64_t number = 0;
    Writes writes;
  };
  bool Fails(uint64_t step, const Writes& writes, absl::Time now);

  const Faults faults_;
  FakeStore& store_;
  Chance& chance_;
  const std::function<void(const Writes&)> kept_;
  bool calm_ = false;
  absl::Time full_until_ = absl::InfinitePast();
  std::optional<Step> in_doubt_;
  Told told_;
};

}  // namespace noisefloor::test

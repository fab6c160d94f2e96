// The network of a simulated world: what is sent is lost, doubled, late or overtaken, and a worker
// can be cut off from the coordinator, the coordinator from a worker, or both.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/time.h"

#include "coordinator/scheduler/effect.h"
#include "coordinator/scheduler/event.h"
#include "tests/simulation/chance.h"

namespace noisefloor::test {

enum class Way : uint8_t { kToCoordinator, kToWorker, kBoth };

// Not thread-safe.
class Network {
 public:
  // One message in so many, and how late one can be, as a rule and at worst.
  struct Faults {
    uint64_t lost = 15;
    uint64_t doubled = 15;
    uint64_t slow = 10;
    absl::Duration usual = absl::Milliseconds(400);
    absl::Duration most = absl::Seconds(2);
  };
  // What happened so far.
  struct Told {
    uint64_t carried = 0;
    uint64_t lost = 0;
    uint64_t doubled = 0;
    uint64_t cuts = 0;
    uint64_t held_by_cuts = 0;  // Lost in a cut, or as late as its end.
  };
  struct ToWorker {
    size_t worker = 0;
    scheduler::Send send;
  };

  // `chance` outlives it.
  Network(Faults faults, Chance& chance) : faults_(faults), chance_(chance) {}

  // Nothing happens to what is sent from now on. Cuts end.
  void Calm();
  // From now to `until`; what was cut off till later stays so.
  void Cut(size_t worker, Way way, absl::Time until);

  void FromWorker(size_t worker, const scheduler::Event& event, absl::Time now);
  void FromPeople(const scheduler::Event& event, absl::Time now);
  // Once, and at that moment.
  void Post(absl::Time at, scheduler::Event event) { events_.emplace(at, std::move(event)); }
  void To(size_t worker, const scheduler::Send& send, absl::Time now);

  // The same of one that waits with a worker.
  void PostTo(absl::Time at, ToWorker message) { sends_.emplace(at, std::move(message)); }

  // What has arrived by then, in the order in which it did.
  std::optional<scheduler::Event> TakeEvent(absl::Time now);
  std::optional<ToWorker> TakeSend(absl::Time now);

  // Whatever is under way is lost: the coordinator's sockets are gone.
  void Clear();

  const Told& told() const { return told_; }

 private:
  // When each copy arrives; none: it is lost.
  std::vector<absl::Time> Arrivals(absl::Time now, std::optional<absl::Time> cut_until);
  static std::optional<absl::Time> UntilOf(const std::map<size_t, absl::Time>& cuts, size_t worker,
                                           absl::Time now);

  const Faults faults_;
  Chance& chance_;
  bool calm_ = false;
  std::map<size_t, absl::Time> cut_to_coordinator_;  // By worker: until when.
  std::map<size_t, absl::Time> cut_to_worker_;
  std::multimap<absl::Time, scheduler::Event> events_;
  std::multimap<absl::Time, ToWorker> sends_;
  Told told_;
};

}  // namespace noisefloor::test

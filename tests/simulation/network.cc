#include "tests/simulation/network.h"

#include <algorithm>

namespace noisefloor::test {

void Network::Calm() {
  calm_ = true;
  cut_to_coordinator_.clear();
  cut_to_worker_.clear();
}

void Network::Cut(size_t worker, Way way, absl::Time until) {
  ++told_.cuts;
  const auto extend = [&](std::map<size_t, absl::Time>& cuts) {
    absl::Time& end = cuts.try_emplace(worker, until).first->second;
    end = std::max(end, until);
  };
  if (way != Way::kToWorker) extend(cut_to_coordinator_);
  if (way != Way::kToCoordinator) extend(cut_to_worker_);
}

std::optional<absl::Time> Network::UntilOf(const std::map<size_t, absl::Time>& cuts, size_t worker,
                                           absl::Time now) {
  const auto cut = cuts.find(worker);
  if (cut == cuts.end() || cut->second <= now) return std::nullopt;
  return cut->second;
}

std::vector<absl::Time> Network::Arrivals(absl::Time now, std::optional<absl::Time> cut_until) {
  ++told_.carried;
  if (calm_) return {now};
  if (cut_until) {
    ++told_.held_by_cuts;
    if (chance_.OneIn(2)) return {};
    now = *cut_until;  // As TCP does that is patient.
  } else if (chance_.OneIn(faults_.lost)) {
    ++told_.lost;
    return {};
  }
  const bool twice = chance_.OneIn(faults_.doubled);
  told_.doubled += twice ? 1 : 0;
  std::vector<absl::Time> arrivals;
  for (int i = 0; i < (twice ? 2 : 1); ++i) {
    const absl::Duration most = chance_.OneIn(faults_.slow) ? faults_.most : faults_.usual;
    arrivals.push_back(now + chance_.Before(most));
  }
  return arrivals;
}

void Network::FromWorker(size_t worker, const scheduler::Event& event, absl::Time now) {
  for (const absl::Time at : Arrivals(now, UntilOf(cut_to_coordinator_, worker, now))) {
    events_.emplace(at, event);
  }
}

void Network::FromPeople(const scheduler::Event& event, absl::Time now) {
  for (const absl::Time at : Arrivals(now, std::nullopt)) events_.emplace(at, event);
}

void Network::To(size_t worker, const scheduler::Send& send, absl::Time now) {
  for (const absl::Time at : Arrivals(now, UntilOf(cut_to_worker_, worker, now))) {
    sends_.emplace(at, ToWorker{worker, send});
  }
}

std::optional<scheduler::Event> Network::TakeEvent(absl::Time now) {
  if (events_.empty() || events_.begin()->first > now) return std::nullopt;
  return std::move(events_.extract(events_.begin()).mapped());
}

std::optional<Network::ToWorker> Network::TakeSend(absl::Time now) {
  if (sends_.empty() || sends_.begin()->first > now) return std::nullopt;
  return std::move(sends_.extract(sends_.begin()).mapped());
}

void Network::Clear() {
  events_.clear();
  sends_.clear();
}

}  // namespace noisefloor::test

// Which pool the members that wait fall to, and where a pool stands.
#include <algorithm>

#include "coordinator/fleet/fleet.h"

namespace noisefloor::fleet {

namespace {

bool Offers(const std::vector<std::string>& all, const std::string& one) {
  return one.empty() || std::ranges::find(all, one) != all.end();
}

bool Offers(const Pool& pool, const Waiting& need) {
  const PoolRecord& record = pool.record;
  if (record.classes.empty()) {  // No worker has come yet: one shows what they have.
    return record.wish.hardware.empty() || Offers({record.wish.hardware}, need.hardware);
  }
  return Offers(record.classes, need.hardware) && Offers(record.stacks, need.stack);
}

// Of a job's time, what goes by before its worker can begin anything, at most: prologue, start, and
// stacks that are copied and tried.
constexpr absl::Duration kStart = absl::Minutes(2);

// Whether a new worker lives long enough: until it begins nothing new, to be on the safe side.
bool LivesFor(const PoolWish& wish, absl::Duration time) {
  const absl::Duration start = std::min(kStart, wish.time_limit / 10);
  return wish.time_limit == absl::ZeroDuration() ||
         time <= wish.time_limit - wish.drain_before - start;
}

// For how many members it may still have workers; those that are here are busy while any wait.
uint64_t RoomOf(const Pool& pool) {
  const PoolRecord& record = pool.record;
  const auto busy = static_cast<uint64_t>(std::ranges::count_if(
      pool.live, [](const auto& launch) { return launch.second.record.heard; }));
  if (busy >= record.wish.most) return 0;
  // Of a pool whose workers nobody has seen, one is enough to see.
  if (record.classes.empty()) return busy == 0 ? 1 : 0;
  return (record.wish.most - busy) * record.slots;
}

}  // namespace

std::map<uint64_t, uint64_t> Share(const std::map<uint64_t, Pool>& pools,
                                   std::vector<Waiting> waiting) {
  std::map<uint64_t, uint64_t> room;
  std::map<uint64_t, uint64_t> shares;
  for (const auto& [number, pool] : pools) {
    if (pool.record.state == PoolState::kActive) room[number] = RoomOf(pool);
  }
  // Who needs a class comes before who takes any.
  std::ranges::stable_sort(waiting, [](const Waiting& a, const Waiting& b) {
    return !a.hardware.empty() && b.hardware.empty();
  });
  for (Waiting& need : waiting) {
    for (auto& [number, left] : room) {
      const Pool& pool = pools.at(number);
      if (!Offers(pool, need) || !LivesFor(pool.record.wish, need.time)) continue;
      const uint64_t taken = std::min(need.members, left);
      need.members -= taken;
      left -= taken;
      shares[number] += taken;
    }
  }
  return shares;
}

std::optional<Waiting> TooLongFor(const Pool& pool, const std::vector<Waiting>& waiting) {
  std::optional<Waiting> all;
  for (const Waiting& need : waiting) {
    if (!Offers(pool, need) || LivesFor(pool.record.wish, need.time)) continue;
    if (!all) all = Waiting{need.hardware, need.stack, 0, need.time};
    all->members += need.members;
    all->time = std::min(all->time, need.time);
  }
  return all;
}

std::string Explain(const Pool& pool, absl::Time now) {
  const PoolRecord& record = pool.record;
  if (record.state == PoolState::kRemoving) return "is being removed: its jobs are ended";
  if (record.state == PoolState::kPaused) return "paused: " + record.why;
  for (const auto& [number, launch] : pool.live) {
    if (launch.record.phase != LaunchPhase::kWaiting || launch.record.reason.empty()) continue;
    const std::string_view words = InWords(launch.record.reason);
    return "waits for the cluster: " + launch.record.reason +
           (words.empty() ? "" : " (" + std::string(words) + ")");
  }
  if (pool.refusals > 0) {
    return "the cluster has refused its jobs " + std::to_string(pool.refusals) +
           " times in a row: " + pool.refusal + "; next try in " +
           absl::FormatDuration(absl::Trunc(std::max(pool.next_submit - now, absl::ZeroDuration()),
                                            absl::Seconds(1)));
  }
  if (pool.live.empty() && pool.too_long) {
    return std::to_string(pool.too_long->members) + " that wait take " +
           absl::FormatDuration(absl::Ceil(pool.too_long->time, absl::Seconds(1))) +
           " or more and keep no checkpoints; its jobs live " +
           absl::FormatDuration(pool.record.wish.time_limit) + " (--time)";
  }
  if (pool.live.empty()) return "nothing waits that it could train";
  const auto heard = std::ranges::count_if(
      pool.live, [](const auto& launch) { return launch.second.record.heard; });
  return std::to_string(heard) + " at work, " +
         std::to_string(pool.live.size() - static_cast<size_t>(heard)) + " starting";
}

}  // namespace noisefloor::fleet

// What a test and the fault disk in a process of the product share: a page of memory in a file.
#pragma once

#include <atomic>
#include <cstdint>

namespace noisefloor::test {

enum class FaultKind : int32_t {
  kNone,
  kKill,       // SIGKILL instead of the call.
  kKillAfter,  // SIGKILL when it is done, before anybody hears of it.
  kTorn,       // SIGKILL when a write is half done; of other calls as kKill.
  kPower,      // SIGKILL, and of what was not synced nothing, or what the seed draws, is there.
  kEio,        // The call fails and does nothing.
  kEnospc,
};

// Lock-free, and of the same layout in every program that this build makes.
struct FaultControl {
  std::atomic<int64_t> calls;  // Counted so far, by all processes that had this page.
  std::atomic<int64_t> at;     // The call to fail, by that count; 0: none.
  std::atomic<FaultKind> kind;
  std::atomic<int32_t> lasting;  // Of kEio and kEnospc: every call from `at` on fails.
  std::atomic<uint64_t> seed;    // Of kPower: 0, nothing of the unsynced is kept.
  std::atomic<int64_t> fired;    // Calls that failed.
};
static_assert(std::atomic<int64_t>::is_always_lock_free);

// Variables by which a process finds them.
inline constexpr char kFaultFolder[] = "NOISEFLOOR_FAULT_FOLDER";  // Calls on files below it count.
inline constexpr char kFaultControl[] = "NOISEFLOOR_FAULT_CONTROL";  // File of the page.
inline constexpr char kFaultHistory[] = "NOISEFLOOR_FAULT_HISTORY";  // A line for each call.
inline constexpr char kFaultGrave[] = "NOISEFLOOR_FAULT_GRAVE";      // Folder of what was unlinked.

}  // namespace noisefloor::test

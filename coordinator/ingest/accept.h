// Judges what workers report, given what is known, and makes it storable: after this no message
// that a worker can send makes a commit fail. Pure; no threads.
//
// Values that are not finite stay what they are: the store has a column for that. What no column
// can hold (an epoch that is not finite, a text that is not UTF-8) is refused or mended here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/ingest/outcome.h"

namespace noisefloor::ingest {

// Limits. Texts that are longer are cut; counts that are larger are refused.
inline constexpr size_t kMaxNameBytes = 200;
inline constexpr size_t kMaxMessageBytes = 8192;
inline constexpr size_t kMaxEnvironmentBytes = 1 << 20;
inline constexpr size_t kMaxRecordsInBatch = 100000;
inline constexpr size_t kMaxEntries = 10000;  // Hashes, metrics, classes, artifacts: of each.
inline constexpr int64_t kMaxStep = int64_t{1} << 53;

// Text that every reader can show: UTF-8 without control characters but newline and tab, at most
// `most_bytes` long. What is neither is replaced by '?'.
std::string ToStorableText(std::string_view text, size_t most_bytes);

struct BatchVerdict {
  enum class Kind : uint8_t {
    kKeep,    // To be stored, as it is in `batch`; then acknowledge its sequence.
    kRepeat,  // Already stored: acknowledge again.
    kGap,     // An earlier one is missing: say what is stored, the worker sends from there.
    kBroken,  // Can never be kept, nor its attempt accepted. `reason` names the place.
  } kind = Kind::kBroken;
  std::string reason;
};
// Cleans the texts of `batch`. `stored`: the highest sequence stored without a gap; 0: none.
BatchVerdict JudgeBatch(RecordBatch& batch, uint64_t stored);

struct OutcomeVerdict {
  enum class Kind : uint8_t {
    kAccept,   // A complete result, done or diverged.
    kFailure,  // The attempt itself says that it failed.
    kWait,     // Record batches are on their way: they and this will be sent again.
    kRefuse,   // Can never be accepted. `reason` says what is wrong or missing.
  } kind = Kind::kRefuse;
  std::string reason;  // Of kWait and kRefuse.
};

// What the coordinator has of an attempt when its end is reported.
struct Known {
  uint64_t stored_batches = 0;                 // Without a gap.
  std::vector<std::string> missing_artifacts;  // SHA-256 of files that are not in the blob store.
};
// What no accepted result can say, of what came, before it is made storable; empty: nothing is
// wrong.
std::string FaultOf(const AttemptOutcome& outcome);

// Of what MakeStorable made.
OutcomeVerdict JudgeOutcome(const AttemptOutcome& outcome, const Known& known);

// Never fails: whatever came, the answer can be stored, within the limits above. What had to be
// left out is said at the end of the message. Parses the environment: not for the loop's thread.
AttemptOutcome MakeStorable(AttemptOutcome outcome);

}  // namespace noisefloor::ingest

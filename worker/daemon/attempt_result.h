// What is left of an attempt when its trainer has gone: what the coordinator will be told.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/trainer_protocol/json.h"

namespace noisefloor {

struct AttemptResult {
  Outcome outcome;
  std::string data_identity;        // From the hello.
  uint64_t record_batches = 0;      // All of them are in the spool.
  std::vector<Artifact> artifacts;  // What was uploaded, or is to be.
};

// As lines of the trainer protocol: a hello with the identity, the artifacts, the outcome. The
// batches are counted by the spool.
std::string ResultToText(const AttemptResult& result);
absl::StatusOr<AttemptResult> ResultFromText(std::string_view text);

// The text as valid UTF-8 of at most `most_bytes`: bytes that are none become U+FFFD, and it is cut
// between two characters. The protocol's texts refuse anything else.
std::string ToUtf8(std::string_view text, size_t most_bytes);

// A result that says only that it failed.
AttemptResult FailedResult(CauseClass cause, std::string_view message);

}  // namespace noisefloor

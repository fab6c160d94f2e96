// Whether everything of an attempt is here when its end is reported.
#include <algorithm>

#include "common/base/sha256_text.h"
#include "coordinator/ingest/accept.h"

namespace noisefloor::ingest {

namespace {

using Kind = OutcomeVerdict::Kind;

std::string Count(size_t count, const std::string& what) {
  return std::to_string(count) + " " + what;
}

// Sizes that no honest trainer has.
std::string TooMuch(const AttemptOutcome& outcome) {
  const std::pair<size_t, const char*> sizes[] = {{outcome.hashes.size(), "hashes"},
                                                  {outcome.metrics.size(), "metrics"},
                                                  {outcome.per_class_accuracy.size(), "classes"},
                                                  {outcome.artifacts.size(), "artifacts"}};
  for (const auto& [size, what] : sizes) {
    if (size > kMaxEntries) {
      return "expected at most " + Count(kMaxEntries, what) + ", got " + std::to_string(size);
    }
  }
  return "";
}

std::string BadHash(const AttemptOutcome& outcome) {
  for (const auto& [name, hash] : outcome.hashes) {
    if (!IsSha256(hash)) {
      return "hash " + ToStorableText(name, kMaxNameBytes) + ": expected 64 hexadecimal digits";
    }
  }
  for (const Artifact& artifact : outcome.artifacts) {
    if (!IsSha256(artifact.sha256)) {
      return "artifact " + ToStorableText(artifact.path, kMaxNameBytes) +
             ": expected 64 hexadecimal digits";
    }
  }
  return "";
}

std::string MissingArtifact(const AttemptOutcome& outcome,
                            const std::vector<std::string>& missing) {
  for (const Artifact& artifact : outcome.artifacts) {
    if (std::ranges::find(missing, artifact.sha256) == missing.end()) continue;
    return "artifact " + ToStorableText(artifact.path, kMaxNameBytes) + " (" + artifact.sha256 +
           ") was never uploaded";
  }
  return "";
}

}  // namespace

OutcomeVerdict JudgeOutcome(const AttemptOutcome& outcome, const Known& known) {
  if (outcome.kind == OutcomeEvent::Kind::kFailed) return {Kind::kFailure, ""};
  for (const std::string& fault : {TooMuch(outcome), BadHash(outcome)}) {
    if (!fault.empty()) return {Kind::kRefuse, fault};
  }
  if (outcome.record_batches < known.stored_batches) {
    return {Kind::kRefuse, "it counts " + Count(outcome.record_batches, "record batches") + ", " +
                               std::to_string(known.stored_batches) + " are stored"};
  }
  if (outcome.record_batches > known.stored_batches) {
    return {Kind::kWait, std::to_string(known.stored_batches) + " of " +
                             Count(outcome.record_batches, "record batches") + " are stored"};
  }
  const std::string missing = MissingArtifact(outcome, known.missing_artifacts);
  if (!missing.empty()) return {Kind::kRefuse, missing};
  return {Kind::kAccept, ""};
}

}  // namespace noisefloor::ingest

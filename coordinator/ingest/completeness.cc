// Whether everything of an attempt is here when its end is reported.
#include <cmath>
#include <limits>
#include <set>
#include <string_view>

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

// Or a size that no file has.
std::string BadHash(const AttemptOutcome& outcome) {
  for (const auto& [name, hash] : outcome.hashes) {
    if (!IsSha256(hash)) {
      return "hash " + ToStorableText(name, kMaxNameBytes) + ": expected 64 hexadecimal digits";
    }
  }
  for (const Artifact& artifact : outcome.artifacts) {
    if (artifact.size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return "artifact " + ToStorableText(artifact.path, kMaxNameBytes) + ": no file has " +
             std::to_string(artifact.size) + " bytes";
    }
    if (!IsSha256(artifact.sha256)) {
      return "artifact " + ToStorableText(artifact.path, kMaxNameBytes) +
             ": expected 64 hexadecimal digits";
    }
  }
  return "";
}

// Figures that contradict the word "done": a training with such a loss has diverged, and no share
// of examples is such a number. A class without examples has no accuracy.
std::string BadFigure(const AttemptOutcome& outcome) {
  if (outcome.kind != Outcome::Kind::kDone) return "";
  const auto is_share = [](double value) { return value >= 0 && value <= 1; };
  for (const auto& [name, value] : outcome.metrics) {
    if (name == "loss" && !std::isfinite(value)) {
      return "metrics.loss: expected a finite number of what is done, got " + std::to_string(value);
    }
    if ((name == "top1" || name == "top5") && !is_share(value)) {
      return "metrics." + name + ": expected 0 to 1, got " + std::to_string(value);
    }
  }
  for (size_t k = 0; k < outcome.per_class_accuracy.size(); ++k) {
    const double value = outcome.per_class_accuracy[k];
    if (is_share(value) || std::isnan(value)) continue;
    return "per_class_accuracy[" + std::to_string(k) + "]: expected 0 to 1, got " +
           std::to_string(value);
  }
  return "";
}

std::string MissingArtifact(const AttemptOutcome& outcome,
                            const std::vector<std::string>& missing) {
  const std::set<std::string_view> sorted(missing.begin(), missing.end());
  for (const Artifact& artifact : outcome.artifacts) {
    if (!sorted.contains(artifact.sha256)) continue;
    return "artifact " + ToStorableText(artifact.path, kMaxNameBytes) + " (" + artifact.sha256 +
           ") was never uploaded";
  }
  return "";
}

}  // namespace

std::string FaultOf(const AttemptOutcome& outcome) {
  for (std::string fault : {TooMuch(outcome), BadHash(outcome), BadFigure(outcome)}) {
    if (!fault.empty()) return fault;
  }
  return "";
}

OutcomeVerdict JudgeOutcome(const AttemptOutcome& outcome, const Known& known) {
  if (outcome.kind == Outcome::Kind::kFailed) return {Kind::kFailure, ""};
  if (!outcome.fault.empty()) return {Kind::kRefuse, outcome.fault};
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

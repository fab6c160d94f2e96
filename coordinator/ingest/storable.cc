// What makes an outcome storable, whatever came.
#include <algorithm>
#include <limits>
#include <utility>

#include "common/base/sha256_text.h"
#include "common/base/utf8.h"
#include "common/trainer_protocol/measured.h"
#include "coordinator/ingest/accept.h"

namespace noisefloor::ingest {

namespace {

bool IsShown(char c) {
  return (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) || c == '\n' || c == '\t';
}

// Nearly all texts are as they may be: these are not built up anew.
bool IsPlain(std::string_view text, size_t most_bytes) {
  return text.size() <= most_bytes &&
         std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
}

// Keeps the first kMaxEntries whose cleaned name is not empty.
template <typename Value>
std::map<std::string, Value> CleanNames(std::map<std::string, Value> entries) {
  const bool is_clean =
      entries.size() <= kMaxEntries && std::ranges::all_of(entries, [](const auto& entry) {
        return !entry.first.empty() && IsPlain(entry.first, kMaxNameBytes);
      });
  if (is_clean) return entries;
  std::map<std::string, Value> cleaned;
  for (const auto& [name, value] : entries) {
    if (cleaned.size() == kMaxEntries) break;
    std::string text = ToStorableText(name, kMaxNameBytes);
    if (!text.empty()) cleaned.emplace(std::move(text), value);
  }
  return cleaned;
}

void NoteLoss(AttemptOutcome& outcome, std::string_view what) {
  constexpr size_t kRoomForNotes = 400;
  outcome.message = ToStorableText(outcome.message, kMaxMessageBytes - kRoomForNotes);
  outcome.message.append(outcome.message.empty() ? "" : " ").append("[").append(what).append("]");
}

void CleanEnvironment(AttemptOutcome& outcome) {
  if (outcome.environment.empty()) outcome.environment = "{}";
  const bool fits = outcome.environment.size() <= kMaxEnvironmentBytes;
  auto parts = fits ? SplitEnvironment(outcome.environment)
                    : absl::StatusOr<EnvironmentParts>(InvalidInput("too long"));
  if (parts.ok()) {
    outcome.environment = std::move(parts->facts);
    outcome.measured = std::move(parts->measured);
    return;
  }
  outcome.environment = "{}";
  NoteLoss(outcome,
           fits ? "environment left out: not a JSON object" : "environment left out: above 1 MiB");
}

void CleanArtifacts(AttemptOutcome& outcome) {
  const size_t before = outcome.artifacts.size();
  std::erase_if(outcome.artifacts, [](const Artifact& a) {
    return !IsSha256(a.sha256) ||
           a.size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  });
  if (outcome.artifacts.size() > kMaxEntries) outcome.artifacts.resize(kMaxEntries);
  for (Artifact& artifact : outcome.artifacts) {
    artifact.kind = ToStorableText(artifact.kind, kMaxNameBytes);
    artifact.path = ToStorableText(artifact.path, 4 * kMaxNameBytes);
  }
  if (outcome.artifacts.size() != before) NoteLoss(outcome, "some artifacts left out");
}

}  // namespace

std::string ToStorableText(std::string_view text, size_t most_bytes) {
  if (IsPlain(text, most_bytes)) return std::string(text);
  std::string cleaned;
  while (!text.empty()) {
    const size_t length = CharacterBytes(text);
    const size_t taken = std::max<size_t>(length, 1);
    if (cleaned.size() + taken > most_bytes) break;
    const bool shown = length > 1 || (length == 1 && IsShown(text.front()));
    if (shown)
      cleaned.append(text.substr(0, taken));
    else
      cleaned += '?';
    text.remove_prefix(taken);
  }
  return cleaned;
}

AttemptOutcome MakeStorable(AttemptOutcome outcome) {
  outcome.fault = FaultOf(outcome);
  const bool failed = outcome.kind == Outcome::Kind::kFailed;
  if (failed && outcome.cause == CauseClass::kNone) outcome.cause = CauseClass::kBug;
  if (!failed) outcome.cause = CauseClass::kNone;
  outcome.message = ToStorableText(outcome.message, kMaxMessageBytes);
  outcome.data_identity = ToStorableText(outcome.data_identity, kMaxNameBytes);
  std::erase_if(outcome.hashes, [](const auto& entry) { return !IsSha256(entry.second); });
  outcome.hashes = CleanNames(std::move(outcome.hashes));
  outcome.metrics = CleanNames(std::move(outcome.metrics));
  if (outcome.per_class_accuracy.size() > kMaxEntries) {
    outcome.per_class_accuracy.resize(kMaxEntries);
    NoteLoss(outcome, "accuracy of later classes left out");
  }
  CleanArtifacts(outcome);
  CleanEnvironment(outcome);
  const uint64_t most = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  outcome.record_batches = std::min(outcome.record_batches, most);
  return outcome;
}

}  // namespace noisefloor::ingest

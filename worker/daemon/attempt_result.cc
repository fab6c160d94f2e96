#include "worker/daemon/attempt_result.h"

#include "common/trainer_protocol/json_reader.h"

namespace noisefloor {

namespace {
constexpr size_t kMaxMessage = 10000;  // Bytes; an outcome with more is refused when it is read.
}  // namespace

std::string ResultToText(const AttemptResult& result) {
  HelloEvent hello;
  hello.data_identity = result.data_identity;
  std::string text = EventToJson(hello) + "\n";
  for (const Artifact& artifact : result.artifacts) text += EventToJson(artifact) + "\n";
  return text + EventToJson(result.outcome) + "\n";
}

absl::StatusOr<AttemptResult> ResultFromText(std::string_view text) {
  AttemptResult result;
  bool has_outcome = false;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return InvalidInput("the last line is not whole");
    NF_ASSIGN_OR_RETURN(TrainerEvent event, EventFromJson(text.substr(0, end)));
    text.remove_prefix(end + 1);
    if (auto* hello = std::get_if<HelloEvent>(&event)) result.data_identity = hello->data_identity;
    if (auto* artifact = std::get_if<Artifact>(&event)) {
      result.artifacts.push_back(std::move(*artifact));
    }
    if (auto* outcome = std::get_if<Outcome>(&event)) {
      result.outcome = std::move(*outcome);
      has_outcome = true;
    }
  }
  if (!has_outcome) return InvalidInput("no outcome");
  return result;
}

std::string ToUtf8(std::string_view text, size_t most_bytes) {
  const Json raw = std::string(text);
  const std::string json = raw.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string cleaned = Json::parse(json).get<std::string>();
  if (cleaned.size() <= most_bytes) return cleaned;
  size_t end = most_bytes;
  while (end > 0 && (static_cast<unsigned char>(cleaned[end]) & 0xC0) == 0x80) --end;
  cleaned.resize(end);
  return cleaned;
}

AttemptResult FailedResult(CauseClass cause, std::string_view message) {
  AttemptResult result;
  result.outcome.kind = Outcome::Kind::kFailed;
  result.outcome.cause = cause;
  result.outcome.message = ToUtf8(message, kMaxMessage);
  return result;
}

}  // namespace noisefloor

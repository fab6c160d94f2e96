#include "worker/daemon/attempt_result.h"

namespace noisefloor {

std::string ResultToText(const AttemptResult& result) {
  HelloEvent hello;
  hello.data_identity = result.data_identity;
  std::string text = EventToJson(hello) + "\n";
  for (const ArtifactEvent& artifact : result.artifacts) text += EventToJson(artifact) + "\n";
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
    if (auto* artifact = std::get_if<ArtifactEvent>(&event)) {
      result.artifacts.push_back(std::move(*artifact));
    }
    if (auto* outcome = std::get_if<OutcomeEvent>(&event)) {
      result.outcome = std::move(*outcome);
      has_outcome = true;
    }
  }
  if (!has_outcome) return InvalidInput("no outcome");
  return result;
}

AttemptResult FailedResult(CauseClass cause, std::string_view message) {
  AttemptResult result;
  result.outcome.kind = OutcomeEvent::Kind::kFailed;
  result.outcome.cause = cause;
  result.outcome.message = std::string(message.substr(0, 10000));
  return result;
}

}  // namespace noisefloor

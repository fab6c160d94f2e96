#include "coordinator/live/event_place.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "fmt/format.h"

#include "noisefloor/v1/coordinator_api.pb.h"

namespace noisefloor::live {

namespace {

struct MemberPlace {
  uint64_t lease = 0;
  int64_t step = -1;
};

std::optional<MemberPlace> ParseMemberPlace(std::string_view id) {
  const std::vector<std::string> parts = absl::StrSplit(std::string(id), ':');
  MemberPlace place;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &place.lease) ||
      !absl::SimpleAtoi(parts[1], &place.step)) {
    return std::nullopt;
  }
  return place;
}

}  // namespace

std::string PlaceAfter(const google::protobuf::Message& message, std::string_view before) {
  if (const auto* sweep = dynamic_cast<const v1::WatchSweepResponse*>(&message)) {
    return std::to_string(sweep->resume_token());
  }
  const auto* member = dynamic_cast<const v1::WatchMemberResponse*>(&message);
  if (member == nullptr) return "";
  MemberPlace place = ParseMemberPlace(before).value_or(MemberPlace());
  if (place.lease != member->lease()) place = {member->lease(), -1};
  for (const v1::RecordedValue& value : member->values()) {
    place.step = std::max(place.step, value.step() - 1);
  }
  return fmt::format("{}:{}", place.lease, place.step);
}

absl::Status BeginAfter(std::string_view id, google::protobuf::Message& request) {
  if (auto* sweep = dynamic_cast<v1::WatchSweepRequest*>(&request)) {
    uint64_t token = 0;
    if (!absl::SimpleAtoi(std::string(id), &token))
      return InvalidInput("Last-Event-ID: expected a number");
    sweep->set_resume_token(token);
    return absl::OkStatus();
  }
  auto* member = dynamic_cast<v1::WatchMemberRequest*>(&request);
  if (member == nullptr) return InvalidInput("Last-Event-ID: these are no events");
  const std::optional<MemberPlace> place = ParseMemberPlace(id);
  if (!place) return InvalidInput("Last-Event-ID: expected LEASE:STEP");
  member->set_lease(place->lease);
  member->set_after_step(place->step);
  return absl::OkStatus();
}

}  // namespace noisefloor::live

// Where a stream of events goes on after one of them: the id of a server-sent event. Pure.
#pragma once

#include <string>
#include <string_view>

#include "google/protobuf/message.h"

#include "common/base/status.h"

namespace noisefloor::live {

// Of a message of WatchSweep "RESUME_TOKEN", of one of WatchMember "LEASE:STEP", with the step
// before the last one that `before`, the id of the message before it, or this message tells: of
// that one more may come, and what was told of it comes again. Of others empty.
std::string PlaceAfter(const google::protobuf::Message& message, std::string_view before);

// Lets a request for such a stream begin after that id. InvalidArgument: it is none.
absl::Status BeginAfter(std::string_view id, google::protobuf::Message& request);

}  // namespace noisefloor::live

// Fields of a message from the query of a URL: "sweep_id=3&selection.states=MEMBER_STATE_DONE".
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "google/protobuf/message.h"

#include "common/base/status.h"

namespace noisefloor::live {

// Sets the field at `path`, names with dots between them, from its value as text: numbers in
// decimal, true or false, values of enumerations by name. Of a field that repeats one more.
// InvalidArgument: there is none, it is a message or a map, or the text is no such value.
absl::Status SetField(google::protobuf::Message& message, std::string_view path,
                      std::string_view value);

}  // namespace noisefloor::live

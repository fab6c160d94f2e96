// From the store's words and the core's values to messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "coordinator/sweep/sweep.h"
#include "noisefloor/v1/coordinator_api.pb.h"

namespace noisefloor::query {

// A request that resolves to the same sweep: settings that are not defaults, built-in plans by
// name, hardware as the classes that it was resolved to.
v1::Sweep ToProto(const sweep::Sweep& sweep);

// "waiting" and the like; unspecified for other texts.
v1::MemberState StateFromName(std::string_view name);
v1::SourceState ToProto(SourceState state);
v1::Outcome::Kind OutcomeKindFromName(std::string_view name);
// "waiting"; empty for unspecified.
std::string_view NameOf(v1::MemberState state);

// A JSON object {path: value} as settings; empty for a text that is none.
std::vector<v1::Setting> SettingsIn(std::string_view json);

}  // namespace noisefloor::query

// Kinds and states as messages, and back. Pure.
#pragma once

#include <optional>

#include "common/base/member_state.h"
#include "common/base/noise_source.h"
#include "common/trainer_protocol/json.h"
#include "noisefloor/v1/common.pb.h"
#include "noisefloor/v1/record.pb.h"
#include "noisefloor/v1/sweep.pb.h"

namespace noisefloor {

v1::SourceState ToProto(SourceState state);
// Nothing for a number that is no state.
std::optional<SourceState> SourceStateFrom(v1::SourceState state);

v1::MemberState ToProto(MemberState state);
// Nothing for a number that is no state.
std::optional<MemberState> MemberStateFrom(v1::MemberState state);

v1::Outcome::Kind ToProto(Outcome::Kind kind);
// Nothing for a number that is no kind.
std::optional<Outcome::Kind> OutcomeKindFrom(v1::Outcome::Kind kind);

}  // namespace noisefloor

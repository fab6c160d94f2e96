// Distinct types for distinct numbers, so that a worker cannot be passed for a member.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace noisefloor {

template <typename Tag>
struct Id {
  uint64_t value = 0;
  friend auto operator<=>(const Id&, const Id&) = default;
};

using SweepId = Id<struct SweepTag>;
using WorkerId = Id<struct WorkerTag>;    // One daemon identity, kept across its restarts.
using SessionId = Id<struct SessionTag>;  // One connection of a worker.
using LeaseId = Id<struct LeaseTag>;      // Rises for ever: it is the fencing token.
using EventId = Id<struct EventTag>;      // Rises for ever: it is the resume token of a watch.

// Which member: sweep, cell and replicate. As text "s3c12r4".
struct MemberId {
  SweepId sweep;
  uint32_t cell = 0;
  uint32_t replicate = 0;
  friend auto operator<=>(const MemberId&, const MemberId&) = default;
};

// Which attempt at a member, numbered from 1.
struct AttemptId {
  MemberId member;
  uint32_t number = 0;
  friend auto operator<=>(const AttemptId&, const AttemptId&) = default;
};

std::string ToText(SweepId id);          // "s3"
std::string ToText(const MemberId& id);  // "s3c12r4"
std::optional<SweepId> ParseSweepId(std::string_view text);
std::optional<MemberId> ParseMemberId(std::string_view text);

}  // namespace noisefloor

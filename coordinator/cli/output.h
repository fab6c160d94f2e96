// How commands print: tables for people, versioned JSON for programs.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "nlohmann/json.hpp"

#include "common/base/status.h"
#include "coordinator/cli/command.h"
#include "noisefloor/v1/common.pb.h"
#include "noisefloor/v1/coordinator_api.pb.h"

namespace noisefloor::cli {

using Json = nlohmann::ordered_json;

// Of the terminal that `file` is; 0 when it is none, or will not say.
uint32_t TerminalColumns(int file);

// Says on standard error, in any form of output, that the coordinator can keep nothing at present
// and why; nothing when `problem` is empty.
void WarnOfStorage(Context& context, std::string_view problem);

// A file's content, unchanged; only a terminal gets what it can show.
void PrintData(const Context& context, std::string_view bytes);

// {"version": 1, ...fields}, one object and a newline.
void PrintJson(std::ostream& out, const Json& fields);
// A number, or "nan", "inf", "-inf".
Json JsonNumber(double value);

std::string_view Name(v1::MemberState state);       // "waiting"; "unspecified"
std::string_view Shown(v1::MemberState state);      // As Name, but "running" for "leased".
std::vector<std::string> ShownStates();             // Every state but unspecified.
v1::MemberState ParseState(std::string_view name);  // By Name or Shown; else unspecified.

std::string ToText(const v1::Value& value);
std::string ToText(const v1::Setting& setting);               // "train.epochs=3"
std::string Counted(uint64_t count, std::string_view thing);  // "1 member", "2 members"
std::string DurationText(double seconds);                     // "3 m 10 s"
std::string TimeText(int64_t unix_seconds);  // UTC, "2026-01-31 12:00:00"; "-" for 0
std::string Percent(double fraction);        // "87.1 %"; "-" when not finite

Json SummaryJson(const v1::SweepSummary& sweep);
bool HasEnded(const v1::SweepSummary& sweep);
uint32_t MemberCount(const v1::SweepSummary& sweep);
// Of its members, 0 to 1; a cancelled member is not done.
double ShareDone(const v1::SweepSummary& sweep);
// "48 members: 40 done, 2 diverged, 6 waiting"
std::string CountsText(const v1::SweepSummary& sweep);

// "s3" or "3"; empty: 0, the newest.
absl::StatusOr<uint64_t> SweepNumber(std::string_view text);
// Where the newest is not meant: an empty variable of a script names no sweep.
absl::StatusOr<uint64_t> RequiredSweepNumber(std::string_view text);

}  // namespace noisefloor::cli

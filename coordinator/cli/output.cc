#include "coordinator/cli/output.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/time/time.h"
#include "fmt/format.h"

#include "common/base/ids.h"
#include "common/base/member_state.h"
#include "common/rpc/kinds.h"
#include "common/trainer_protocol/fields.h"
#include "common/trainer_protocol/json.h"
#include "coordinator/cli/terminal_text.h"

namespace noisefloor::cli {

namespace {

std::string_view Shown(MemberState state) {
  return state == MemberState::kLeased ? "running" : Name(state);
}

}  // namespace

uint32_t TerminalColumns(int file) {
  winsize size = {};
  return ioctl(file, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void WarnOfStorage(Context& context, std::string_view problem) {
  if (problem.empty()) return;
  context.err << "the coordinator cannot write: " << problem
              << "; until it can, what trains goes on and nothing more is kept\n";
}

void PrintData(const Context& context, std::string_view bytes) {
  if (context.out_is_terminal) {
    context.out << bytes;
  } else {
    WriteRaw(context.out, bytes);
  }
}

void PrintJson(std::ostream& out, const Json& fields) {
  Json whole = {{"version", 1}};
  whole.update(fields);
  out << whole.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

Json JsonNumber(double value) {
  if (std::isfinite(value)) return value;
  return NumberToText(value);
}

std::string_view Name(v1::MemberState state) {
  const auto known = MemberStateFrom(state);
  return known ? Name(*known) : "unspecified";
}

std::string_view Shown(v1::MemberState state) {
  const auto known = MemberStateFrom(state);
  return known ? Shown(*known) : Name(state);
}

std::vector<std::string> ShownStates() {
  std::vector<std::string> names;
  for (const MemberState state : kAllMemberStates) names.emplace_back(Shown(state));
  return names;
}

v1::MemberState ParseState(std::string_view name) {
  for (const MemberState state : kAllMemberStates) {
    if (Name(state) == name || Shown(state) == name) return ToProto(state);
  }
  return v1::MEMBER_STATE_UNSPECIFIED;
}

std::string ToText(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kBoolean: return noisefloor::ToText(SettingValue(value.boolean()));
    case v1::Value::kInteger: return std::to_string(value.integer());
    case v1::Value::kNumber: return noisefloor::ToText(SettingValue(value.number()));
    case v1::Value::kText: return value.text();
    case v1::Value::kList:
      return noisefloor::ToText(SettingValue(
          std::vector<int64_t>(value.list().values().begin(), value.list().values().end())));
    case v1::Value::KIND_NOT_SET: return "";
  }
  return "";
}

std::string ToText(const v1::Setting& setting) {
  return setting.path() + "=" + ToText(setting.value());
}

std::string Counted(uint64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string DurationText(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "-";
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} m {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} m", whole / 3600, whole / 60 % 60);
}

std::string TimeText(int64_t unix_seconds) {
  if (unix_seconds == 0) return "-";
  const absl::Time time = absl::FromUnixSeconds(unix_seconds);
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", time, absl::UTCTimeZone());
}

std::string Percent(double fraction) {
  return std::isfinite(fraction) ? fmt::format("{:.2f} %", 100 * fraction) : "-";
}

namespace {

Json TagsJson(const v1::SweepSummary& sweep) {
  Json tags = Json::object();
  for (const auto& [tag, value] : sweep.sweep().tags()) tags[tag] = value;
  return tags;
}

}  // namespace

Json SummaryJson(const v1::SweepSummary& sweep) {
  return {
      {"id", noisefloor::ToText(SweepId{sweep.id()})},
      {"name", sweep.name()},
      {"submitted_unix_seconds", sweep.submitted_unix_seconds()},
      {"cells", sweep.cells()},
      {"members",
       {{"total", MemberCount(sweep)},
        {"waiting", sweep.waiting()},
        {"leased", sweep.leased()},
        {"done", sweep.done()},
        {"diverged", sweep.diverged()},
        {"failed", sweep.failed()},
        {"cancelled", sweep.cancelled()}}},
      {"retries", sweep.retries()},
      {"progress", JsonNumber(sweep.progress())},
      {"ended", HasEnded(sweep)},
      {"undecided", sweep.undecided()},
      {"mean_member_seconds", JsonNumber(sweep.mean_member_seconds())},
      {"specification_sha256", sweep.specification_sha256()},
      {"owner", sweep.owner()},
      {"priority", sweep.priority()},
      {"weight", std::max(1u, sweep.weight())},
      {"paused", sweep.paused()},
      {"max_failures", sweep.max_failures()},
      {"archived", sweep.archived()},
      {"limits", std::map<std::string, uint32_t>(sweep.limits().begin(), sweep.limits().end())},
      {"gpu_hours", JsonNumber(sweep.gpu_hours())},
      {"gpu_hours_used", JsonNumber(sweep.gpu_hours_used())},
      {"hardware", std::vector<std::string>(sweep.hardware().begin(), sweep.hardware().end())},
      {"members_per_hour", JsonNumber(sweep.members_per_hour())},
      {"expected_seconds_left", JsonNumber(sweep.expected_seconds_left())},
      {"notes", sweep.sweep().notes()},
      {"tags", TagsJson(sweep)},
  };
}

bool HasEnded(const v1::SweepSummary& sweep) {
  return sweep.waiting() == 0 && sweep.leased() == 0 && !sweep.undecided();
}

uint32_t MemberCount(const v1::SweepSummary& sweep) {
  return sweep.waiting() + sweep.leased() + sweep.done() + sweep.diverged() + sweep.failed() +
         sweep.cancelled();
}

double ShareDone(const v1::SweepSummary& sweep) {
  const uint32_t members = MemberCount(sweep);
  if (members == 0) return 1;
  const double ended = sweep.done() + sweep.diverged() + sweep.failed();
  return std::clamp((HasEnded(sweep) ? ended : sweep.progress()) / members, 0.0, 1.0);
}

std::string CountsText(const v1::SweepSummary& sweep) {
  std::string text =
      fmt::format("{}: {} done", Counted(MemberCount(sweep), "member"), sweep.done());
  const auto add = [&](uint32_t count, std::string_view name) {
    if (count > 0) text += fmt::format(", {} {}", count, name);
  };
  add(sweep.diverged(), "diverged");
  add(sweep.failed(), "failed");
  add(sweep.cancelled(), "cancelled");
  add(sweep.leased(), Shown(v1::MEMBER_STATE_LEASED));
  add(sweep.waiting(), "waiting");
  return text;
}

absl::StatusOr<uint64_t> RequiredSweepNumber(std::string_view text) {
  if (text.empty()) return InvalidInput("sweep: expected a number such as s3, got nothing");
  return SweepNumber(text);
}

absl::StatusOr<uint64_t> SweepNumber(std::string_view text) {
  if (text.empty()) return 0;
  const std::string with_letter = text[0] == 's' ? std::string(text) : "s" + std::string(text);
  const auto id = ParseSweepId(with_letter);
  if (!id || id->value == 0) {
    return InvalidInput(fmt::format("sweep {}: expected a number such as s3", text));
  }
  return id->value;
}

}  // namespace noisefloor::cli

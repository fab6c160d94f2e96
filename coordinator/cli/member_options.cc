#include "coordinator/cli/member_options.h"

#include <cmath>
#include <optional>

#include "absl/strings/numbers.h"
#include "fmt/format.h"

#include "common/base/ids.h"
#include "common/rpc/settings.h"
#include "coordinator/cli/choices.h"
#include "coordinator/cli/output.h"

namespace noisefloor::cli {

namespace {

// What JSON says is taken too: "leased" for "running".
std::string AsShown(const std::string& name) {
  const v1::MemberState state = ParseState(name);
  return state == v1::MEMBER_STATE_UNSPECIFIED ? name : std::string(Shown(state));
}

// As a sweep file would read it: 1e-1 is 0.1.
SettingValue ValueOf(const std::string& text) {
  int64_t whole = 0;
  double number = 0;
  if (absl::SimpleAtoi(text, &whole)) return whole;
  if (absl::SimpleAtod(text, &number) && std::isfinite(number)) return number;
  return text;
}

CLI::Option* AddList(CLI::App& app, const std::string& name, std::vector<std::string>& into,
                     const std::string& help, const std::string& type) {
  return app.add_option(name, into, help)->delimiter(',')->allow_extra_args(false)->type_name(type);
}

}  // namespace

void MemberOptions::Describe(CLI::App& app, const std::vector<std::string>& states) {
  AddList(app, "--state", states_, "only those that are " + JoinChoices(states), "STATE")
      ->transform(AsShown)
      ->check(OneOf(states));
  AddList(app, "--hardware", hardware_, "only those of this hardware class", "CLASS");
  AddList(app, "--stack", stacks_, "only those of this stack", "NAME");
  DescribeRest(app);
}

void MemberOptions::DescribeTrained(CLI::App& app) {
  AddList(app, "--trained-on", hardware_, "only those of this hardware class", "CLASS");
  DescribeRest(app);
}

void MemberOptions::DescribeRest(CLI::App& app) {
  AddList(app, "--plan", plans_, "only those of this noise plan", "NAME");
  app.add_option("--cell", cells_, "only those of this cell: 12 of s3c12r4")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("N");
  AddList(app, "--member", members_, "only this one", "ID");
  AddList(app, "--worker", workers_, "only those that this worker has, or had last", "NAME");
  app.add_option("--axis", axes_,
                 "only those to which an axis gave this setting, such as train.batch_size=64; of "
                 "several values of one path any will do")
      ->allow_extra_args(false)
      ->type_name("PATH=VALUE");
}

bool MemberOptions::empty() const {
  return states_.empty() && plans_.empty() && hardware_.empty() && stacks_.empty() &&
         cells_.empty() && members_.empty() && workers_.empty() && axes_.empty();
}

absl::StatusOr<v1::MemberSelection> MemberOptions::Selection(uint64_t sweep) const {
  v1::MemberSelection selection;
  for (const std::string& state : states_) selection.add_states(ParseState(state));
  selection.mutable_plans()->Add(plans_.begin(), plans_.end());
  selection.mutable_hardware()->Add(hardware_.begin(), hardware_.end());
  selection.mutable_stacks()->Add(stacks_.begin(), stacks_.end());
  selection.mutable_cells()->Add(cells_.begin(), cells_.end());
  selection.mutable_workers()->Add(workers_.begin(), workers_.end());
  for (const std::string& name : members_) {
    const std::optional<MemberId> member = ParseMemberId(name);
    if (!member || (sweep != 0 && member->sweep.value != sweep)) {
      return InvalidInput(fmt::format("--member={}: expected a member {}, such as s{}c12r4", name,
                                      sweep == 0 ? "of the sweep" : fmt::format("of s{}", sweep),
                                      sweep == 0 ? 3 : sweep));
    }
    selection.add_members(name);
  }
  for (const std::string& axis : axes_) {
    const size_t sign = axis.find('=');
    if (sign == std::string::npos || sign == 0) {
      return InvalidInput(
          fmt::format("--axis={}: expected PATH=VALUE, such as train.batch_size=64", axis));
    }
    *selection.add_axes() = ToProto(Setting(axis.substr(0, sign), ValueOf(axis.substr(sign + 1))));
  }
  return selection;
}

absl::Status MemberOptions::CheckIsUnderstood(Connection& connection) const {
  if (empty()) return absl::OkStatus();
  NF_ASSIGN_OR_RETURN(const v1::GetVersionResponse answer,
                      connection.Call(&Stub::GetVersion, v1::GetVersionRequest()));
  if (!answer.version().starts_with("0.1.")) return absl::OkStatus();
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   "the coordinator is of version " + answer.version() +
                       ", which takes all members of a sweep or none");
}

}  // namespace noisefloor::cli

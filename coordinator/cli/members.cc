#include "fmt/format.h"

#include "coordinator/cli/choices.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/listing.h"
#include "coordinator/cli/member_json.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/table.h"

namespace noisefloor::cli {

namespace {

std::string Accuracy(const v1::Member& member) {
  const auto& metrics = member.outcome().metrics();
  const auto top1 = metrics.find("top1");
  return top1 == metrics.end() ? "-" : Percent(top1->second);
}

std::string ShortHash(const v1::Member& member, const std::string& name) {
  const auto& hashes = member.outcome().hashes();
  const auto hash = hashes.find(name);
  return hash == hashes.end() ? "-" : hash->second.substr(0, 8);
}

std::string State(const v1::Member& member) {
  std::string text(Shown(member.state()));
  if (member.state() == v1::MEMBER_STATE_LEASED && member.step_count() > 0) {
    text += fmt::format(" {} %", 100 * member.step() / member.step_count());
  }
  if (member.state() == v1::MEMBER_STATE_FAILED) text += ": " + member.outcome().cause();
  return text;
}

// What JSON says is taken too: "running" for "leased".
std::string AsShown(const std::string& name) {
  const v1::MemberState state = ParseState(name);
  return state == v1::MEMBER_STATE_UNSPECIFIED ? name : std::string(Shown(state));
}

std::string OrDash(const std::string& text) { return text.empty() ? "-" : text; }

std::string Axes(const v1::Member& member) {
  std::string text;
  for (const v1::Setting& axis : member.axes()) text += (text.empty() ? "" : " ") + ToText(axis);
  return OrDash(text);
}

void PrintTable(const Context& context, const std::vector<v1::Member>& members) {
  Table table({"member", "plan", "hardware", "state", "attempt", "top1", "init", "weights",
               "logits", "worker", "axes"});
  for (const v1::Member& member : members) {
    table.Add({member.id(), member.plan(), OrDash(member.hardware()), State(member),
               std::to_string(member.attempt()), Accuracy(member), ShortHash(member, "init"),
               ShortHash(member, "weights"), ShortHash(member, "logits"), OrDash(member.worker()),
               Axes(member)});
  }
  if (table.empty()) {
    context.out << "no members\n";
  } else {
    table.Print(context);
  }
}

class Members final : public Command {
 public:
  std::string_view Name() const override { return "members"; }
  std::string_view Help() const override {
    return "List the members of a sweep with their results";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor members
  noisefloor members s3 --state=failed
  noisefloor members --output=json | jq '.members[].hashes')";
  }
  void Describe(CLI::App& app) override {
    CLI::Option* sweep =
        app.add_option("sweep", sweep_, "the sweep, such as s3; without it: the newest")
            ->type_name("ID");
    app.add_option("--sweep", sweep_, "")->group("")->excludes(sweep);  // As it once was said.
    app.add_option("--state", state_, "only those that are " + JoinChoices(ShownStates()))
        ->type_name("STATE")
        ->transform(AsShown)
        ->check(OneOf(ShownStates()));
  }

  absl::StatusOr<int> Run(Context& context) override {
    NF_ASSIGN_OR_RETURN(const uint64_t sweep, SweepNumber(sweep_));
    NF_ASSIGN_OR_RETURN(Connection connection, Connection::Open(context, {}));
    const v1::MemberState state = ParseState(state_);
    if (context.Json()) {
      MembersJson json(context.out);
      NF_RETURN_IF_ERROR(VisitMembers(connection, sweep, state, Detail::kFull,
                                      [&json](v1::Member&& member) { json.Add(member); }));
      json.Finish();
      return kDone;
    }
    NF_ASSIGN_OR_RETURN(const std::vector<v1::Member> members,
                        ListMembers(connection, sweep, state, Detail::kHashes));
    PrintTable(context, members);
    return kDone;
  }

 private:
  std::string sweep_;
  std::string state_;
};

}  // namespace

std::unique_ptr<Command> MakeMembers() { return std::make_unique<Members>(); }

}  // namespace noisefloor::cli

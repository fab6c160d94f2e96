#include <algorithm>

#include "fmt/format.h"

#include "common/base/ids.h"
#include "coordinator/cli/choices.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/listing.h"
#include "coordinator/cli/member_json.h"
#include "coordinator/cli/member_options.h"
#include "coordinator/cli/member_page.h"
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

// What members are put in order by, and what that is to the coordinator.
struct Order {
  const char* name;
  const char* order_by;
};

constexpr Order kOrders[] = {{"member", ""},
                             {"state", "state"},
                             {"attempt", "attempt desc"},
                             {"top1", "top1 desc"},
                             {"worker", "worker"}};

std::vector<std::string> OrderNames() {
  std::vector<std::string> names;
  for (const Order& order : kOrders) names.emplace_back(order.name);
  return names;
}

void PrintTable(const Context& context, const std::vector<v1::Member>& members) {
  Table table({"member", "plan", "hardware", "state", "attempt", "top1", "init", "weights",
               "logits", "worker", "axes"});
  for (const v1::Member& member : members) {
    table.Add({member.id(), member.plan(), OrDash(member.hardware()), StateText(member),
               std::to_string(member.attempt()), Accuracy(member), ShortHash(member, "init"),
               ShortHash(member, "weights"), ShortHash(member, "logits"), OrDash(member.worker()),
               AxesText(member)});
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
    return "List the members of a sweep with their results, or tell all of one";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor members
  noisefloor members s3c12r4
  noisefloor members s3 --state=failed,cancelled --plan=algo
  noisefloor members s3 --sort=top1 --limit=10
  noisefloor members s3 --axis=train.batch_size=64 --axis=train.epochs=3
  noisefloor members --output=json | jq '.members[].hashes')";
  }
  void Describe(CLI::App& app) override {
    CLI::Option* sweep =
        app.add_option("sweep", sweep_,
                       "the sweep, such as s3, or one member, such as s3c12r4; without it: the "
                       "newest sweep")
            ->type_name("ID");
    app.add_option("--sweep", sweep_, "")->group("")->excludes(sweep);  // As it once was said.
    members_.Describe(app, ShownStates());
    app.add_option("--sort", sort_,
                   "by " + JoinChoices(OrderNames()) +
                       ": the most attempts and the best top-1 first (default: member)")
        ->type_name("ORDER")
        ->check(OneOf(OrderNames()));
    app.add_option("--limit", limit_, "no more than so many, the first")
        ->type_name("N")
        ->check(CLI::Range(1, 1 << 30));
  }

  absl::StatusOr<int> Run(Context& context) override {
    if (ParseMemberId(sweep_)) return TellOne(context);
    NF_ASSIGN_OR_RETURN(const uint64_t sweep, SweepNumber(sweep_));
    NF_ASSIGN_OR_RETURN(Connection connection, Connection::Open(context, {}));
    NF_ASSIGN_OR_RETURN(const v1::MemberSelection selection, members_.Selection(sweep));
    Listing listing = {sweep, selection, Detail::kHashes,
                       std::ranges::find(kOrders, sort_, &Order::name)->order_by, limit_};
    if (!context.Json()) {
      std::vector<v1::Member> members;
      NF_RETURN_IF_ERROR(VisitSelected(
          connection, listing, [&](v1::Member&& member) { members.push_back(std::move(member)); }));
      PrintTable(context, members);
      return kDone;
    }
    listing.detail = Detail::kFull;
    MembersJson json(context.out);
    NF_RETURN_IF_ERROR(
        VisitSelected(connection, listing, [&](v1::Member&& member) { json.Add(member); }));
    json.Finish();
    return kDone;
  }

 private:
  absl::StatusOr<int> TellOne(Context& context) const {
    if (!members_.empty() || limit_ != 0) {
      return InvalidInput(sweep_ + " is one member: there is nothing to choose from");
    }
    NF_ASSIGN_OR_RETURN(Connection connection, Connection::Open(context, {}));
    v1::GetMemberRequest request;
    request.set_member(sweep_);
    NF_ASSIGN_OR_RETURN(const v1::GetMemberResponse answer,
                        connection.Call(&Stub::GetMember, request));
    if (!context.Json()) {
      PrintMember(context, answer);
      return kDone;
    }
    Json events = Json::array();
    for (const v1::Event& event : answer.events()) events.push_back(EventJson(event));
    const Json history = std::vector<std::string>(answer.history().begin(), answer.history().end());
    PrintJson(context.out,
              {{"member", MemberJson(answer.member())}, {"history", history}, {"events", events}});
    return kDone;
  }

  std::string sweep_;
  MemberOptions members_;
  std::string sort_ = "member";
  uint32_t limit_ = 0;  // 0: all.
};

}  // namespace

std::unique_ptr<Command> MakeMembers() { return std::make_unique<Members>(); }

}  // namespace noisefloor::cli

// What each owner of sweeps gets of the fleet: `shares` tells it, `share` changes it.
#include <string>

#include "fmt/format.h"

#include "common/base/printable.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/table.h"

namespace noisefloor::cli {

namespace {

Json ToJson(const v1::Share& share) {
  return {{"owner", share.owner()},
          {"weight", share.weight()},
          {"running", share.running()},
          {"waiting", share.waiting()}};
}

class Shares final : public Command {
 public:
  std::string_view Name() const override { return "shares"; }
  std::string_view Help() const override { return "List what each owner gets of the fleet"; }
  std::string_view Examples() const override {
    return R"(  noisefloor shares --coordinator=127.0.0.1:7077
  noisefloor shares --output=json)";
  }
  void Describe(CLI::App& app) override { (void)app; }
  absl::StatusOr<int> Run(Context& context) override {
    NF_ASSIGN_OR_RETURN(Connection connection, Connection::Open(context, {}));
    NF_ASSIGN_OR_RETURN(const v1::ListSharesResponse answer,
                        connection.Call(&Stub::ListShares, v1::ListSharesRequest()));
    WarnOfStorage(context, answer.storage_problem());
    if (context.Json()) {
      Json shares = Json::array();
      for (const v1::Share& share : answer.shares()) shares.push_back(ToJson(share));
      PrintJson(context.out, {{"shares", shares}});
      return kDone;
    }
    Table table({"owner", "weight", "running", "waiting"});
    for (const v1::Share& share : answer.shares()) {
      table.Add({share.owner().empty() ? "-" : share.owner(), std::to_string(share.weight()),
                 std::to_string(share.running()), std::to_string(share.waiting())});
    }
    if (table.empty()) {
      context.out << "nobody's members wait or run, and all have weight 1\n";
    } else {
      table.Print(context);
    }
    return kDone;
  }
};

class Share final : public Command {
 public:
  std::string_view Name() const override { return "share"; }
  std::string_view Help() const override {
    return "Change what an owner gets of the fleet, from the next lease on";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor share ada --weight=3
  noisefloor share ada --weight=1 --coordinator=127.0.0.1:7077)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("owner", owner_, "who submits sweeps, as `shares` names them")
        ->required()
        ->type_name("NAME");
    app.add_option("--weight", weight_,
                   "the part against other owners whose members wait, 1 to 1000; 1 unless said")
        ->required()
        ->type_name("N")
        ->check(CLI::Range(1, 1000));
  }
  absl::StatusOr<int> Run(Context& context) override {
    NF_ASSIGN_OR_RETURN(Connection connection,
                        Connection::Open(context, {.home = Connection::Home::kToChange}));
    v1::UpdateShareRequest request;
    request.set_owner(owner_);
    request.set_weight(weight_);
    NF_ASSIGN_OR_RETURN(const v1::UpdateShareResponse answer,
                        connection.Call(&Stub::UpdateShare, request));
    const v1::Share& now = answer.share();
    if (context.Json()) {
      PrintJson(context.out, {{"share", ToJson(now)}});
      return kDone;
    }
    context.out << fmt::format("{}: weight {}; {} running, {} waiting\n",
                               PrintableLine(now.owner()), now.weight(),
                               Counted(now.running(), "member"), now.waiting());
    return kDone;
  }

 private:
  std::string owner_;
  uint32_t weight_ = 1;
};

}  // namespace

std::unique_ptr<Command> MakeShares() { return std::make_unique<Shares>(); }

std::unique_ptr<Command> MakeShare() { return std::make_unique<Share>(); }

}  // namespace noisefloor::cli

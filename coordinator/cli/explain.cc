#include "coordinator/cli/artifact.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/listing.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/standstill.h"

namespace noisefloor::cli {

namespace {

class Explain final : public Command {
 public:
  std::string_view Name() const override { return "explain"; }
  std::string_view Help() const override {
    return "Say why a member is where it is, and what would change it";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor explain s1c2r0
  noisefloor explain s1c2r0 --coordinator=127.0.0.1:7077)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("member", member_, "the member, such as s1c2r0")->required()->type_name("ID");
  }
  absl::StatusOr<int> Run(Context& context) override {
    NF_RETURN_IF_ERROR(CheckMember(member_));
    NF_ASSIGN_OR_RETURN(Connection connection, Connection::Open(context, {}));
    NF_ASSIGN_OR_RETURN(const v1::Member member, GetMember(connection, member_));
    v1::ExplainMemberRequest request;
    request.set_member(member_);
    NF_ASSIGN_OR_RETURN(const v1::ExplainMemberResponse answer,
                        connection.Call(&Stub::ExplainMember, request));
    if (context.Json()) {
      PrintJson(context.out, {{"member", member_}, {"text", answer.text()}});
      return kDone;
    }
    context.out << answer.text() << "\n";
    if (member.state() == v1::MEMBER_STATE_WAITING || member.state() == v1::MEMBER_STATE_LEASED) {
      NF_ASSIGN_OR_RETURN(const std::string nobody, NobodyTrains(context, connection));
      if (!nobody.empty()) context.out << nobody << "\n";
    }
    return kDone;
  }

 private:
  std::string member_;
};

}  // namespace

std::unique_ptr<Command> MakeExplain() { return std::make_unique<Explain>(); }

}  // namespace noisefloor::cli

#include "common/base/ids.h"
#include "common/base/printable.h"
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
    return "Say where a sweep stands, why a member is where it is, or what a worker does";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor explain s1c2r0
  noisefloor explain s1
  noisefloor explain node7 --coordinator=127.0.0.1:7077)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("what", what_,
                   "a member, such as s1c2r0; a sweep, such as s1; or a worker's name")
        ->required()
        ->type_name("ID");
  }
  absl::StatusOr<int> Run(Context& context) override {
    NF_ASSIGN_OR_RETURN(Connection connection, Connection::Open(context, {}));
    if (const auto sweep = ParseSweepId(what_)) return OfSweep(context, connection, sweep->value);
    if (!ParseMemberId(what_)) return OfWorker(context, connection);
    return OfMember(context, connection);
  }

 private:
  absl::StatusOr<int> OfSweep(Context& context, Connection& connection, uint64_t sweep) const {
    v1::ExplainSweepRequest request;
    request.set_sweep_id(sweep);
    NF_ASSIGN_OR_RETURN(const v1::ExplainSweepResponse answer,
                        connection.Call(&Stub::ExplainSweep, request));
    NF_RETURN_IF_ERROR(Print(context, "sweep", answer.text()).status());
    if (context.Json()) return kDone;
    v1::GetSweepRequest get;
    get.set_sweep_id(sweep);
    NF_ASSIGN_OR_RETURN(const v1::GetSweepResponse now, connection.Call(&Stub::GetSweep, get));
    if (HasEnded(now.sweep())) return kDone;
    NF_ASSIGN_OR_RETURN(const std::string nobody, NobodyTrains(context, connection));
    if (!nobody.empty()) context.out << nobody << "\n";
    return kDone;
  }

  absl::StatusOr<int> OfWorker(Context& context, Connection& connection) const {
    v1::ExplainWorkerRequest request;
    request.set_worker(what_);
    absl::StatusOr<v1::ExplainWorkerResponse> answer =
        connection.Call(&Stub::ExplainWorker, request);
    if (absl::IsNotFound(answer.status())) {
      return MakeError(absl::StatusCode::kNotFound,
                       Message(answer.status()) +
                           ", and it is no id of a sweep or member, such as s1 or s1c2r0; " +
                           context.Hint("workers") + " lists workers");
    }
    if (!answer.ok()) return answer.status();
    return Print(context, "worker", answer->text());
  }

  absl::StatusOr<int> Print(Context& context, const char* kind, const std::string& text) const {
    if (context.Json()) {
      PrintJson(context.out, {{kind, what_}, {"text", text}});
    } else {
      context.out << Printable(text) << "\n";
    }
    return kDone;
  }

  absl::StatusOr<int> OfMember(Context& context, Connection& connection) const {
    NF_ASSIGN_OR_RETURN(const v1::Member member, GetMember(connection, what_));
    v1::ExplainMemberRequest request;
    request.set_member(what_);
    NF_ASSIGN_OR_RETURN(const v1::ExplainMemberResponse answer,
                        connection.Call(&Stub::ExplainMember, request));
    if (context.Json()) {
      PrintJson(context.out, {{"member", what_}, {"text", answer.text()}});
      return kDone;
    }
    context.out << answer.text() << "\n";
    if (member.state() == v1::MEMBER_STATE_WAITING || member.state() == v1::MEMBER_STATE_LEASED) {
      NF_ASSIGN_OR_RETURN(const std::string nobody, NobodyTrains(context, connection));
      if (!nobody.empty()) context.out << nobody << "\n";
    }
    return kDone;
  }

  std::string what_;
};

}  // namespace

std::unique_ptr<Command> MakeExplain() { return std::make_unique<Explain>(); }

}  // namespace noisefloor::cli

#include "fmt/format.h"

#include "coordinator/cli/artifact.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/follow_member.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/stop_signal.h"

namespace noisefloor::cli {

namespace {

class Logs final : public Command {
 public:
  std::string_view Name() const override { return "logs"; }
  std::string_view Help() const override { return "Print the log of a member's trainer"; }
  std::string_view Examples() const override {
    return R"(  noisefloor logs s1c2r0
  noisefloor logs s1c2r0 > trainer.log
  noisefloor logs s1c2r0 -f --coordinator=127.0.0.1:7077)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("member", member_, "the member, such as s1c2r0")->required()->type_name("ID");
    app.add_flag("-f,--follow", follow_,
                 "print losses and accuracies as they come, until the member has ended; then its "
                 "log");
  }
  absl::StatusOr<int> Run(Context& context) override {
    NF_RETURN_IF_ERROR(CheckMember(member_));
    NF_ASSIGN_OR_RETURN(Connection connection, Connection::Open(context, {}));
    return follow_ ? Follow(context, connection) : PrintLog(context, connection);
  }

 private:
  static bool Ended(v1::MemberState state) {
    return state != v1::MEMBER_STATE_WAITING && state != v1::MEMBER_STATE_LEASED;
  }

  absl::StatusOr<int> Follow(Context& context, Connection& connection) {
    if (!connection.remote()) NF_RETURN_IF_ERROR(CheckHasEnded(context, connection));
    const StopSignal stop;
    NF_ASSIGN_OR_RETURN(const v1::MemberState state,
                        FollowMember(context, connection, member_, stop));
    if (stop.Requested()) return kStopped;
    const absl::StatusOr<int> printed = PrintLog(context, connection);
    if (!printed.ok() && !absl::IsNotFound(printed.status())) return printed;
    const bool has_result = state == v1::MEMBER_STATE_DONE || state == v1::MEMBER_STATE_DIVERGED;
    return has_result ? kDone : kFailedMembers;
  }

  // Nothing would ever come: no worker can reach a coordinator of this process.
  absl::Status CheckHasEnded(Context& context, Connection& connection) {
    v1::GetMemberRequest request;
    request.set_member(member_);
    NF_ASSIGN_OR_RETURN(const v1::GetMemberResponse answer,
                        connection.Call(&Stub::GetMember, request));
    if (Ended(answer.member().state())) return absl::OkStatus();
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     fmt::format("{} waits and nothing runs on {}; {} goes on with it", member_,
                                 context.options.home, context.Hint("run SWEEP.yaml")));
  }

  absl::StatusOr<int> PrintLog(Context& context, Connection& connection) {
    std::string text;
    const absl::Status read = GetArtifact(connection, member_, "log", [&](std::string_view piece) {
      text.append(piece);
      return absl::OkStatus();
    });
    if (absl::IsNotFound(read)) return WhyThereIsNone(context, connection, read);
    if (!context.Json()) PrintData(context, text);  // Also what came of a damaged one.
    NF_RETURN_IF_ERROR(read);
    if (context.Json()) PrintJson(context.out, {{"member", member_}, {"log", text}});
    return kDone;
  }

  // A log comes with a result; of a member that runs there is something else to see.
  absl::Status WhyThereIsNone(Context& context, Connection& connection, const absl::Status& read) {
    v1::GetMemberRequest request;
    request.set_member(member_);
    const auto answer = connection.Call(&Stub::GetMember, request);
    if (!answer.ok() || answer->member().state() != v1::MEMBER_STATE_LEASED) return read;
    return MakeError(absl::StatusCode::kNotFound,
                     fmt::format("{} runs, and its log comes with its result; {} shows its losses "
                                 "and accuracies as they come",
                                 member_, context.Hint(fmt::format("logs {} -f", member_))));
  }

  std::string member_;
  bool follow_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeLogs() { return std::make_unique<Logs>(); }

}  // namespace noisefloor::cli

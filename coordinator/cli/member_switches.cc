// What a person does with the members of a sweep, or some of them: `cancel` and `retry`.
#include <string>
#include <utility>
#include <vector>

#include "common/base/ids.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/member_options.h"
#include "coordinator/cli/output.h"

namespace noisefloor::cli {

namespace {

// What it is called, and what it says.
struct Verb {
  std::string_view name;
  std::string_view help;
  std::string_view examples;
  std::vector<std::string> states;   // That may be selected.
  std::string_view done_to_one;      // After "1 member"
  std::string_view done_to_several;  // and after "2 members".
};

template <typename Request, typename Response>
class MemberSwitch final : public Command {
 public:
  using Method = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&, Response*);

  MemberSwitch(Verb verb, Method method) : verb_(std::move(verb)), method_(method) {}
  std::string_view Name() const override { return verb_.name; }
  std::string_view Help() const override { return verb_.help; }
  std::string_view Examples() const override { return verb_.examples; }
  void Describe(CLI::App& app) override {
    app.add_option("sweep", sweep_, "the sweep, such as s3")->required()->type_name("ID");
    members_.Describe(app, verb_.states);
  }
  absl::StatusOr<int> Run(Context& context) override {
    NF_ASSIGN_OR_RETURN(const uint64_t sweep, SweepNumber(sweep_));
    NF_ASSIGN_OR_RETURN(v1::MemberSelection selection, members_.Selection(sweep));
    NF_ASSIGN_OR_RETURN(Connection connection,
                        Connection::Open(context, {.home = Connection::Home::kToChange}));
    Request request;
    request.set_sweep_id(sweep);
    NF_RETURN_IF_ERROR(members_.CheckIsUnderstood(connection));
    if (!members_.empty()) *request.mutable_selection() = std::move(selection);
    NF_ASSIGN_OR_RETURN(const Response answer, connection.Call(method_, request));
    if (context.Json()) {
      PrintJson(context.out, {{"sweep", ToText(SweepId{sweep})}, {"members", answer.members()}});
    } else {
      context.out << "s" << sweep << ": " << Counted(answer.members(), "member") << " "
                  << (answer.members() == 1 ? verb_.done_to_one : verb_.done_to_several) << "\n";
    }
    return kDone;
  }

 private:
  const Verb verb_;
  const Method method_;
  std::string sweep_;
  MemberOptions members_;
};

}  // namespace

std::unique_ptr<Command> MakeCancel() {
  return std::make_unique<MemberSwitch<v1::CancelSweepRequest, v1::CancelSweepResponse>>(
      Verb{.name = "cancel",
           .help = "End the members of a sweep that have not ended, or some of them",
           .examples = R"(  noisefloor cancel s3
  noisefloor cancel s3 --plan=impl --state=waiting
  noisefloor cancel s3 --coordinator=127.0.0.1:7077 --output=json)",
           .states = {"waiting", "running"},
           .done_to_one = "cancelled",
           .done_to_several = "cancelled"},
      &Stub::CancelSweep);
}

std::unique_ptr<Command> MakeRetry() {
  return std::make_unique<MemberSwitch<v1::RetrySweepRequest, v1::RetrySweepResponse>>(
      Verb{.name = "retry",
           .help = "Let the failed and cancelled members of a sweep, or some of them, wait again",
           .examples = R"(  noisefloor retry s3
  noisefloor retry s3 --state=failed --worker=node7
  noisefloor retry s3 --coordinator=127.0.0.1:7077 --output=json)",
           .states = {"failed", "cancelled"},
           .done_to_one = "waits again",
           .done_to_several = "wait again"},
      &Stub::RetrySweep);
}

}  // namespace noisefloor::cli

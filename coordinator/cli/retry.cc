#include "common/base/ids.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/member_options.h"
#include "coordinator/cli/output.h"

namespace noisefloor::cli {

namespace {

class Retry final : public Command {
 public:
  std::string_view Name() const override { return "retry"; }
  std::string_view Help() const override {
    return "Let the failed and cancelled members of a sweep, or some of them, wait again";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor retry s3
  noisefloor retry s3 --state=failed --worker=node7
  noisefloor retry s3 --coordinator=127.0.0.1:7077 --output=json)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("sweep", sweep_, "the sweep, such as s3")->required()->type_name("ID");
    members_.Describe(app, {"failed", "cancelled"});
  }
  absl::StatusOr<int> Run(Context& context) override {
    NF_ASSIGN_OR_RETURN(const uint64_t sweep, SweepNumber(sweep_));
    NF_ASSIGN_OR_RETURN(v1::MemberSelection selection, members_.Selection(sweep));
    NF_ASSIGN_OR_RETURN(Connection connection,
                        Connection::Open(context, {.home = Connection::Home::kToChange}));
    v1::RetrySweepRequest request;
    request.set_sweep_id(sweep);
    NF_RETURN_IF_ERROR(members_.CheckIsUnderstood(connection));
    if (!members_.empty()) *request.mutable_selection() = std::move(selection);
    NF_ASSIGN_OR_RETURN(const v1::RetrySweepResponse answer,
                        connection.Call(&Stub::RetrySweep, request));
    if (context.Json()) {
      PrintJson(context.out,
                {{"sweep", noisefloor::ToText(SweepId{sweep})}, {"members", answer.members()}});
    } else {
      context.out << "s" << sweep << ": " << Counted(answer.members(), "member")
                  << (answer.members() == 1 ? " waits" : " wait") << " again\n";
    }
    return kDone;
  }

 private:
  std::string sweep_;
  MemberOptions members_;
};

}  // namespace

std::unique_ptr<Command> MakeRetry() { return std::make_unique<Retry>(); }

}  // namespace noisefloor::cli

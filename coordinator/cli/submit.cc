#include "common/base/ids.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/submission.h"

namespace noisefloor::cli {

namespace {

class Submit final : public Command {
 public:
  std::string_view Name() const override { return "submit"; }
  std::string_view Help() const override { return "Give a sweep file to the coordinator"; }
  std::string_view Examples() const override {
    return R"(  noisefloor submit sweep.yaml --coordinator=127.0.0.1:7077
  noisefloor submit sweep.yaml --resume --output=json)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("file", file_, "the sweep file")->required()->type_name("SWEEP");
    app.add_flag("--resume", resume_, "answer with an equal sweep when there is one");
  }
  absl::StatusOr<int> Run(Context& context) override {
    NF_ASSIGN_OR_RETURN(const SweepFile file, ReadSweepFile(file_));
    NF_ASSIGN_OR_RETURN(Connection connection,
                        Connection::Open(context, {.home = Connection::Home::kMake}));
    NF_ASSIGN_OR_RETURN(const v1::SubmitSweepResponse answer,
                        SubmitSweep(context, connection, file, resume_));
    if (context.Json()) {
      PrintJson(context.out, {{"sweep", noisefloor::ToText(SweepId{answer.sweep_id()})},
                              {"members", answer.members()},
                              {"resumed", answer.resumed()},
                              {"hardware", std::vector<std::string>(answer.hardware().begin(),
                                                                    answer.hardware().end())}});
    } else {
      context.out << (answer.resumed() ? "there already: s" : "submitted s") << answer.sweep_id()
                  << ": " << Counted(answer.members(), "member") << "\n";
    }
    if (!connection.remote()) {
      context.err << "nothing runs it here: " << context.Hint("run " + file_) << " or "
                  << context.Hint("serve") << " does\n";
    }
    return kDone;
  }

 private:
  std::string file_;
  bool resume_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeSubmit() { return std::make_unique<Submit>(); }

}  // namespace noisefloor::cli

#include <algorithm>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/base/ids.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/standstill.h"
#include "coordinator/cli/submission.h"

namespace noisefloor::cli {

namespace {

class Submit final : public Command {
 public:
  std::string_view Name() const override { return "submit"; }
  std::string_view Help() const override { return "Give a sweep file to the coordinator"; }
  std::string_view Examples() const override {
    return R"(  noisefloor submit sweep.yaml --coordinator=127.0.0.1:7077
  noisefloor submit sweep.yaml --priority=10 --max-failures=3
  noisefloor submit sweep.yaml --resume --output=json)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("file", file_, "the sweep file")->required()->type_name("SWEEP");
    app.add_flag("--resume", resume_, "answer with an equal sweep when there is one");
    sharing_.Describe(app);
  }
  absl::StatusOr<int> Run(Context& context) override {
    const Connection::Wish wish = {.home = Connection::Home::kMake};
    std::optional<Connection> opened;
    NF_ASSIGN_OR_RETURN(const SweepFile file, ReadSweepFile(context, file_, wish, opened));
    SayNotes(context, file);
    NF_ASSIGN_OR_RETURN(Connection connection, OpenUnless(context, wish, std::move(opened)));
    NF_ASSIGN_OR_RETURN(const v1::SubmitSweepResponse answer,
                        SubmitSweep(context, connection, file, resume_, sharing_));
    if (context.Json()) {
      PrintJson(context.out, {{"sweep", noisefloor::ToText(SweepId{answer.sweep_id()})},
                              {"members", answer.members()},
                              {"resumed", answer.resumed()},
                              {"hardware", std::vector<std::string>(answer.hardware().begin(),
                                                                    answer.hardware().end())}});
    } else {
      context.out << (answer.resumed() ? "there already: s" : "submitted s") << answer.sweep_id()
                  << ": " << Counted(answer.members(), "member") << " on " << HardwareText(answer)
                  << "\n";
    }
    if (answer.resumed()) SayWhatStays(context, sharing_, answer.sweep_id());
    if (file.sweep.hardware().kind() == v1::HardwareChoice::KIND_ALL) {
      context.err << "hardware: all is these classes from now on; one that connects later is not "
                     "in it\n";
    }
    if (connection.remote()) return SayWhoTrains(context, connection, answer);
    context.err << "nothing runs it here: " << context.Hint("run " + file_) << " or "
                << context.Hint("serve") << " does\n";
    return kDone;
  }

 private:
  static absl::StatusOr<int> SayWhoTrains(Context& context, Connection& connection,
                                          const v1::SubmitSweepResponse& submitted) {
    NF_ASSIGN_OR_RETURN(const std::string nobody, NobodyTrains(context, connection));
    if (!nobody.empty()) {
      context.err << nobody << "\n";
      return kDone;
    }
    NF_ASSIGN_OR_RETURN(const std::vector<std::string> offered, ConnectedClasses(connection));
    for (const std::string& hardware : submitted.hardware()) {
      if (hardware.empty() || std::ranges::find(offered, hardware) != offered.end()) continue;
      context.err << fmt::format(
          "no connected worker offers {}: its members will wait; they offer {}\n", hardware,
          fmt::join(offered, ", "));
    }
    return kDone;
  }

  std::string file_;
  bool resume_ = false;
  SharingOptions sharing_;
};

}  // namespace

std::unique_ptr<Command> MakeSubmit() { return std::make_unique<Submit>(); }

}  // namespace noisefloor::cli

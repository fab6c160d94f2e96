#include <cstdint>
#include <istream>
#include <string>

#include "fmt/format.h"

#include "common/base/ids.h"
#include "common/base/printable.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/output.h"

namespace noisefloor::cli {

namespace {

class Delete final : public Command {
 public:
  std::string_view Name() const override { return "delete"; }
  std::string_view Help() const override {
    return "Remove a sweep that has ended, with all its results, for good";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor delete s3
  noisefloor delete s3 --yes --output=json)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("sweep", sweep_, "the sweep, such as s3")->required()->type_name("ID");
    app.add_flag("--yes", yes_, "do not ask");
  }
  absl::StatusOr<int> Run(Context& context) override {
    NF_ASSIGN_OR_RETURN(const uint64_t sweep, RequiredSweepNumber(sweep_));
    NF_ASSIGN_OR_RETURN(Connection connection,
                        Connection::Open(context, {.home = Connection::Home::kToChange}));
    if (!yes_) {
      NF_ASSIGN_OR_RETURN(const bool wanted, Ask(context, connection, sweep));
      if (!wanted) {
        context.err << "nothing was deleted\n";
        return kRefused;
      }
    }
    v1::DeleteSweepRequest request;
    request.set_sweep_id(sweep);
    NF_ASSIGN_OR_RETURN(const v1::DeleteSweepResponse answer,
                        connection.Call(&Stub::DeleteSweep, request));
    if (context.Json()) {
      PrintJson(context.out,
                {{"sweep", noisefloor::ToText(SweepId{sweep})}, {"members", answer.members()}});
    } else {
      context.out << "s" << sweep << " deleted, with " << Counted(answer.members(), "member")
                  << "\n";
    }
    return kDone;
  }

 private:
  // On a terminal; elsewhere nobody could answer.
  static absl::StatusOr<bool> Ask(Context& context, Connection& connection, uint64_t sweep) {
    if (context.in == nullptr || !context.in_is_terminal) {
      return InvalidInput(fmt::format(
          "nobody is asked where there is no terminal; {} deletes it with all its results",
          context.Hint(fmt::format("delete s{} --yes", sweep))));
    }
    v1::GetSweepRequest request;
    request.set_sweep_id(sweep);
    NF_ASSIGN_OR_RETURN(const v1::GetSweepResponse found,
                        connection.Call(&Stub::GetSweep, request));
    context.err << fmt::format("delete s{} {} with {}, for good? [y/N] ", sweep,
                               PrintableLine(found.sweep().name()), CountsText(found.sweep()));
    context.err.flush();
    std::string answer;
    std::getline(*context.in, answer);
    return answer == "y" || answer == "Y" || answer == "yes";
  }

  std::string sweep_;
  bool yes_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeDelete() { return std::make_unique<Delete>(); }

}  // namespace noisefloor::cli

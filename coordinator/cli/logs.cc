#include "coordinator/cli/artifact.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/output.h"

namespace noisefloor::cli {

namespace {

class Logs final : public Command {
 public:
  std::string_view Name() const override { return "logs"; }
  std::string_view Help() const override { return "Print the log of a member's trainer"; }
  std::string_view Examples() const override {
    return R"(  noisefloor logs s1c2r0
  noisefloor logs s1c2r0 > trainer.log)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("member", member_, "the member, such as s1c2r0")->required()->type_name("ID");
  }
  absl::StatusOr<int> Run(Context& context) override {
    NF_RETURN_IF_ERROR(CheckMember(member_));
    NF_ASSIGN_OR_RETURN(Connection connection, Connection::Open(context, {}));
    std::string text;
    const absl::Status read = GetArtifact(connection, member_, "log", [&](std::string_view piece) {
      if (context.Json())
        text.append(piece);
      else
        PrintData(context, piece);
      return absl::OkStatus();
    });
    NF_RETURN_IF_ERROR(read);
    if (context.Json()) PrintJson(context.out, {{"member", member_}, {"log", text}});
    return kDone;
  }

 private:
  std::string member_;
};

}  // namespace

std::unique_ptr<Command> MakeLogs() { return std::make_unique<Logs>(); }

}  // namespace noisefloor::cli

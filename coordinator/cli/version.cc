#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/output.h"

namespace noisefloor::cli {

namespace {

class Version final : public Command {
 public:
  std::string_view Name() const override { return "version"; }
  std::string_view Help() const override {
    return "Print the version of this program, and of the coordinator when one is named";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor version
  noisefloor version --coordinator=127.0.0.1:7077 --output=json)";
  }
  void Describe(CLI::App& app) override { (void)app; }
  absl::StatusOr<int> Run(Context& context) override {
    Json fields = {{"program", NOISEFLOOR_VERSION}};
    if (!context.options.coordinator.empty()) {
      NF_ASSIGN_OR_RETURN(Connection connection, Connection::Open(context, {}));
      NF_ASSIGN_OR_RETURN(const v1::GetVersionResponse answer,
                          connection.Call(&Stub::GetVersion, v1::GetVersionRequest()));
      fields["coordinator"] = answer.version();
      fields["home"] = answer.home();
    }
    if (context.Json()) {
      PrintJson(context.out, fields);
      return kDone;
    }
    context.out << "noisefloor " << NOISEFLOOR_VERSION << "\n";
    if (fields.contains("coordinator")) {
      context.out << "coordinator " << fields["coordinator"].get<std::string>() << " on "
                  << fields["home"].get<std::string>() << "\n";
    }
    return kDone;
  }
};

}  // namespace

std::unique_ptr<Command> MakeVersion() { return std::make_unique<Version>(); }

}  // namespace noisefloor::cli

#include "common/rpc/settings.h"

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/trainer_protocol/schema_json.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/table.h"

namespace noisefloor::cli {

namespace {

std::string Default(const SettingRule& rule) {
  const std::string text = noisefloor::ToText(rule.otherwise);
  return text.empty() ? "empty" : text;
}

class SettingsCommand final : public Command {
 public:
  std::string_view Name() const override { return "settings"; }
  std::string_view Help() const override {
    return "List the settings that a sweep for a stack may have";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor settings                  # of the stacks that noisefloor ships
  noisefloor settings blobs            # of a trainer that a connected worker brings
  noisefloor settings --output=json)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("stack", stack_, "the stack (default: what noisefloor ships)")
        ->type_name("STACK");
  }
  absl::StatusOr<int> Run(Context& context) override {
    NF_ASSIGN_OR_RETURN(Connection connection,
                        Connection::Open(context, {.home = Connection::Home::kAny}));
    v1::ListSettingsRequest request;
    request.set_stack(stack_);
    NF_ASSIGN_OR_RETURN(const v1::ListSettingsResponse answer,
                        connection.Call(&Stub::ListSettings, request));
    NF_ASSIGN_OR_RETURN(const SettingsSchema schema, SchemaFrom(answer));
    const std::vector<std::string> stacks(answer.stacks().begin(), answer.stacks().end());
    if (context.Json()) {
      PrintJson(context.out, {{"stacks", stacks},
                              {"schema_sha256", answer.schema_sha256()},
                              {"settings", Json::parse(schema.ToJson())}});
      return kDone;
    }
    Table table({"setting", "accepts", "default", "what it is"});
    for (const SettingRule& rule : schema.rules()) {
      table.Add({rule.path, ExpectedOf(rule), Default(rule), rule.help.empty() ? "-" : rule.help});
    }
    if (table.empty()) {
      context.out << "it has no settings\n";
    } else {
      table.Print(context);
    }
    context.out << fmt::format("these are the settings of {}\n", fmt::join(stacks, ", "));
    return kDone;
  }

 private:
  std::string stack_;
};

}  // namespace

std::unique_ptr<Command> MakeSettings() { return std::make_unique<SettingsCommand>(); }

}  // namespace noisefloor::cli

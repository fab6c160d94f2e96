#include "coordinator/cli/application.h"

#include <algorithm>

#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/ascii.h"
#include "fmt/format.h"

#include "common/trainer_protocol/fields.h"
#include "coordinator/cli/choices.h"
#include "coordinator/cli/help.h"

namespace noisefloor::cli {

namespace {

constexpr std::string_view kFooter =
    R"(Without --coordinator a command asks the coordinator that holds the data directory, or opens it
itself; `run` does everything on this machine. `noisefloor COMMAND --help` shows examples.

Exit codes: 0 done, 1 refused, 2 usage, 3 unreachable, 4 finished with failed members,
5 a replay or check did not hold, 130 stopped by Ctrl-C, SIGTERM or a closed terminal.)";

void AddGlobalOptions(CLI::App& app, Context& context) {
  GlobalOptions& options = context.options;
  options.home = context.default_home;
  app.add_option("--coordinator", options.coordinator, "a server to talk to")
      ->type_name("HOST:PORT");
  app.add_option("--home", options.home,
                 "data directory (default: $NOISEFLOOR_HOME, else ./noisefloor-data)")
      ->type_name("DIR");
  app.add_option_function<std::string>(
         "--output",
         [&options](const std::string& form) {
           options.form = form == "json" ? OutputForm::kJson : OutputForm::kTable;
         },
         "table or json")
      ->type_name("FORM")
      ->check(OneOf({"table", "json"}));
  app.add_option("--colour", options.colour, "auto, always or never")
      ->type_name("WHEN")
      ->check(OneOf({"auto", "always", "never"}));
  app.set_version_flag("--version", "noisefloor " NOISEFLOOR_VERSION, "Print the version and exit");
}

// CLI11 lets a flag be repeated; here nothing is.
void RefuseRepeats(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_expected_max() <= 1) {
      option->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    }
  }
}

void AddCommand(CLI::App& app, Command& command, Command*& chosen) {
  CLI::App* sub = app.add_subcommand(std::string(command.Name()), std::string(command.Help()));
  sub->footer("Examples:\n" + std::string(command.Examples()));
  command.Describe(*sub);
  RefuseRepeats(*sub);
  sub->final_callback([&chosen, &command] { chosen = &command; });
}

int Report(const absl::StatusOr<int>& result, std::string_view command, Context& context) {
  context.out.flush();
  if (result.ok()) return *result;
  context.err << "noisefloor " << command << ": " << Message(result.status()) << "\n";
  return ExitCodeOf(result.status());
}

int ReportUsage(const CLI::App& app, std::string_view message, Context& context) {
  if (message.ends_with("\n")) message.remove_suffix(1);
  context.err << "noisefloor: " << message << "\nSee `" << HelpCommand(app) << "`.\n";
  return kUsage;
}

// As a shell reads it back: quoted when it holds anything but the usual characters of a path.
std::string ShellWord(const std::string& text) {
  const bool plain = std::ranges::all_of(text, [](unsigned char c) {
    return absl::ascii_isalnum(c) || std::string_view("/._-+,~").find(c) != std::string_view::npos;
  });
  return plain ? text : fmt::format("'{}'", text);
}

// "unknown command bogus; did you mean ...?" when the first word names no command; else empty.
std::string WrongCommand(const std::vector<std::string>& arguments,
                         const std::vector<std::unique_ptr<Command>>& commands) {
  if (arguments.empty() || arguments[0].starts_with("-")) return "";
  std::vector<std::string_view> names;
  for (const auto& command : commands) names.push_back(command->Name());
  if (std::ranges::find(names, arguments[0]) != names.end()) return "";
  std::string text = "unknown command " + arguments[0];
  if (const auto nearest = Nearest(arguments[0], names); !nearest.empty()) {
    text.append("; did you mean ").append(nearest).append("?");
  }
  return text;
}

}  // namespace

bool Context::Colour() const {
  if (options.colour == "auto") return out_is_terminal && colours_allowed && !Json();
  return options.colour == "always";
}

std::string Context::Hint(std::string_view command) const {
  std::string text = fmt::format("`{} {}", ShellWord(program), command);
  if (!options.coordinator.empty()) {
    text += " --coordinator=" + options.coordinator;
  } else if (options.home != default_home) {
    text += " --home=" + ShellWord(options.home);
  }
  return text + "`";
}

int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return kDone;
  if (absl::IsCancelled(status)) return kStopped;
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ? kUnreachable : kRefused;
}

int RunApplication(const std::vector<std::string>& arguments, Context& context) {
  CLI::App app("How much of the difference between two training runs is just noise?", "noisefloor");
  app.formatter(std::make_shared<HelpFormatter>());  // shared: CLI11 hands it to every command.
  context.root = &app;
  app.footer(std::string(kFooter));
  app.require_subcommand(1);
  app.fallthrough();
  AddGlobalOptions(app, context);
  RefuseRepeats(app);
  const std::vector<std::unique_ptr<Command>> commands = AllCommands();
  Command* chosen = nullptr;
  for (const auto& command : commands) AddCommand(app, *command, chosen);
  if (const std::string wrong = WrongCommand(arguments, commands); !wrong.empty()) {
    return ReportUsage(app, wrong, context);
  }
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return ReportUsage(app, error.what(), context);
    return app.exit(error, context.out, context.err);  // Help or the version was asked for.
  }
  if (const std::string wrong = WrongChoice(app); !wrong.empty()) {
    return ReportUsage(app, wrong, context);
  }
  if (chosen == nullptr) return kUsage;
  if (context.options.home.empty()) {
    return ReportUsage(app, "--home: expected a directory, got nothing", context);
  }
  return Report(chosen->Run(context), chosen->Name(), context);
}

}  // namespace noisefloor::cli

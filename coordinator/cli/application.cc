#include "coordinator/cli/application.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "fmt/format.h"

#include "common/base/nearest.h"
#include "common/base/printable.h"
#include "common/base/utf8.h"
#include "common/files/directory.h"
#include "common/options/wrong_argument.h"
#include "common/rpc/address.h"
#include "coordinator/cli/choices.h"
#include "coordinator/cli/help.h"
#include "coordinator/cli/output_file.h"
#include "coordinator/cli/terminal_text.h"

namespace noisefloor::cli {

namespace {

constexpr std::string_view kFooter =
    R"(A command asks the first of these that says which coordinator: --coordinator, --home,
$NOISEFLOOR_COORDINATOR, the access file in $NOISEFLOOR_ACCESS, $NOISEFLOOR_HOME, ./noisefloor-data,
the access file in ~/.config/noisefloor/access. Of a data directory it asks the coordinator that
holds it, or opens it itself; `run` does everything on this machine. `noisefloor help COMMAND`
shows examples.

Exit codes: 0 done, 1 refused, 2 usage, 3 unreachable, 4 ended with failed or cancelled members,
5 a replay, check or comparison did not hold, 6 a comparison was not decided, 130 stopped by
Ctrl-C, SIGTERM or a closed terminal, 141 whoever read the output has gone, as `| head` does. 0
also says that the output is whole.)";

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

int Run(Command& command, Context& context) {
  const TerminalGuard guard(context.out, context.Json() ? EscapeStyle::kJson : EscapeStyle::kText);
  const absl::StatusOr<int> result = command.Run(context);
  if (result.ok()) return *result;
  context.out.flush();  // Before what explains why there is no more.
  context.err << "noisefloor " << command.Name() << ": " << Message(result.status()) << "\n";
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
  return plain ? text : fmt::format("'{}'", absl::StrReplaceAll(text, {{"'", "'\\''"}}));
}

// Short words are a slip or two away from many others.
bool LooksLike(std::string_view word, std::string_view nearest) {
  if (word.empty() || nearest.empty()) return false;
  return word[0] == nearest[0] || nearest.ends_with(word) || word.ends_with(nearest);
}

// "expected a command, one of get, list or verify" where none was given.
std::string MissingCommand(const CLI::App& root) {
  const CLI::App* app = &root;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().back();
  if (app == &root) return "expected a command, such as run, plan or report";
  std::vector<std::string> names;
  for (const CLI::App* sub : app->get_subcommands(nullptr)) names.push_back(sub->get_name());
  return fmt::format("{}: expected {}", app->get_name(), JoinChoices(names));
}

std::string Complaint(const CLI::App& app, const CLI::ParseError& error) {
  const std::string wrong = UsageMessage(app, error);
  return wrong.starts_with("A subcommand") ? MissingCommand(app) : wrong;
}

// "unknown command bogus; did you mean ...?" when the first word names no command; else empty.
std::string WrongCommand(const std::vector<std::string>& arguments,
                         const std::vector<std::unique_ptr<Command>>& commands) {
  if (arguments.empty() || arguments[0].starts_with("-")) return "";
  std::vector<std::string_view> names;
  for (const auto& command : commands) names.push_back(command->Name());
  if (std::ranges::find(names, arguments[0]) != names.end()) return "";
  std::string text = "unknown command " + arguments[0];
  if (const auto nearest = Nearest(arguments[0], names); LooksLike(arguments[0], nearest)) {
    text.append("; did you mean ").append(nearest).append("?");
  }
  return text;
}

}  // namespace

bool Context::Colour() const {
  if (options.colour == "auto") return OutRedraws() && colours_allowed && !Json();
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

std::string Context::WorkerHint(const std::string& address) const {
  if (address.empty()) return fmt::format("`{}-worker`", ShellWord(program));
  return fmt::format("`{}-worker --coordinator={}`", ShellWord(program), address);
}

int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return kDone;
  if (absl::IsCancelled(status)) return kStopped;
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ? kUnreachable : kRefused;
}

namespace {

// What is told to a coordinator is UTF-8; a path may have any bytes. "" = nothing is wrong.
std::string NotUtf8(const std::vector<std::string>& arguments) {
  constexpr std::array<std::string_view, 12> kTexts = {
      "--notes", "--tag",      "--untag", "--plan", "--cell",  "--class",
      "--stack", "--hardware", "--name",  "--unit", "--token", "--axis"};
  std::string_view before;
  for (const std::string& argument : arguments) {
    const std::string_view option = std::string_view(argument).substr(0, argument.find('='));
    const bool is_value = before.starts_with("--") && before.find('=') == std::string_view::npos;
    const std::string_view of = argument.starts_with("--") ? option : is_value ? before : "";
    const bool is_path = of.empty()
                             ? argument.find('/') != std::string::npos || PathExists(argument)
                             : std::ranges::find(kTexts, of) == kTexts.end();
    if (!IsUtf8(argument) && !is_path) return Printable(argument) + ": expected UTF-8";
    before = argument;
  }
  return "";
}

int ParseAndRun(const std::vector<std::string>& typed, Context& context) {
  const std::vector<std::string> arguments = WithEmptyValues(typed);
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
  if (const std::string wrong = NotUtf8(arguments); !wrong.empty()) {
    return ReportUsage(app, wrong, context);
  }
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return ReportUsage(app, Complaint(app, error), context);
    return app.exit(error, context.out, context.err);  // Help or the version was asked for.
  }
  for (const auto& wrong_in : {WrongChoice, EmptyValue}) {
    const std::string wrong = wrong_in(app);
    if (!wrong.empty()) return ReportUsage(app, wrong, context);
  }
  if (chosen == nullptr) return kUsage;
  if (context.options.home.empty()) {
    return ReportUsage(app, "--home: expected a directory, got nothing", context);
  }
  context.options.home_given = app.count("--home") > 0;
  if (const std::string& address = context.options.coordinator; !address.empty()) {
    const absl::Status wrong = ParseAddress(address).status();
    if (!wrong.ok()) return ReportUsage(app, "--coordinator: " + Message(wrong), context);
  }
  return Run(*chosen, context);
}

// Exit 0 says that the output is whole.
int CheckOutput(int code, Context& context) {
  context.out.flush();
  absl::Status written;
  if (context.out_file != nullptr) written = context.out_file->Finish();
  if (written.ok() && !context.out.good()) {
    written = MakeError(absl::StatusCode::kUnavailable, "standard output: cannot write");
  }
  if (written.ok()) return code;
  const bool had_enough = context.out_file != nullptr && context.out_file->ReaderLeft();
  if (had_enough) return code == kDone ? kReaderLeft : code;
  context.err << "noisefloor: " << Message(written) << "; what was printed is not whole\n";
  return code == kDone ? kRefused : code;
}

}  // namespace

int RunApplication(const std::vector<std::string>& arguments, Context& context) {
  const TerminalGuard guard(context.err, EscapeStyle::kText);
  if (arguments.empty() || arguments[0] != "help") {
    return CheckOutput(ParseAndRun(arguments, context), context);
  }
  std::vector<std::string> asked(arguments.begin() + 1, arguments.end());  // help data get
  asked.emplace_back("--help");
  return CheckOutput(ParseAndRun(asked, context), context);
}

}  // namespace noisefloor::cli

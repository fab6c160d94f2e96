// The one command that people type. Wiring only.
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "common/log/log.h"
#include "coordinator/cli/application.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/output_file.h"

namespace {

std::string Variable(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

// Empty when the system does not know.
std::string UserName() {
  const passwd* entry = getpwuid(geteuid());
  return entry == nullptr ? "" : entry->pw_name;
}

std::string ProgramFolder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

// How people call it, for hints: what a package starts it by knows, whose path is not our own.
std::string Called(const char* program) {
  std::string called = Variable("NOISEFLOOR_CALLED", program);
  unsetenv("NOISEFLOOR_CALLED");
  return called;
}

}  // namespace

int main(int argc, char** argv) {
  noisefloor::cli::HoldStandardStreams();
  setenv("GRPC_VERBOSITY", "NONE", 0);  // Our messages say what went wrong.
  signal(SIGPIPE, SIG_IGN);  // A reader that has gone is an error of writing, not our end.
  // Commands speak for themselves; `serve` turns this up.
  noisefloor::SetUpLog({.program = "noisefloor", .level = noisefloor::LogLevel::kWarning});
  const noisefloor::SystemClock clock;
  noisefloor::cli::OutputFile out_file(STDOUT_FILENO);
  std::ostream out(&out_file);
  const std::string terminal = Variable("TERM", "dumb");
  noisefloor::cli::Context context{
      .out = out,
      .err = std::cerr,
      .clock = clock,
      .start_coordinator = noisefloor::Coordinator::Start,
      .program = Called(argv[0]),
      .program_folder = ProgramFolder(),
      .out_file = &out_file,
      .out_is_terminal = isatty(STDOUT_FILENO) == 1,
      .err_is_terminal = isatty(STDERR_FILENO) == 1,
      .terminal_is_dumb = terminal == "dumb",
      .out_columns = noisefloor::cli::TerminalColumns(STDOUT_FILENO),
      .colours_allowed = Variable("NO_COLOR", "").empty(),
      .default_home = Variable("NOISEFLOOR_HOME", "noisefloor-data"),
      .home_is_set = !Variable("NOISEFLOOR_HOME", "").empty(),
      .default_coordinator = Variable("NOISEFLOOR_COORDINATOR", ""),
      .access_places = noisefloor::AccessPlacesOfThisProcess(),
      .user = UserName(),
      .default_data_root = Variable("NOISEFLOOR_DATA", ""),
      .default_cache = Variable("NOISEFLOOR_CACHE", ""),
      .in = &std::cin,
      .in_is_terminal = isatty(STDIN_FILENO) == 1,
  };
  return noisefloor::cli::RunApplication({argv + 1, argv + argc}, context);
}

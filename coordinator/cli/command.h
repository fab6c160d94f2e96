// What every command is and what it may touch. Commands are made once, describe their options to
// the command line, and run on the main thread.
#pragma once

#include <functional>
#include <istream>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "CLI/App.hpp"

#include "common/access/access_file.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "coordinator/coordinator.h"

namespace noisefloor::cli {

// Exit codes, documented in `noisefloor --help`.
enum ExitCode : int {
  kDone = 0,
  kRefused = 1,
  kUsage = 2,
  kUnreachable = 3,
  kFailedMembers =
      4,            // Ended, but some members failed or were cancelled. Diverged ones are results.
  kDidNotHold = 5,  // A replay or check ran to its end, and what was promised did not hold.
  kUndecided = 6,   // A comparison that neither passed nor failed.
  kStopped = 130,   // By Ctrl-C or SIGTERM; as a shell tells it.
  kReaderLeft = 141,  // `| head` had enough: what SIGPIPE would say.
};

enum class OutputForm { kTable, kJson };

struct GlobalOptions {
  std::string coordinator;  // HOST:PORT, as typed; empty: see FindCoordinator.
  std::string home;
  bool home_given = false;  // `home` was typed.
  OutputForm form = OutputForm::kTable;
  std::string colour = "auto";  // "auto", "always", "never"
};

using StartCoordinator =
    std::function<absl::StatusOr<std::unique_ptr<Coordinator>>(CoordinatorOptions)>;

class OutputFile;

// The world outside, as a command sees it. Everything borrowed outlives the commands.
struct Context {
  std::ostream& out;
  std::ostream& err;
  const Clock& clock;
  StartCoordinator start_coordinator;
  std::string program = "noisefloor";  // As it was called, for hints.
  std::string program_folder;          // Where noisefloor-worker and noisefloor-trainer lie.
  OutputFile* out_file = nullptr;      // Behind `out`, where it is a file: asked if all arrived.
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool terminal_is_dumb = false;  // Knows no escapes: TERM=dumb, or none.
  uint32_t out_columns = 0;     // Of the terminal that `out` is; 0: lines are as long as they like.
  bool colours_allowed = true;  // False with NO_COLOR.
  std::string default_home = {};
  bool home_is_set = false;              // By $NOISEFLOOR_HOME.
  std::string default_coordinator = {};  // $NOISEFLOOR_COORDINATOR; may be empty.
  AccessPlaces access_places = {};
  std::string user = {};  // Who runs this program, as it is told to coordinators; may be empty.
  std::string default_data_root = {};  // $NOISEFLOOR_DATA; may be empty.
  std::string default_cache = {};      // $NOISEFLOOR_CACHE; may be empty.
  CLI::App* root = nullptr;            // The whole command tree, for `completion`.
  GlobalOptions options = {};
  std::istream* in = nullptr;  // What a person types; null: nobody does.
  bool in_is_terminal = false;

  bool Json() const { return options.form == OutputForm::kJson; }
  bool Colour() const;
  // Whether progress may redraw its line there; else it prints a new one now and then.
  bool OutRedraws() const { return out_is_terminal && !terminal_is_dumb; }
  bool ErrRedraws() const { return err_is_terminal && !terminal_is_dumb; }
  // `command` as one that works on the same data: "`noisefloor retry s1 --home=/data`".
  std::string Hint(std::string_view command) const;
  // How a worker of the coordinator at `address` is started; empty: by its access file.
  std::string WorkerHint(const std::string& address) const;
};

class Command {
 public:
  virtual ~Command() = default;
  virtual std::string_view Name() const = 0;
  virtual std::string_view Help() const = 0;      // One line.
  virtual std::string_view Examples() const = 0;  // Lines of "  noisefloor ...".
  virtual void Describe(CLI::App& app) = 0;       // Adds its options, bound to its members.
  virtual absl::StatusOr<int> Run(Context& context) = 0;
};

// Every command, in the order of the help.
std::vector<std::unique_ptr<Command>> AllCommands();

}  // namespace noisefloor::cli

// Runs the command line in process and keeps what it prints.
#pragma once

#include <fcntl.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "coordinator/cli/application.h"
#include "coordinator/cli/output_file.h"
#include "tests/coordinator/cli/canned_coordinator.h"

namespace noisefloor::cli {

inline std::string Content(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Printed {
  int code = -1;
  std::string out;
  std::string err;
};

// One home folder per object, with (what passes for) a store in it; removed at the end.
class CommandLine {
 public:
  explicit CommandLine(CannedAnswers answers = {}) : answers_(std::move(answers)) {
    start_ = [this](CoordinatorOptions) -> absl::StatusOr<std::unique_ptr<Coordinator>> {
      return std::make_unique<CannedCoordinator>(answers_);
    };
    MakeHome();
  }
  // With coordinators of another making.
  explicit CommandLine(StartCoordinator start) : start_(std::move(start)) { MakeHome(); }
  ~CommandLine() { std::filesystem::remove_all(home_); }

  const std::string& home() const { return home_; }
  CannedAnswers& answers() { return answers_; }

  // Of the terminal that both outputs are; 0: they are files.
  void SetTerminal(uint32_t columns) { columns_ = columns; }

  // What a person types at that terminal.
  void Type(const std::string& text) { typed_.emplace(text); }

  // What the environment says; empty: nothing.
  void SetAccess(AccessPlaces places) { places_ = std::move(places); }
  void SetCoordinator(std::string address) { coordinator_ = std::move(address); }
  void SetUser(std::string name) { user_ = std::move(name); }
  void SetCache(std::string folder) { cache_ = std::move(folder); }

  Printed Run(const std::vector<std::string>& arguments) {
    std::ostringstream out;
    Printed printed = RunInto(out, nullptr, arguments);
    printed.out = out.str();
    return printed;
  }
  // With a file as the standard output, such as /dev/full.
  Printed RunInto(const std::string& path, const std::vector<std::string>& arguments) {
    OutputFile file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    return RunInto(file, arguments);
  }
  Printed RunInto(OutputFile& file, const std::vector<std::string>& arguments) {
    std::ostream out(&file);
    return RunInto(out, &file, arguments);
  }

 private:
  Printed RunInto(std::ostream& out, OutputFile* file, const std::vector<std::string>& arguments) {
    std::ostringstream err;
    const SystemClock clock;
    Context context{
        .out = out,
        .err = err,
        .clock = clock,
        .start_coordinator = start_,
        .program_folder = home_,
        .out_file = file,
        .out_is_terminal = columns_ > 0,
        .err_is_terminal = columns_ > 0,
        .out_columns = columns_,
        .default_home = home_,
        .default_coordinator = coordinator_,
        .access_places = places_,
        .user = user_,
        .default_data_root = home_ + "/data",
        .default_cache = cache_,
        .in = typed_ ? &*typed_ : nullptr,
        .in_is_terminal = typed_.has_value(),
    };
    Printed printed;
    printed.code = RunApplication(arguments, context);
    printed.err = err.str();
    return printed;
  }

  void MakeHome() {
    std::string path = ::testing::TempDir() + "/cli-XXXXXX";
    home_ = mkdtemp(path.data());
    std::ofstream(home_ + "/noisefloor.db") << "";
  }

  CannedAnswers answers_;
  StartCoordinator start_;
  std::string home_;
  uint32_t columns_ = 0;
  std::optional<std::istringstream> typed_;
  AccessPlaces places_;
  std::string coordinator_;
  std::string user_;
  std::string cache_;
};

}  // namespace noisefloor::cli

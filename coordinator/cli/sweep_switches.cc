// What a person turns on and off of a sweep: `pause` and `resume`, `archive` and `unarchive`.
#include <string>
#include <utility>

#include "fmt/format.h"

#include "coordinator/cli/commands.h"
#include "coordinator/cli/sharing.h"

namespace noisefloor::cli {

namespace {

class SweepSwitch final : public Command {
 public:
  // What the command asks to be otherwise.
  using Change = void (*)(v1::UpdateSweepRequest&);

  SweepSwitch(std::string_view name, std::string_view help, Change change)
      : name_(name),
        help_(help),
        examples_(fmt::format("  noisefloor {0} s3\n"
                              "  noisefloor {0} s3 --coordinator=127.0.0.1:7077 --output=json",
                              name)),
        change_(change) {}
  std::string_view Name() const override { return name_; }
  std::string_view Help() const override { return help_; }
  std::string_view Examples() const override { return examples_; }
  void Describe(CLI::App& app) override {
    app.add_option("sweep", sweep_, "the sweep, such as s3")->required()->type_name("ID");
  }
  absl::StatusOr<int> Run(Context& context) override {
    v1::UpdateSweepRequest request;
    change_(request);
    return ChangeSweep(context, sweep_, std::move(request));
  }

 private:
  const std::string_view name_;
  const std::string_view help_;
  const std::string examples_;
  const Change change_;
  std::string sweep_;
};

}  // namespace

std::unique_ptr<Command> MakePause() {
  return std::make_unique<SweepSwitch>(
      "pause", "Lease no more members of a sweep; running ones finish",
      [](v1::UpdateSweepRequest& request) { request.set_paused(true); });
}

std::unique_ptr<Command> MakeResume() {
  return std::make_unique<SweepSwitch>(
      "resume", "Let a paused sweep go on",
      [](v1::UpdateSweepRequest& request) { request.set_paused(false); });
}

std::unique_ptr<Command> MakeArchive() {
  return std::make_unique<SweepSwitch>(
      "archive", "Leave a sweep that has ended out of lists",
      [](v1::UpdateSweepRequest& request) { request.set_archived(true); });
}

std::unique_ptr<Command> MakeUnarchive() {
  return std::make_unique<SweepSwitch>(
      "unarchive", "Show an archived sweep in lists again",
      [](v1::UpdateSweepRequest& request) { request.set_archived(false); });
}

}  // namespace noisefloor::cli

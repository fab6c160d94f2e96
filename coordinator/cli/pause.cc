#include "coordinator/cli/commands.h"
#include "coordinator/cli/sharing.h"

namespace noisefloor::cli {

namespace {

class Pause final : public Command {
 public:
  std::string_view Name() const override { return "pause"; }
  std::string_view Help() const override {
    return "Lease no more members of a sweep; running ones finish";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor pause s3
  noisefloor pause s3 --coordinator=127.0.0.1:7077 --output=json)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("sweep", sweep_, "the sweep, such as s3")->required()->type_name("ID");
  }
  absl::StatusOr<int> Run(Context& context) override {
    v1::UpdateSweepRequest change;
    change.set_paused(true);
    return ChangeSweep(context, sweep_, std::move(change));
  }

 private:
  std::string sweep_;
};

}  // namespace

std::unique_ptr<Command> MakePause() { return std::make_unique<Pause>(); }

}  // namespace noisefloor::cli

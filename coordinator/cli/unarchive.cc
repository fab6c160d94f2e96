#include "coordinator/cli/commands.h"
#include "coordinator/cli/sharing.h"

namespace noisefloor::cli {

namespace {

class Unarchive final : public Command {
 public:
  std::string_view Name() const override { return "unarchive"; }
  std::string_view Help() const override { return "Show an archived sweep in lists again"; }
  std::string_view Examples() const override {
    return R"(  noisefloor unarchive s3
  noisefloor unarchive s3 --coordinator=127.0.0.1:7077 --output=json)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("sweep", sweep_, "the sweep, such as s3")->required()->type_name("ID");
  }
  absl::StatusOr<int> Run(Context& context) override {
    v1::UpdateSweepRequest change;
    change.set_archived(false);
    return ChangeSweep(context, sweep_, std::move(change));
  }

 private:
  std::string sweep_;
};

}  // namespace

std::unique_ptr<Command> MakeUnarchive() { return std::make_unique<Unarchive>(); }

}  // namespace noisefloor::cli

#include "coordinator/cli/commands.h"
#include "coordinator/cli/sharing.h"

namespace noisefloor::cli {

namespace {

class Archive final : public Command {
 public:
  std::string_view Name() const override { return "archive"; }
  std::string_view Help() const override { return "Leave a sweep that has ended out of lists"; }
  std::string_view Examples() const override {
    return R"(  noisefloor archive s3
  noisefloor archive s3 --coordinator=127.0.0.1:7077 --output=json)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("sweep", sweep_, "the sweep, such as s3")->required()->type_name("ID");
  }
  absl::StatusOr<int> Run(Context& context) override {
    v1::UpdateSweepRequest change;
    change.set_archived(true);
    return ChangeSweep(context, sweep_, std::move(change));
  }

 private:
  std::string sweep_;
};

}  // namespace

std::unique_ptr<Command> MakeArchive() { return std::make_unique<Archive>(); }

}  // namespace noisefloor::cli

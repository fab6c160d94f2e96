#include "coordinator/cli/commands.h"
#include "coordinator/cli/worker_use.h"

namespace noisefloor::cli {

namespace {

class Quarantine final : public Command {
 public:
  std::string_view Name() const override { return "quarantine"; }
  std::string_view Help() const override {
    return "Take a worker, or one of its devices, out of use";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor quarantine node7
  noisefloor quarantine node7 --unit=GPU-8a3f)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("worker", worker_, "its name")->required()->type_name("NAME");
    app.add_option("--unit", unit_, "a device of it, as `workers` names it; without it: all")
        ->type_name("UNIT");
  }
  absl::StatusOr<int> Run(Context& context) override {
    v1::UpdateWorkerRequest change;
    change.set_worker(worker_);
    change.set_unit(unit_);
    change.set_quarantined(true);
    return ChangeWorker(context, change);
  }

 private:
  std::string worker_;
  std::string unit_;
};

}  // namespace

std::unique_ptr<Command> MakeQuarantine() { return std::make_unique<Quarantine>(); }

}  // namespace noisefloor::cli

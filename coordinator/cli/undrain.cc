#include "coordinator/cli/commands.h"
#include "coordinator/cli/worker_use.h"

namespace noisefloor::cli {

namespace {

class Undrain final : public Command {
 public:
  std::string_view Name() const override { return "undrain"; }
  std::string_view Help() const override { return "Give a drained worker members again"; }
  std::string_view Examples() const override {
    return R"(  noisefloor undrain node7
  noisefloor undrain node7 --coordinator=127.0.0.1:7077)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("worker", worker_, "its name")->required()->type_name("NAME");
  }
  absl::StatusOr<int> Run(Context& context) override {
    v1::UpdateWorkerRequest change;
    change.set_worker(worker_);
    change.set_draining(false);
    return ChangeWorker(context, change);
  }

 private:
  std::string worker_;
};

}  // namespace

std::unique_ptr<Command> MakeUndrain() { return std::make_unique<Undrain>(); }

}  // namespace noisefloor::cli

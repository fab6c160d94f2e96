#include "coordinator/cli/commands.h"
#include "coordinator/cli/worker_use.h"

namespace noisefloor::cli {

namespace {

class Drain final : public Command {
 public:
  std::string_view Name() const override { return "drain"; }
  std::string_view Help() const override {
    return "Give a worker no more members; it finishes what it has";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor drain node7
  noisefloor drain node7 --coordinator=127.0.0.1:7077)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("worker", worker_, "its name")->required()->type_name("NAME");
  }
  absl::StatusOr<int> Run(Context& context) override {
    v1::UpdateWorkerRequest change;
    change.set_worker(worker_);
    change.set_draining(true);
    return ChangeWorker(context, change);
  }

 private:
  std::string worker_;
};

}  // namespace

std::unique_ptr<Command> MakeDrain() { return std::make_unique<Drain>(); }

}  // namespace noisefloor::cli

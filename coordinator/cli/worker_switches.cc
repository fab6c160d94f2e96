// What a person takes out of use and back into it: `drain` and `undrain`, `quarantine` and
// `release`.
#include <string>

#include "fmt/format.h"

#include "common/base/printable.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/output.h"

namespace noisefloor::cli {

namespace {

Json SwitchesJson(const v1::WorkerSummary& worker) {
  Json json = {{"name", worker.name()},
               {"connected", worker.connected()},
               {"draining", worker.draining()},
               {"running", worker.running_size()},
               {"paused", Json::array()}};
  for (const v1::PausedUnit& paused : worker.paused()) {
    json["paused"].push_back({{"unit", paused.unit()}, {"reason", paused.reason()}});
  }
  return json;
}

// Changes the worker as `change` says, and prints how it is then.
absl::StatusOr<int> ChangeWorker(Context& context, const v1::UpdateWorkerRequest& change) {
  NF_ASSIGN_OR_RETURN(Connection connection,
                      Connection::Open(context, {.home = Connection::Home::kToChange}));
  NF_ASSIGN_OR_RETURN(const v1::UpdateWorkerResponse answer,
                      connection.Call(&Stub::UpdateWorker, change));
  const v1::WorkerSummary& worker = answer.worker();
  if (context.Json()) {
    PrintJson(context.out, {{"worker", SwitchesJson(worker)}});
    return kDone;
  }
  const std::string name = PrintableLine(change.worker());
  const int running = worker.running_size();
  if (worker.draining()) {
    context.out << name << " gets no more members; it "
                << (running == 0 ? "has none" : "finishes " + Counted(running, "member")) << "\n";
  } else if (worker.paused().empty()) {
    context.out << name << " is open\n";
  }
  for (const v1::PausedUnit& paused : worker.paused()) {
    context.out << name << ": " << PrintableLine(paused.unit()) << " is "
                << PrintableLine(paused.reason()) << "\n";
  }
  return kDone;
}

class WorkerSwitch : public Command {
 public:
  // What the command asks to be otherwise.
  using Change = void (*)(v1::UpdateWorkerRequest&);

  WorkerSwitch(std::string_view name, std::string_view help, std::string_view more, Change change)
      : name_(name),
        help_(help),
        examples_(fmt::format("  noisefloor {0} node7\n  noisefloor {0} node7 {1}", name, more)),
        change_(change) {}
  std::string_view Name() const override { return name_; }
  std::string_view Help() const override { return help_; }
  std::string_view Examples() const override { return examples_; }
  void Describe(CLI::App& app) override {
    app.add_option("worker", worker_, "its name")->required()->type_name("NAME");
  }
  absl::StatusOr<int> Run(Context& context) override {
    v1::UpdateWorkerRequest request;
    request.set_worker(worker_);
    request.set_unit(unit_);
    change_(request);
    return ChangeWorker(context, request);
  }

 protected:
  std::string unit_;

 private:
  const std::string_view name_;
  const std::string_view help_;
  const std::string examples_;
  const Change change_;
  std::string worker_;
};

// Of a worker or one of its devices.
class UnitSwitch final : public WorkerSwitch {
 public:
  UnitSwitch(std::string_view name, std::string_view help, Change change)
      : WorkerSwitch(name, help, "--unit=GPU-8a3f", change) {}
  void Describe(CLI::App& app) override {
    WorkerSwitch::Describe(app);
    app.add_option("--unit", unit_,
                   "a device of it: its name in `workers`, or how that begins; without it: all")
        ->type_name("UNIT");
  }
};

constexpr std::string_view kElsewhere = "--coordinator=127.0.0.1:7077";

}  // namespace

std::unique_ptr<Command> MakeDrain() {
  return std::make_unique<WorkerSwitch>(
      "drain", "Give a worker no more members; it finishes what it has", kElsewhere,
      [](v1::UpdateWorkerRequest& request) { request.set_draining(true); });
}

std::unique_ptr<Command> MakeUndrain() {
  return std::make_unique<WorkerSwitch>(
      "undrain", "Give a drained worker members again", kElsewhere,
      [](v1::UpdateWorkerRequest& request) { request.set_draining(false); });
}

std::unique_ptr<Command> MakeQuarantine() {
  return std::make_unique<UnitSwitch>(
      "quarantine", "Take a worker, or one of its devices, out of use",
      [](v1::UpdateWorkerRequest& request) { request.set_quarantined(true); });
}

std::unique_ptr<Command> MakeRelease() {
  return std::make_unique<UnitSwitch>(
      "release", "Take a worker or device back into use, its failures forgotten",
      [](v1::UpdateWorkerRequest& request) { request.set_quarantined(false); });
}

}  // namespace noisefloor::cli

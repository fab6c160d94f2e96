#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/table.h"

namespace noisefloor::cli {

namespace {

using Names = google::protobuf::RepeatedPtrField<std::string>;

std::string Joined(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text.empty() ? "-" : text;
}

std::string State(const v1::WorkerSummary& worker) {
  if (!worker.connected()) return "away";
  return worker.draining() ? "draining" : "connected";
}

Json List(const Names& names) { return std::vector<std::string>(names.begin(), names.end()); }

Json ToJson(const v1::WorkerSummary& worker) {
  return {{"id", std::to_string(worker.id())},
          {"name", worker.name()},
          {"connected", worker.connected()},
          {"draining", worker.draining()},
          {"slots", worker.slots()},
          {"running", List(worker.running())},
          {"classes", List(worker.classes())},
          {"stacks", List(worker.stacks())},
          {"unit", worker.unit()},
          {"seen_unix_seconds", worker.seen_unix_seconds()}};
}

class Workers final : public Command {
 public:
  std::string_view Name() const override { return "workers"; }
  std::string_view Help() const override { return "List workers, connected or not"; }
  std::string_view Examples() const override {
    return R"(  noisefloor workers --coordinator=127.0.0.1:7077
  noisefloor workers --output=json)";
  }
  void Describe(CLI::App& app) override { (void)app; }
  absl::StatusOr<int> Run(Context& context) override {
    NF_ASSIGN_OR_RETURN(Connection connection, Connection::Open(context, {}));
    NF_ASSIGN_OR_RETURN(const v1::ListWorkersResponse answer,
                        connection.Call(&Stub::ListWorkers, v1::ListWorkersRequest()));
    WarnOfStorage(context, answer.storage_problem());
    if (context.Json()) {
      Json workers = Json::array();
      for (const v1::WorkerSummary& worker : answer.workers()) workers.push_back(ToJson(worker));
      PrintJson(context.out, {{"workers", workers}});
      return kDone;
    }
    Table table(
        {"worker", "state", "slots", "running", "classes", "stacks", "unit", "connected (UTC)"});
    for (const v1::WorkerSummary& worker : answer.workers()) {
      table.Add({worker.name(), State(worker), std::to_string(worker.slots()),
                 Joined(worker.running()), Joined(worker.classes()), Joined(worker.stacks()),
                 worker.unit(), TimeText(worker.seen_unix_seconds())});
    }
    if (table.empty())
      context.out << "no worker has registered\n";
    else
      table.Print(context);
    return kDone;
  }
};

}  // namespace

std::unique_ptr<Command> MakeWorkers() { return std::make_unique<Workers>(); }

}  // namespace noisefloor::cli

#include "coordinator/cli/worker_use.h"

#include "common/base/printable.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/output.h"

namespace noisefloor::cli {

namespace {

Json ToJson(const v1::WorkerSummary& worker) {
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

}  // namespace

absl::StatusOr<int> ChangeWorker(Context& context, const v1::UpdateWorkerRequest& change) {
  NF_ASSIGN_OR_RETURN(Connection connection,
                      Connection::Open(context, {.home = Connection::Home::kToChange}));
  NF_ASSIGN_OR_RETURN(const v1::UpdateWorkerResponse answer,
                      connection.Call(&Stub::UpdateWorker, change));
  const v1::WorkerSummary& worker = answer.worker();
  if (context.Json()) {
    PrintJson(context.out, {{"worker", ToJson(worker)}});
    return kDone;
  }
  const std::string name = PrintableLine(change.worker());
  const int running = worker.running_size();
  if (worker.draining()) {
    context.out << name << " gets no more members; it "
                << (running == 0 ? "has none" : "finishes " + Counted(running, "member")) << "\n";
  } else {
    context.out << name << " is open\n";
  }
  for (const v1::PausedUnit& paused : worker.paused()) {
    context.out << name << ": " << PrintableLine(paused.unit()) << " is "
                << PrintableLine(paused.reason()) << "\n";
  }
  return kDone;
}

}  // namespace noisefloor::cli

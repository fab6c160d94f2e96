#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/offers.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/table.h"

namespace noisefloor::cli {

namespace {

std::string State(const v1::WorkerSummary& worker) {
  if (!worker.connected()) return worker.draining() ? "away, drained" : "away";
  return worker.draining() ? "draining" : "connected";
}

std::vector<std::string> Texts(const google::protobuf::RepeatedPtrField<std::string>& list) {
  return {list.begin(), list.end()};
}

Json InventoryJson(const v1::Inventory& inventory) {
  Json json = {{"devices", Json::array()}, {"slots", Json::array()}, {"withheld", Json::array()}};
  for (const v1::Device& device : inventory.devices()) {
    json["devices"].push_back({{"unit", device.unit()},
                               {"model", device.model()},
                               {"memory_bytes", device.memory_bytes()},
                               {"driver", device.driver()},
                               {"note", device.note()},
                               {"hardware_classes", Texts(device.hardware_classes())},
                               {"architectures", Texts(device.architectures())}});
  }
  for (const v1::Slot& slot : inventory.slots()) {
    Json& added = json["slots"].emplace_back();
    added = {{"devices", Json::array()}, {"cores", slot.cores()}, {"offers", Json::array()}};
    for (const uint32_t place : slot.devices()) {
      added["devices"].push_back(inventory.devices(static_cast<int>(place)).unit());
    }
    for (const uint32_t place : slot.offers()) {
      const v1::Offer& offer = inventory.offers(static_cast<int>(place));
      added["offers"].push_back(
          {{"hardware", offer.hardware_class()},
           {"stack", offer.stack()},
           {"fingerprint", offer.fingerprint()},
           {"versions",
            std::map<std::string, std::string>(offer.versions().begin(), offer.versions().end())}});
    }
  }
  for (const v1::Withheld& withheld : inventory.withheld()) {
    json["withheld"].push_back({{"what", withheld.what()},
                                {"hardware", withheld.hardware_class()},
                                {"stack", withheld.stack()},
                                {"reason", withheld.reason()}});
  }
  return json;
}

Json ToJson(const v1::WorkerSummary& worker) {
  Json json = {{"id", std::to_string(worker.id())},
               {"name", worker.name()},
               {"version", worker.version()},
               {"connected", worker.connected()},
               {"draining", worker.draining()},
               {"running", Texts(worker.running())},
               {"classes", ClassesOf(worker.inventory())},
               {"stacks", StacksOf(worker.inventory())},
               {"seen_unix_seconds", worker.seen_unix_seconds()},
               {"paused", Json::array()}};
  json.update(InventoryJson(worker.inventory()));
  for (const v1::PausedUnit& paused : worker.paused()) {
    json["paused"].push_back({{"unit", paused.unit()}, {"reason", paused.reason()}});
  }
  return json;
}

// The first few of a large worker.
std::string Running(const v1::WorkerSummary& worker) {
  constexpr int kMostRunning = 4;
  std::string text;
  for (int i = 0; i < std::min(worker.running_size(), kMostRunning); ++i) {
    text += (i > 0 ? " " : "") + worker.running(i);
  }
  if (worker.running_size() > kMostRunning) {
    text += fmt::format(" and {} more", worker.running_size() - kMostRunning);
  }
  return text.empty() ? "-" : text;
}

// What keeps some of it from training, and what is worth knowing.
void PrintRemarks(Context& context, const v1::WorkerSummary& worker) {
  for (const v1::Withheld& withheld : worker.inventory().withheld()) {
    context.out << fmt::format("{} withholds {}\n", worker.name(), WithheldText(withheld));
  }
  for (const v1::PausedUnit& paused : worker.paused()) {
    context.out << fmt::format("{}: {} is {}\n", worker.name(), paused.unit(), paused.reason());
  }
  for (const v1::Device& device : worker.inventory().devices()) {
    if (device.note().empty()) continue;
    context.out << fmt::format("{}: {} ({}): {}\n", worker.name(), device.unit(), device.model(),
                               device.note());
  }
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
    Table table({"worker", "state", "slots", "running", "stacks", "devices", "seen (UTC)"});
    for (const v1::WorkerSummary& worker : answer.workers()) {
      table.Add({worker.name(), State(worker), OrDash(SlotsText(worker.inventory())),
                 Running(worker),
                 OrDash(fmt::format("{}", fmt::join(StacksOf(worker.inventory()), " "))),
                 OrDash(DevicesText(worker.inventory())),
                 worker.connected() ? "now" : TimeText(worker.seen_unix_seconds())});
    }
    if (table.empty()) {
      context.out << "no worker has registered\n";
    } else {
      table.Print(context);
    }
    for (const v1::WorkerSummary& worker : answer.workers()) PrintRemarks(context, worker);
    return kDone;
  }
};

}  // namespace

std::unique_ptr<Command> MakeWorkers() { return std::make_unique<Workers>(); }

}  // namespace noisefloor::cli

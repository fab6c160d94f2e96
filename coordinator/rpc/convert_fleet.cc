// Workers as the store knows them, as messages.
#include <google/protobuf/util/json_util.h>

#include <utility>

#include "coordinator/rpc/convert_answers.h"

namespace noisefloor {

namespace {

// What convert_worker.cc has written. One that is damaged is left out: its worker's next
// registration mends it.
void SetInventory(const std::string& json, v1::WorkerSummary& worker) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;  // Of a newer coordinator.
  const auto status =
      google::protobuf::util::JsonStringToMessage(json, worker.mutable_inventory(), options);
  if (!status.ok()) worker.clear_inventory();
}

}  // namespace

v1::ListWorkersResponse ToProto(std::vector<query::WorkerRow> workers, Texts& texts) {
  v1::ListWorkersResponse out;
  for (query::WorkerRow& row : workers) {
    v1::WorkerSummary& worker = *out.add_workers();
    worker.set_id(row.id.value);
    worker.set_name(texts.Of(std::move(row.name)));
    worker.set_version(texts.Of(std::move(row.version)));
    SetInventory(texts.Of(std::move(row.inventory)), worker);
    worker.set_seen_unix_seconds(row.seen_unix_seconds);
  }
  return out;
}

}  // namespace noisefloor

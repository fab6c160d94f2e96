// A coordinator and workers as real processes in a folder of their own, and a client of it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "common/base/status.h"
#include "noisefloor/v1/coordinator_api.grpc.pb.h"
#include "tests/integration/process.h"

namespace noisefloor::test {

struct FleetSettings {
  std::string folder;   // Exists; home, states and logs go below it.
  std::string program;  // noisefloor
  std::string worker;   // noisefloor-worker
  std::vector<std::string> worker_arguments;
  int workers = 2;
};

// Every call waits for the coordinator to come back, up to a deadline. One thread.
class Fleet {
 public:
  // All are started and registered when OK.
  static absl::StatusOr<Fleet> Start(FleetSettings settings);

  std::string home() const { return settings_.folder + "/home"; }
  std::string StateOf(int worker) const;
  // The end of every log, for the message of a failed test.
  std::string Logs() const;

  // SIGKILL, then the same again: the coordinator on the same port, a worker on the same state.
  absl::Status KillCoordinator();
  absl::Status KillWorker(int worker);
  // SIGKILL to one trainer of that worker; false when it has none at present.
  bool KillTrainer(int worker, std::mt19937_64& random);
  // SIGTERM to all; not OK unless every one exits with 0.
  absl::Status Stop();

  absl::StatusOr<uint64_t> Submit(const v1::Sweep& sweep, const std::string& request_id);
  // One that is connected.
  absl::StatusOr<v1::WorkerSummary> AWorker();
  absl::StatusOr<std::string> Explain(const std::string& member);
  absl::StatusOr<std::vector<v1::Member>> Members(uint64_t sweep);

  // Watches from where the last watch of the sweep ended, over every loss of the connection, until
  // `until` says so or the sweep has ended. Deadline: five minutes.
  absl::Status WatchUntil(uint64_t sweep,
                          const std::function<bool(const v1::SweepSummary&)>& until);
  // What the watches saw.
  const std::vector<std::string>& lines() const { return lines_; }
  const std::vector<v1::Event>& events() const { return events_; }
  uint64_t first_token() const { return first_token_; }

 private:
  using Stub = v1::CoordinatorService::Stub;

  explicit Fleet(FleetSettings settings) : settings_(std::move(settings)) {}
  absl::Status StartCoordinator();
  absl::Status StartWorker(int worker);
  absl::Status WaitForWorkers();
  absl::Status Take(const v1::WatchSweepResponse& news);
  template <typename Request, typename Response>
  absl::StatusOr<Response> Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                             Response*),
                                const Request& request);

  FleetSettings settings_;
  std::string address_ = "127.0.0.1:0";
  std::unique_ptr<Stub> stub_;
  std::optional<Process> coordinator_;
  std::map<int, Process> workers_;
  std::vector<std::string> lines_;
  std::vector<v1::Event> events_;
  uint64_t first_token_ = 0;
  uint64_t token_ = 0;
};

}  // namespace noisefloor::test

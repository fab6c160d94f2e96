// What keeps a sweep from moving, in words with the command that helps. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "common/base/status.h"
#include "coordinator/cli/connection.h"

namespace noisefloor::cli {

// "no worker is connected; `noisefloor-worker --coordinator=127.0.0.1:7077` starts one", or that
// nothing runs where the coordinator is this process alone. Empty: a worker is connected.
absl::StatusOr<std::string> NobodyTrains(const Context& context, Connection& connection);
// The hardware classes of the connected workers, each once.
absl::StatusOr<std::vector<std::string>> ConnectedClasses(Connection& connection);

// Asked now and then while a sweep is followed; says each thing once.
class Standstill {
 public:
  Standstill(const Context& context, Connection& connection, uint64_t sweep)
      : context_(context), connection_(connection), sweep_(sweep) {}

  // A question that gets no answer says nothing: the next one may.
  std::vector<std::string> News(const v1::SweepSummary& sweep, absl::Duration now);

 private:
  struct Pool {  // What members wait for, with the first of them.
    std::string hardware;
    std::string stack;
    std::string member;
  };
  absl::StatusOr<std::vector<Pool>> WaitingPools();
  void LookAtPools(const std::vector<v1::WorkerSummary>& connected, bool stands,
                   std::vector<std::string>& news);

  const Context& context_;
  Connection& connection_;
  const uint64_t sweep_;
  absl::Duration moved_ = -absl::InfiniteDuration();  // When the sweep was last seen to move.
  double progress_ = -1;
  std::string looked_at_;       // The fleet whose offers were compared last.
  std::set<std::string> said_;  // Without their numbers, which change.
};

// The other sweeps of the same coordinator, which the worker of a `run` trains, too.
class OtherSweeps {
 public:
  // Those that have not ended and were not told of yet.
  std::vector<std::string> News(Connection& connection, uint64_t own);

 private:
  std::set<uint64_t> said_;
};
// What is left of them when the `run` ends.
std::vector<std::string> LeftHalfWay(const Context& context, Connection& connection, uint64_t own);

// Why members of a sweep failed, the most frequent cause first: "2 members failed, bad_data:
// train-images: expected 60000 images, got 3 (s1c0r0, s1c0r1)".
absl::StatusOr<std::vector<std::string>> WhyMembersFailed(Connection& connection, uint64_t sweep);

}  // namespace noisefloor::cli

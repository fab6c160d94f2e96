// One life of a coordinator, told as steps: every call that changes something, and a worker that
// trains. What was acknowledged on the way is remembered, and can be held against what is kept.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "noisefloor/v1/worker_api.grpc.pb.h"
#include "tests/crash/served.h"

namespace noisefloor::test {

// A step that failed may be done again, by the same coordinator or by the next one: clients and
// workers here do what ours do. One thread.
class Life {
 public:
  explicit Life(Served& coordinator) : coordinator_(coordinator) {}
  ~Life();

  // The step in which the log of the database reaches its automatic checkpoint.
  static constexpr char kCheckpoint[] = "checkpoint";

  static size_t Steps();
  static std::string NameOf(size_t step);

  // OK when it came through. Else nothing was promised, and a person was told why.
  absl::Status Do(size_t step);

  // Promises that the data directory does not keep, in words.
  std::vector<std::string> Broken() const;

 private:
  using Stream = grpc::ClientReaderWriter<v1::SessionRequest, v1::SessionResponse>;
  enum class Stage : uint8_t { kLeased, kStarted, kRecords, kUploaded, kSettled };
  struct Step;
  struct Work {  // What the worker has, as far as it knows.
    uint64_t lease = 0;
    std::string member;
    uint64_t kept = 0;
    bool settled = false;
  };

  static const std::vector<Step>& All();

  // --- People ---

  absl::Status Submit(const std::string& request, const std::string& hardware, uint32_t replicates);
  absl::Status Cancel(uint64_t sweep);
  absl::Status CancelSecond();
  absl::Status Retry();
  absl::Status Update();
  absl::Status Extend();
  absl::Status Quarantine();
  absl::Status Share();
  absl::Status Delete();
  absl::Status AddToken();
  absl::Status RevokeTokens();
  absl::Status Replay();
  absl::Status PutWeights();
  absl::Status Infer();
  absl::Status FillTheLog();

  // --- The worker ---

  absl::Status Connect();
  absl::Status Drop();
  absl::Status Train(const std::string& member, Stage until);
  absl::Status SendRecords();
  absl::Status Upload();
  absl::Status Finish();
  absl::Status Drain();
  absl::Status Send(const v1::SessionRequest& message);
  // Takes one message; Unavailable when the stream has ended.
  absl::Status TakeOne();
  void Take(const v1::StartMember& start);
  // Of one member more than a writer keeps unsynced.
  std::string Content() const;

  Served& coordinator_;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<Stream> stream_;
  bool welcome_ = false;
  std::optional<Work> work_;

  // What was promised.
  std::map<std::string, uint64_t> sweeps_;  // By request.
  std::map<uint64_t, uint64_t> kept_;       // Batches of records, by lease.
  std::set<std::string> settled_;           // Members,
  std::set<std::string> uploaded_;          // contents.
  std::map<uint64_t, std::string> leases_;  // Every one that was seen, and its member.
  std::vector<std::string> broken_;         // Seen on the way.
  std::string second_sweep_;                // State of its member; empty: not known.
  bool updated_ = false;                    // That sweep.
  bool extended_ = false;                   // Likewise.
  bool quarantined_ = false;                // The worker's device.
  bool shared_ = false;                     // A weight was given.
  uint64_t to_delete_ = 0;                  // The third sweep, once it has ended.
  bool deleted_ = false;                    // Likewise.
  uint64_t token_ = 0;                      // Number of one that opens; 0: not known.
  bool revoked_ = false;                    // That one, and all of its identity.
  std::string notes_;                       // Of that sweep; empty: not known.
  int filled_ = 0;                          // Updates of FillTheLog that came through.
};

}  // namespace noisefloor::test

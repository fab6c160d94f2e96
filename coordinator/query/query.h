// What the coordinator can say: lists, members, plans, studies, files. Reading never waits for
// deciding: connections and threads here are query's own, and none of them can write.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/base/inventory.h"
#include "common/base/status.h"
#include "coordinator/sweep/sweep.h"
#include "noisefloor/v1/coordinator_api.pb.h"

namespace noisefloor::query {

// How far a running attempt is, as its worker last said.
struct Progress {
  int64_t step = 0;
  int64_t step_count = 0;  // 0 when not known yet.
};

// What the loop knows of a sweep, so that nobody counts its members.
struct SweepProgress {
  uint32_t cells = 0;
  uint32_t waiting = 0;
  uint32_t leased = 0;
  uint32_t done = 0;
  uint32_t diverged = 0;
  uint32_t failed = 0;
  uint32_t cancelled = 0;
  uint32_t retries = 0;     // Attempts beyond each member's first.
  double running = 0;       // Sum over running attempts of the share of their steps that is done.
  double mean_seconds = 0;  // Of training, over accepted results; 0: none yet.
  std::string owner;        // From here on how it shares the fleet: see v1::SweepSummary.
  int32_t priority = 0;
  uint32_t weight = 1;
  bool paused = false;
  uint32_t max_failures = 0;
  bool archived = false;
  std::map<std::string, uint32_t> limits = {};
  double members_per_hour = 0;
  uint32_t revision = 0;  // Of its notes, tags and extent.
};

// Where to ask what the store does not know, or not without counting. Both may be called on any
// thread, and both must be there.
struct LiveFacts {
  std::function<std::optional<SweepProgress>(SweepId)> sweep;       // Nothing: no such sweep.
  std::function<std::optional<Progress>(const MemberId&)> attempt;  // Nothing: none runs.
};

// A connected worker, for plans.
struct FleetWorker {
  std::string name;
  std::shared_ptr<const Inventory> inventory;  // shared: see scheduler::WorkerConnected.
};

// One cell of a plan, and who could run it.
struct PlannedCell {
  sweep::Cell cell;
  std::vector<std::string> workers;  // Names.
};

// What one noise plan of a sweep comes to: see v1::PlannedPlan.
struct PlannedPlan {
  std::string name;
  uint32_t replicates = 0;
  uint32_t blocks = 0;
  uint32_t cells = 0;
  uint32_t members = 0;
  uint32_t draws = 0;
  bool control = false;
  double detectable_sd_ratio = 0;
  double detectable_mean_shift = 0;
};

// What a sweep would do: see v1::PlanSweepResponse.
struct Plan {
  std::vector<PlannedCell> cells;
  std::vector<PlannedPlan> plans;
  uint32_t members = 0;
  int64_t steps = 0;
  double expected_seconds = 0;
  std::string expected_from;
  std::vector<std::string> warnings;
};

// A member that has ended, to be trained again.
struct ReplaySource {
  sweep::Sweep sweep;
  sweep::Cell cell;      // With its pins.
  std::string identity;  // Of its data; "" = not known.
};

// What a sweep is now.
struct Definition {
  sweep::Sweep sweep;
  std::string specification_sha256;
};

struct QueryOptions {
  std::string home;              // Data directory that a coordinator has opened.
  std::string version;           // Of noisefloor, for the studies.
  std::string_view page_script;  // Of the report page; they live as long as the program.
  std::string_view page_style;
  LiveFacts live;
  int read_threads = 3;
  size_t waiting_limit = 256;  // Of each kind of work but watches.
  size_t watch_limit = 1000;   // Of watches: no more are open, and each posts one read at a time.
};

// How far one who watches a member has been told; as PlaceOf makes it at first.
struct MemberPlace {
  std::string member;
  LeaseId first;            // Events of earlier leases were told before.
  size_t events = 0;        // Of those from `first` on.
  LeaseId lease;            // Of whose records were told
  int64_t after_step = -1;  // those up to this step,
  uint64_t batch = 0;       // and those up to this place in this batch.
  int64_t item = -1;
  v1::MemberState state = v1::MEMBER_STATE_UNSPECIFIED;  // As told last.
  int64_t step = 0;
};

struct MemberNews {
  v1::WatchMemberResponse response;
  MemberPlace place;   // After it.
  bool more = false;   // There is more to tell at once.
  bool moved = false;  // It says what was not said before.
  bool ended = false;  // The member has ended, and all was told.
};

// A file to send.
struct ArtifactFile {
  std::string path;
  std::string sha256;  // Of what should be there, hexadecimal.
  uint64_t size_bytes = 0;
};

enum class Work : uint8_t {
  kRead,   // Short: lists, members, plans.
  kWatch,  // Events. Apart from the rest, so that many watches neither refuse nor are refused.
  kStudy,  // Long: studies, one at a time.
};

// Thread-safe. All reads work on the calling thread, which must not be the loop's or gRPC's: use
// Post. They see one consistent state each. NotFound names what there is not.
class Query {
 public:
  static absl::StatusOr<std::unique_ptr<Query>> Open(QueryOptions options);
  // Runs what was posted to its end.
  virtual ~Query() = default;

  // Runs `work` on a thread of query's. False when too much is waiting: answer ResourceExhausted.
  [[nodiscard]] virtual bool Post(Work kind, std::function<void()> work) = 0;

  virtual absl::StatusOr<v1::GetSweepResponse> GetSweep(const v1::GetSweepRequest& request) = 0;
  virtual absl::StatusOr<v1::ListSweepsResponse> ListSweeps(
      const v1::ListSweepsRequest& request) = 0;
  virtual absl::StatusOr<v1::ListMembersResponse> ListMembers(
      const v1::ListMembersRequest& request) = 0;
  virtual absl::StatusOr<v1::GetMemberResponse> GetMember(const v1::GetMemberRequest& request) = 0;
  // What the store knows: `connected`, `draining` and `running` are for the registry to fill.
  virtual absl::StatusOr<v1::ListWorkersResponse> ListWorkers() = 0;
  // What happened after the resume token, at most 1000 lines; with token 0 the counts alone.
  // Unchanged token and no lines: nothing happened. Never waits.
  virtual absl::StatusOr<v1::WatchSweepResponse> WatchSweep(
      const v1::WatchSweepRequest& request) = 0;
  // What the member has measured and what happened to it since, at most 1000 values. Never waits.
  virtual absl::StatusOr<MemberNews> WatchMember(const MemberPlace& place) = 0;
  // What a resolved sweep would do on these workers.
  virtual absl::StatusOr<Plan> PlanSweep(const sweep::Sweep& sweep,
                                         std::span<const FleetWorker> fleet) = 0;
  // FailedPrecondition when it has no result, or is a replay itself.
  virtual absl::StatusOr<ReplaySource> FindReplaySource(const MemberId& member) = 0;
  // Of the sweep of that number, which is not 0.
  virtual absl::StatusOr<Definition> FindDefinition(SweepId sweep) = 0;
  // The whole text of one form; FailedPrecondition for a sweep that is no study. What is damaged is
  // left out and named in the study's warnings.
  virtual absl::StatusOr<std::string> GetStudy(const v1::GetStudyRequest& request) = 0;
  // DataLoss when the file is missing or of another size than it was.
  virtual absl::StatusOr<ArtifactFile> FindArtifact(const v1::GetArtifactRequest& request) = 0;
};

}  // namespace noisefloor::query

// What the coordinator can say: lists, members, plans, studies, files; as values, which rpc turns
// into messages. Reading never waits for deciding: connections and threads here are query's own,
// and none of them can write, but what is derived (DerivedFiles).
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
#include "coordinator/query/event.h"
#include "coordinator/query/member.h"
#include "coordinator/store/blob_store.h"
#include "coordinator/sweep/infer.h"
#include "coordinator/sweep/sweep.h"

namespace noisefloor::query {

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
  double gpu_hours = 0;  // That it may use; 0: no bound.
  double gpu_hours_used = 0;
  double members_per_hour = 0;
  uint32_t revision = 0;   // Of its notes, tags and extent.
  bool undecided = false;  // See v1::SweepSummary.
};

// How much of a sweep is told.
enum class SweepView : uint8_t {
  kBasic,  // All but what was submitted.
  kFull,
};

// What hardly ever changes of a sweep.
struct SweepFacts {
  SweepId id;
  std::string name;
  int64_t submitted_unix_seconds = 0;
  std::string specification_sha256;
  sweep::Kind kind = sweep::Kind::kTrain;
  std::optional<MemberId> of;         // The member that a replay is about.
  std::optional<SweepId> of_sweep;    // The sweep that an inference is about.
  std::vector<std::string> hardware;  // Classes; none: any.
};

// A sweep with its counts.
struct SweepSummary {
  std::shared_ptr<const SweepFacts> facts;  // shared: with the cache. Never null.
  // What would be resolved to the same sweep: settings that are not defaults, built-in plans by
  // name, hardware as the classes that it was resolved to. Null in the basic view.
  std::shared_ptr<const sweep::SweepRequest> submitted;  // shared: with the cache.
  SweepProgress now;
  double progress = 0;      // Sum over members of the share of their steps that is done.
  double seconds_left = 0;  // Expected, until the last member ends; 0: not known.
};

// A page of sweeps, newest first.
struct SweepQuestion {
  uint32_t most = 0;             // Sweeps of the page; 1 or more.
  std::optional<SweepId> after;  // The last one of the page before.
  bool archived = false;         // Archived ones too.
  SweepView view = SweepView::kBasic;
};

struct SweepPage {
  std::vector<SweepSummary> sweeps;
  std::optional<SweepId> after;  // Where the next page goes on; nothing: there is none.
};

struct SweepWhole {
  SweepSummary sweep;
  std::string file;           // As it was submitted; empty: there was none.
  std::string resolved_file;  // The same with every default filled in.
};

// How far one who watches a sweep has been told.
struct SweepPlace {
  SweepId sweep;
  EventId after;                     // The last event that was told; 0: begins now.
  std::optional<uint32_t> revision;  // Of what was submitted, as told; nothing: it was not.
};

// What happened to a sweep since.
struct SweepNews {
  // Not younger than the events: of what it counts they tell, as far as the thousand reach. With
  // what was submitted where that is new.
  SweepSummary sweep;
  std::vector<Event> events;  // At most 1000.
  SweepPlace place;           // After it.
};

// A worker as the store knows it.
struct WorkerRow {
  WorkerId id;
  std::string name;
  std::string version;            // Of its program.
  std::string inventory;          // As it was registered: see scheduler::WorkerConnected.
  int64_t seen_unix_seconds = 0;  // Last sign of life.
};

// kInput: what the study is made of, without arrays (inputs::SourceToJson).
enum class StudyForm : uint8_t { kJson, kTables, kCsv, kPage, kInput };

struct StudyQuestion {
  SweepId sweep;  // 0: the newest.
  StudyForm form = StudyForm::kJson;
  bool colour = false;   // Of tables, as `columns`.
  uint32_t columns = 0;  // How wide they may be, in characters; 0: as wide as they like.
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

// Members whose weights are to be evaluated.
struct InferQuestion {
  SweepId sweep;  // Not 0.
  scheduler::Selection selection;
  bool own_weights = true;  // False: they only say which networks and test sets are meant.
};

// Of the members that were asked for those that can be, by their cells.
struct InferSources {
  sweep::Sweep sweep;
  std::vector<sweep::InferSource> cells;
  uint32_t left_out = 0;  // Asked for, and not done, or without weights that are there.
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
  // Of files whose digests wait to be made: what who ends it waits for.
  uint64_t digest_bytes = uint64_t{256} << 20;
};

// What the `until` of a sweep comes to.
struct Settlement {
  sweep::Sweep sweep;       // Settled.
  std::string from_sha256;  // Specification hash of what it was.
  std::string text;         // What was decided, and why.
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

  // A file of a member's predictions has come: what studies need of it is made on a thread of its
  // own, and kept. Never waits; where too much is waiting, the first study makes it.
  virtual void MakeDigest(const BlobName& predictions) = 0;

  // Where its rows are, for messages.
  virtual const std::string& database_path() const = 0;

  // The sweep of that number, or the newest for 0.
  virtual absl::StatusOr<SweepId> FindSweep(SweepId asked) = 0;
  // Here, too, 0 is the newest.
  virtual absl::StatusOr<SweepSummary> SummariseSweep(SweepId sweep, SweepView view) = 0;
  virtual absl::StatusOr<SweepWhole> GetSweep(SweepId sweep) = 0;
  virtual absl::StatusOr<SweepPage> ListSweeps(const SweepQuestion& question) = 0;
  virtual absl::StatusOr<MemberPage> ListMembers(const MemberQuestion& question) = 0;
  virtual absl::StatusOr<MemberWhole> GetMember(const MemberId& member) = 0;
  // All that are not forgotten, by name.
  virtual absl::StatusOr<std::vector<WorkerRow>> ListWorkers() = 0;
  // What happened since; of a watch that begins now the counts alone. Never waits.
  virtual absl::StatusOr<SweepNews> WatchSweep(const SweepPlace& place) = 0;
  // What the member has measured and what happened to it since, at most 1000 values. Never waits.
  virtual absl::StatusOr<MemberNews> WatchMember(const MemberPlace& place) = 0;
  // What a resolved sweep would do on these workers.
  virtual absl::StatusOr<Plan> PlanSweep(const sweep::Sweep& sweep,
                                         std::span<const FleetWorker> fleet) = 0;
  // FailedPrecondition when it has no result, or is a replay itself.
  virtual absl::StatusOr<ReplaySource> FindReplaySource(const MemberId& member) = 0;
  // FailedPrecondition when the sweep does not train, or none of the members is done and has its
  // weights.
  virtual absl::StatusOr<InferSources> FindInferSources(const InferQuestion& question) = 0;
  // Of the sweep of that number, which is not 0.
  virtual absl::StatusOr<Definition> FindDefinition(SweepId sweep) = 0;
  // Of an undecided sweep whose members have ended, by their results. FailedPrecondition when it is
  // not undecided.
  virtual absl::StatusOr<Settlement> DecideUntil(SweepId sweep) = 0;
  // The whole text of one form; FailedPrecondition for a sweep that is no study. What is damaged is
  // left out and named in the study's warnings.
  virtual absl::StatusOr<std::string> GetStudy(const StudyQuestion& question) = 0;
  // Where the weights of that hash would lie. NotFound when no inference evaluates them.
  virtual absl::StatusOr<std::string> FindWeights(const std::string& sha256) = 0;
  // Of the accepted attempt, else of the last that has one. DataLoss when the file is missing or of
  // another size than it was.
  virtual absl::StatusOr<ArtifactFile> FindArtifact(const MemberId& member,
                                                    const std::string& kind) = 0;
};

}  // namespace noisefloor::query

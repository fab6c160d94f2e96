#include "coordinator/coordinator.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "common/access/access_file.h"
#include "common/base/clock.h"
#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "common/log/log.h"
#include "common/rpc/server.h"
#include "coordinator/access/token.h"
#include "coordinator/certificates/access_folder.h"
#include "coordinator/figures/call_figures.h"
#include "coordinator/figures/loop_figures.h"
#include "coordinator/http_doors.h"
#include "coordinator/loop/event_loop.h"
#include "coordinator/loop/recovery.h"
#include "coordinator/metrics/metrics.h"
#include "coordinator/pools/pool_keeper.h"
#include "coordinator/query/query.h"
#include "coordinator/rpc/access_book.h"
#include "coordinator/rpc/access_gate.h"
#include "coordinator/rpc/access_service.h"
#include "coordinator/rpc/call_meter.h"
#include "coordinator/rpc/coordinator_service.h"
#include "coordinator/rpc/door.h"
#include "coordinator/rpc/fleet_service.h"
#include "coordinator/rpc/garbage.h"
#include "coordinator/rpc/method_rules.h"
#include "coordinator/rpc/session_registry.h"
#include "coordinator/rpc/stack_book.h"
#include "coordinator/rpc/tree_calls.h"
#include "coordinator/rpc/worker_service.h"
#include "coordinator/slurm/environment.h"
#include "coordinator/store/blob_pins.h"
#include "coordinator/store/blob_store.h"
#include "coordinator/store/database.h"
#include "coordinator/store/derived_files.h"
#include "coordinator/store/handover_folder.h"
#include "coordinator/store/home_files.h"
#include "coordinator/store/home_lock.h"
#include "coordinator/store/pool_rows.h"
#include "coordinator/store/restore.h"
#include "coordinator/store/stack_rows.h"
#include "coordinator/store/store.h"
#include "coordinator/store/token_rows.h"
#include "coordinator/until/until_keeper.h"
#include "coordinator/web/page_bundle.h"

namespace noisefloor {

namespace {

constexpr size_t kMaxWatches = 1000;
constexpr absl::Duration kExpiryWarning = absl::Hours(24 * 30);
constexpr absl::Duration kStopGrace = absl::Seconds(2);  // For calls that run.

absl::Status Stopping() {
  return MakeError(absl::StatusCode::kUnavailable, "the coordinator is stopping");
}

// The store is the truth and memory is ahead of it: only a new process can go on.
void EndProcess(const absl::Status& status) {
  LogError("store_lost", {{"status", status}});
  std::_Exit(EXIT_FAILURE);
}

bool UsesAccess(const CoordinatorOptions& options) {
  return options.use_access && !options.listen.empty() && AccessIsSetUp(options.home);
}

std::vector<std::string> ShortMethods() {
  std::vector<std::string> methods;
  for (const auto& [path, role] : RulesOf(AllServices())) methods.emplace_back(ShortMethod(path));
  return methods;
}

Sha256Digest Chance() {
  const std::string bytes = RandomBytes32();
  Sha256Digest chance;
  std::ranges::copy(bytes, chance.begin());
  return chance;
}

// A certificate that cannot be read would be noticed by nobody but those who are refused; one that
// ends soon, by everybody at once.
absl::Status CheckCertificate(const std::string& home, absl::Time now) {
  const std::string path = ServerPemPath(home);
  NF_ASSIGN_OR_RETURN(const std::string pem, ReadFile(path, 64 << 10));
  const absl::StatusOr<CertificateFacts> facts = ReadCertificate(pem);
  if (!facts.ok()) return Annotate(facts.status(), path);
  const std::string day = absl::FormatTime("%Y-%m-%d", facts->expires, absl::UTCTimeZone());
  if (facts->expires - now < kExpiryWarning) {
    LogWarning("certificate_expires", {{"on", day}, {"help", "noisefloor access renew"}});
  }
  return absl::OkStatus();
}

// `secure`: with TLS and tokens.
absl::StatusOr<ServerSettings> SettingsOf(const CoordinatorOptions& options, bool secure) {
  ServerSettings settings;
  settings.in_process_only = options.listen.empty();
  settings.health_names = {v1::CoordinatorService::service_full_name(),
                           v1::WorkerService::service_full_name()};
  if (secure) settings.key_and_certificate = ServerPemPath(options.home);
  if (settings.in_process_only) return settings;
  const auto address = ParseAddress(options.listen);
  if (!address.ok()) return address.status();
  settings.listen = *address;
  return settings;
}

// What lives under the home, opened in the order of need.
struct Home {
  HomeLock lock;
  BlobStore blobs;
  std::unique_ptr<Store> store;
  HomeFiles files;

  // Whether all that was kept is still found under the home's path.
  absl::Status Check() {
    NF_RETURN_IF_ERROR(lock.Check());
    NF_RETURN_IF_ERROR(files.Check());
    lock.PutBack();  // Last: not into a folder that somebody is just removing.
    return absl::OkStatus();
  }
};

// The refusal of a home that is held carries the address of its holder.
absl::StatusOr<HomeLock> LockHome(const std::string& path) {
  absl::StatusOr<HomeLock> lock = HomeLock::Acquire(path);
  if (lock.ok()) return lock;
  absl::Status refused = lock.status();
  const std::optional<HomeHolder> holder = HomeLock::Holder(path);
  if (holder && !holder->address.empty()) {
    refused.SetPayload(kHolderAddress, absl::Cord(holder->address));
  }
  return refused;
}

absl::StatusOr<Home> OpenHome(const std::string& path) {
  NF_ASSIGN_OR_RETURN(HomeLock lock, LockHome(path));
  NF_RETURN_IF_ERROR(CheckHandedOver(path));
  NF_RETURN_IF_ERROR(CheckDatabaseFile(path));
  NF_ASSIGN_OR_RETURN(BlobStore blobs, BlobStore::Open(path));
  // Of no use and no harm: an archive that cannot be written to is read beside them.
  if (const absl::Status removed = blobs.RemoveLeftovers(); !removed.ok()) {
    LogWarning("leftovers_kept", {{"error", removed}});
  }
  if (const absl::Status removed = DerivedFiles::At(path).RemoveLeftovers(); !removed.ok()) {
    LogWarning("leftovers_kept", {{"error", removed}});
  }
  NF_ASSIGN_OR_RETURN(const int64_t version, SchemaVersion(DatabasePath(path)));
  const int64_t newest = CurrentSchema().version();
  const bool older = version > 0 && version < newest;
  if (older) LogInfo("store_is_brought_over", {{"from_schema", version}, {"to_schema", newest}});
  if (older && version < kFirstVersionWithSums) {
    LogInfo("pages_get_sums",
            {{"help",
              "the database is written anew once, beside the old one; room and time: "
              "coordinator/store/README.md"}});
  }
  NF_ASSIGN_OR_RETURN(const uint64_t pages,
                      SumWhatOthersWrote(DatabasePath(path), lock.was_killed()));
  if (pages > 0) {
    LogWarning("pages_were_without_sum",
               {{"pages", pages},
                {"help",
                 "another program has written them, for instance the log of a coordinator "
                 "that was killed into the database; they were checked and have sums "
                 "again"}});
  }
  NF_ASSIGN_OR_RETURN(std::unique_ptr<Store> store, SqliteStore::Open(path));
  if (older) LogInfo("store_was_brought_over", {{"to_schema", newest}});
  return Home{std::move(lock), std::move(blobs), std::move(store), HomeFiles(path)};
}

// Nothing that is trained needs them: what is damaged is named, and they are unknown until their
// workers are back.
std::vector<OfferedStack> StacksOf(const std::string& home) {
  absl::StatusOr<std::vector<OfferedStack>> stacks = ReadOfferedStacks(home);
  if (stacks.ok()) return *std::move(stacks);
  LogWarning("stacks_unknown", {{"error", stacks.status()}});
  return {};
}

std::string AbsolutePath(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::path absolute = std::filesystem::absolute(path, ignored);
  return absolute.empty() ? path : absolute.string();
}

// Members in the order of need; destroyed in the reverse.
class RunningCoordinator final : public Coordinator {
 public:
  // What is recovered from the home, and whether it is served with TLS and tokens.
  struct Found {
    Home home;
    bool secure = false;
    std::vector<access::TokenRecord> tokens;
    scheduler::Scheduler scheduler;
  };
  RunningCoordinator(Found found, const CoordinatorOptions& options, absl::Time now)
      : home_(std::move(found.home)),
        access_(clock_, std::move(found.tokens), found.secure),
        registry_(options.max_workers, {options.heartbeat_interval, options.lease_ttl}),
        watches_(kMaxWatches),
        loop_({*home_.store, registry_, clock_,
               [this](const std::set<SweepId>& sweeps) { Changed(sweeps); }, EndProcess,
               [this] { watches_.AllChanged(); },
               [this] {
                 access_.EndExpired();
                 return home_.Check();
               },
               options.metrics.empty() ? nullptr : &loop_figures_},
              {.storage_retry = options.storage_retry}, std::move(found.scheduler), now),
        stacks_(StacksOf(options.home)),
        intake_(loop_, registry_, home_.blobs, clock_),
        pins_([this](LeaseId id) { return loop_.live().IsLive(id); }) {}

  ~RunningCoordinator() override { Stop(); }

  // What can fail; afterwards it serves.
  absl::Status Serve(const CoordinatorOptions& options, ServerSettings settings);

  std::string address() const override { return address_; }
  std::string metrics_address() const override { return metrics_.address; }
  std::string page_url() const override { return page_.url; }
  std::shared_ptr<grpc::Channel> InProcessChannel() override { return server_->InProcessChannel(); }
  void Stop() override;

 private:
  // On the loop's thread.
  void Changed(const std::set<SweepId>& sweeps) {
    watches_.Changed(sweeps);
    until_->Look(sweeps);
  }
  std::optional<query::SweepProgress> ProgressOf(SweepId sweep) const;
  std::optional<query::Progress> ProgressOf(const MemberId& member) const;
  std::optional<UploadedBy> UploaderOf(LeaseId lease) const;
  std::string StorageProblem() const;
  absl::Status OpenServices(const CoordinatorOptions& options);
  void OpenWorkerServices(const CoordinatorOptions& options);
  absl::Status OpenPools(const CoordinatorOptions& options);
  std::vector<grpc::Service*> CloseDoors();
  absl::Status WriteOwnerAccess(const std::string& home);
  absl::Status OpenHttpDoors(const CoordinatorOptions& options);
  std::string MetricsText(const std::string& wal_path) const;

  SystemClock clock_;
  Home home_;
  figures::LoopFigures loop_figures_;
  figures::UploadFigures upload_figures_;
  figures::CallFigures call_figures_{ShortMethods()};
  AccessBook access_;
  SessionRegistry registry_;
  WatchHub watches_;
  EventLoop loop_;
  StackBook stacks_;
  WorkerIntake intake_;
  BlobPins pins_;
  std::unique_ptr<query::Query> query_;
  std::unique_ptr<Garbage> garbage_;
  std::optional<CoordinatorServiceImpl> people_;
  std::optional<TreeCalls> trees_;
  std::optional<WorkerServiceImpl> workers_;
  std::optional<AccessServiceImpl> access_service_;
  std::unique_ptr<PoolKeeper> pools_;
  std::unique_ptr<UntilKeeper> until_;
  std::optional<FleetServiceImpl> fleet_service_;
  std::vector<std::unique_ptr<Door>> doors_;  // Of the four, where access is enforced.
  std::string owner_access_;                  // Where it lies; empty: there is none.
  std::unique_ptr<RpcServer> server_;
  std::string address_;
  HttpDoor metrics_;
  HttpDoor page_;
  uint32_t epoch_ = 0;
  std::atomic<bool> stopped_{false};
};

absl::Status RunningCoordinator::OpenServices(const CoordinatorOptions& options) {
  query::QueryOptions reading{
      .home = options.home,
      .version = NOISEFLOOR_VERSION,
      .page_script = web::PageScript(),
      .page_style = web::PageStyle(),
      .live = {[this](SweepId sweep) { return ProgressOf(sweep); },
               [this](const MemberId& member) { return ProgressOf(member); }},
      .watch_limit = kMaxWatches};
  NF_ASSIGN_OR_RETURN(query_, query::Query::Open(std::move(reading)));
  NF_ASSIGN_OR_RETURN(epoch_, ReadEpoch(options.home));
  NF_ASSIGN_OR_RETURN(garbage_, Garbage::Open({loop_, home_.blobs, pins_, clock_, options.home,
                                               [this] { return StorageProblem(); },
                                               !options.listen.empty(), options.lease_ttl}));
  until_ = std::make_unique<UntilKeeper>(loop_, *query_);
  people_.emplace(CoordinatorServiceImpl::Parts{
      .loop = loop_,
      .query = *query_,
      .watches = watches_,
      .access = access_,
      .storage_problem = [this] { return StorageProblem(); },
      .garbage = *garbage_,
      .stacks = stacks_,
      .blobs = home_.blobs,
      .pins = pins_,
      .clock = clock_,
      .version = NOISEFLOOR_VERSION,
      .home = AbsolutePath(options.home),
      .epoch = epoch_,
      .pool_classes = [this] { return PoolClasses(*pools_->pools()); },
      .pools_stand = [this] { return PoolsStand(*pools_->pools(), clock_.Now()); },
      .idle = options.stream_idle,
      .most_artifacts = options.max_artifact_reads});
  OpenWorkerServices(options);
  absl::StatusOr<KeptAccess> kept = ReadAccess(options.home);
  if (access_.enforced()) {
    NF_RETURN_IF_ERROR(kept.status());
    NF_RETURN_IF_ERROR(CheckCertificate(options.home, clock_.Now()));
  } else {
    // What a coordinator before this one may have left. Of no use and no harm if it stays.
    (void)RemoveFile(OwnerAccessPath(options.home));
  }
  if (!kept.ok()) kept = KeptAccess();
  access_service_.emplace(
      AccessServiceImpl::Parts{.loop = loop_,
                               .book = access_,
                               .clock = clock_,
                               .chance = Chance,
                               .coordinator =
                                   [home = options.home] {
                                     const absl::StatusOr<KeptAccess> now = ReadAccess(home);
                                     return now.ok() ? now->coordinator : "";
                                   },
                               .certificate = kept->certificate,
                               .open = !options.listen.empty() && !access_.enforced()});
  return OpenPools(options);
}

void RunningCoordinator::OpenWorkerServices(const CoordinatorOptions& options) {
  trees_.emplace(
      TreeRoots{options.data_roots, options.stack_roots,
                [this](const std::string& sha256) { return query_->FindWeights(sha256); }},
      access_, TreeLimits{.most_at_once = options.max_tree_reads, .idle = options.stream_idle});
  workers_.emplace(
      registry_, intake_, home_.blobs, access_, *trees_,
      UploadLimits{.max_bytes = options.max_upload_bytes,
                   .is_live = [this](LeaseId lease) { return loop_.live().IsLive(lease); },
                   .pin = [this](const std::string& sha256,
                                 LeaseId lease) { return pins_.Pin(sha256, lease); },
                   .whose = [this](LeaseId lease) { return UploaderOf(lease); },
                   .written =
                       [this](const std::string& kind, const BlobName& name) {
                         if (kind.starts_with("predictions")) query_->MakeDigest(name);
                       },
                   .figures = &upload_figures_,
                   .idle = options.stream_idle,
                   .register_by = options.register_by});
}

absl::Status RunningCoordinator::OpenPools(const CoordinatorOptions& options) {
  NF_ASSIGN_OR_RETURN(KeptFleet kept, ReadFleet(options.home));
  fleet::Fleet fleet({}, std::move(kept.pools), std::move(kept.launches), kept.used, kept.last_pool,
                     kept.last_launch);
  pools_ = std::make_unique<PoolKeeper>(
      PoolKeeper::Parts{.loop = loop_,
                        .clock = clock_,
                        .slurm = Slurm(SlurmEnvironment()),
                        .address = [this] { return address_; },
                        .chance = [] { return ToHex(Chance()).substr(0, 16); }},
      PoolKeeperOptions{.poll = options.cluster_poll, .reachable = !options.listen.empty()},
      std::move(fleet));
  fleet_service_.emplace(*pools_, clock_, access_);
  return absl::OkStatus();
}

// Whoever may read the data directory may do everything with it: with this file also while it is
// served. Its token is of this process alone and never in the store.
absl::Status RunningCoordinator::WriteOwnerAccess(const std::string& home) {
  NF_ASSIGN_OR_RETURN(const KeptAccess kept, ReadAccess(home));
  const std::string token = access::MakeToken(access::kOwner, Chance());
  access_.Keep({.identity = std::string(access::kOwner),
                .role = access::Role::kAdmin,
                .sha256 = access::HashOf(token),
                .created = clock_.Now(),
                .expires = absl::InfiniteFuture()});
  NF_ASSIGN_OR_RETURN(const std::string pem, ReadFile(ServerPemPath(home), 64 << 10));
  NF_ASSIGN_OR_RETURN(const CertificateFacts facts, ReadCertificate(pem));
  const Address own = OwnerAddress(server_->address(), facts.names, kept);
  NF_RETURN_IF_ERROR(
      WriteAccessFile(OwnerAccessPath(home), {ToText(own), token, kept.certificate}));
  if (const std::string why = WhyNotFound(server_->address(), kept); !why.empty()) {
    LogWarning("access_files_name_another_address",
               {{"reason", why}, {"help", "serve with --listen as they say"}});
  }
  owner_access_ = OwnerAccessPath(home);
  return absl::OkStatus();
}

std::vector<grpc::Service*> RunningCoordinator::CloseDoors() {
  const MayEnter may_enter = MakeMayEnter(access_, RulesOf(AllServices()));
  const auto add = [&](const std::string& name, auto& service, std::string_view blocking) {
    const auto* descriptor =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name);
    doors_.push_back(std::make_unique<Door>(*descriptor, service, may_enter, blocking));
  };
  add(v1::CoordinatorService::service_full_name(), *people_, "");
  add(v1::WorkerService::service_full_name(), *workers_, "Upload");
  add(v1::AccessService::service_full_name(), *access_service_, "");
  add(v1::FleetService::service_full_name(), *fleet_service_, "");
  std::vector<grpc::Service*> services;
  for (const auto& door : doors_) services.push_back(door.get());
  return services;
}

absl::Status RunningCoordinator::Serve(const CoordinatorOptions& options, ServerSettings settings) {
  NF_RETURN_IF_ERROR(OpenServices(options));
  std::vector<grpc::Service*> services = {&*people_, &*workers_, &*access_service_,
                                          &*fleet_service_};
  if (access_.enforced()) {
    settings.gate = MakeAccessGate(access_, RulesOf(AllServices()));
    services = CloseDoors();
  }
  if (!options.metrics.empty()) {
    settings.meter = [this] { return MakeCallMeter(call_figures_); };
  }
  NF_ASSIGN_OR_RETURN(server_, RpcServer::Start(settings, services));
  if (!settings.in_process_only) {
    address_ = ToText(server_->address());
    if (access_.enforced() && !options.host.empty()) {
      const Address found = {options.host, server_->address().port};
      NF_RETURN_IF_ERROR(KeepAddress(options.home, ToText(found)));
    }
    if (access_.enforced()) NF_RETURN_IF_ERROR(WriteOwnerAccess(options.home));
    NF_RETURN_IF_ERROR(home_.lock.SetAddress(address_));  // The loop's thread has it from then on.
    LogInfo("coordinator_serves", {{"address", address_},
                                   {"home", options.home},
                                   {"epoch", epoch_},
                                   {"tls", access_.enforced()}});
  }
  NF_RETURN_IF_ERROR(OpenHttpDoors(options));
  loop_.Start();
  until_->Start();
  // Without an address no worker could come. What was asked of it since the server began waits.
  if (!address_.empty()) pools_->Start();
  return absl::OkStatus();
}

std::string RunningCoordinator::MetricsText(const std::string& wal_path) const {
  const LiveBoard& live = loop_.live();
  return metrics::Text({.loop = loop_figures_,
                        .uploads = upload_figures_,
                        .calls = call_figures_,
                        .members = [this] { return loop_.CountsByClass(); },
                        .workers_connected =
                            [&live] {
                              const auto workers = live.Workers();
                              return std::ranges::count_if(
                                  workers, [](const auto& worker) { return worker->connected; });
                            },
                        .mailbox_depth = [this] { return loop_.waiting(); },
                        .can_keep = [&live] { return live.storage_problem().empty(); },
                        .wal_path = wal_path,
                        .version = NOISEFLOOR_VERSION});
}

absl::Status RunningCoordinator::OpenHttpDoors(const CoordinatorOptions& options) {
  const HttpHost host{options.home, access_};
  if (!options.metrics.empty()) {
    NF_ASSIGN_OR_RETURN(metrics_, OpenMetrics(host, options.metrics,
                                              [this, wal = DatabasePath(options.home) + "-wal"] {
                                                return MetricsText(wal);
                                              }));
    LogInfo("metrics_served", {{"address", metrics_.address}});
  }
  if (!options.page.empty()) {
    absl::StatusOr<HttpDoor> page =
        OpenPage(host, options.page, options.page_at_any_port, InProcessChannel());
    // Where nobody asked for it, say in a container without loopback, nothing hangs on it.
    if (options.page_at_any_port && absl::IsUnavailable(page.status())) {
      LogWarning("page_not_served", {{"error", page.status()}});
      return absl::OkStatus();
    }
    NF_ASSIGN_OR_RETURN(page_, std::move(page));
    LogInfo("page_served", {{"address", page_.address}});
  }
  return absl::OkStatus();
}

void RunningCoordinator::Stop() {
  if (stopped_.exchange(true)) return;
  metrics_.server.reset();
  page_.server.reset();
  // Before the loop, which keeps what it decides; and first of all: a cluster that takes its time
  // is waited for while workers are still served.
  if (pools_) pools_->Stop();
  if (server_) server_->StopServing();
  registry_.CloseAll(Stopping());
  watches_.CloseAll(Stopping());
  loop_.Stop();  // Before the server: what it answers must still have a call to go to.
  if (until_) until_->Stop();
  if (server_) server_->Shutdown(kStopGrace);
  if (!owner_access_.empty()) (void)RemoveFile(owner_access_);
}

std::optional<query::SweepProgress> RunningCoordinator::ProgressOf(SweepId sweep) const {
  const std::optional<scheduler::SweepCounts> counts = loop_.live().CountsOf(sweep);
  if (!counts) return std::nullopt;
  const scheduler::TrainTimes& times = counts->times;
  return query::SweepProgress{.cells = counts->cells,
                              .waiting = counts->In(MemberState::kWaiting),
                              .leased = counts->In(MemberState::kLeased),
                              .done = counts->In(MemberState::kDone),
                              .diverged = counts->In(MemberState::kDiverged),
                              .failed = counts->In(MemberState::kFailed),
                              .cancelled = counts->In(MemberState::kCancelled),
                              .retries = counts->retries,
                              .running = counts->running,
                              .mean_seconds = times.count == 0 ? 0 : times.sum / times.count,
                              .owner = counts->sharing.owner,
                              .priority = counts->sharing.priority,
                              .weight = counts->sharing.weight,
                              .paused = counts->sharing.paused,
                              .max_failures = counts->sharing.max_failures,
                              .archived = counts->sharing.archived,
                              .limits = counts->sharing.limits,
                              .gpu_hours = counts->sharing.gpu_hours,
                              .gpu_hours_used = absl::ToDoubleHours(counts->gpus.At(loop_.Now())),
                              .members_per_hour = counts->ended.PerHour(loop_.Now()),
                              .revision = counts->revision,
                              .undecided = counts->undecided};
}

std::optional<query::Progress> RunningCoordinator::ProgressOf(const MemberId& member) const {
  const std::optional<scheduler::RunningAttempt> attempt = loop_.live().AttemptAt(member);
  if (!attempt) return std::nullopt;
  return query::Progress{attempt->step, attempt->step_count};
}

std::optional<UploadedBy> RunningCoordinator::UploaderOf(LeaseId lease) const {
  const std::optional<scheduler::RunningAttempt> attempt = loop_.live().AttemptOf(lease);
  if (!attempt) return std::nullopt;
  UploadedBy by = {attempt->member, attempt->attempt, ""};
  for (const LiveBoard::Worker& worker : loop_.live().Workers()) {
    if (worker->worker == attempt->worker) by.worker = worker->name;
  }
  return by;
}

std::string RunningCoordinator::StorageProblem() const {
  std::string problem = loop_.live().storage_problem();
  if (!problem.empty() || !workers_) return problem;
  return workers_->upload_problem();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Coordinator>> Coordinator::Start(const CoordinatorOptions& options) {
  NF_RETURN_IF_ERROR(SettingsOf(options, /*secure=*/false).status());  // Before a home is made.
  NF_ASSIGN_OR_RETURN(Home home, OpenHome(options.home));
  // Asked once the home is ours: `access init` holds it, too.
  const bool secure = UsesAccess(options);
  NF_ASSIGN_OR_RETURN(const ServerSettings settings, SettingsOf(options, secure));
  const absl::Time now = SystemClock().Now();
  scheduler::Options rules;
  rules.lease_ttl = options.lease_ttl;
  NF_ASSIGN_OR_RETURN(scheduler::Scheduler scheduler, RecoverScheduler(*home.store, rules, now));
  NF_ASSIGN_OR_RETURN(std::vector<access::TokenRecord> tokens, ReadTokens(options.home));
  auto coordinator = std::make_unique<RunningCoordinator>(
      RunningCoordinator::Found{std::move(home), secure, std::move(tokens), std::move(scheduler)},
      options, now);
  NF_RETURN_IF_ERROR(coordinator->Serve(options, settings));
  return coordinator;
}

}  // namespace noisefloor

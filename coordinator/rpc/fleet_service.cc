#include "coordinator/rpc/fleet_service.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "fmt/format.h"

#include "common/base/printable.h"
#include "common/files/file_tail.h"
#include "common/rpc/status.h"
#include "coordinator/rpc/awaited.h"
#include "coordinator/rpc/caller.h"

namespace noisefloor {

namespace {

constexpr uint32_t kUsualBytes = 64 << 10;
constexpr uint32_t kMostBytes = 1 << 20;
constexpr double kMostSeconds = 1e9;

absl::Status NoPool(const std::string& name) {
  return MakeError(absl::StatusCode::kNotFound, "no pool " + name);
}

absl::StatusOr<absl::Duration> SecondsFrom(std::string_view what, double seconds) {
  if (seconds >= 0 && seconds <= kMostSeconds) return absl::Seconds(seconds);
  return InvalidInput(fmt::format("{}: expected seconds from 0 to 1e9, got {}", what, seconds));
}

absl::StatusOr<fleet::PoolWish> WishFrom(const v1::PoolWish& given) {
  fleet::PoolWish wish;
  wish.name = given.name();
  wish.hardware = given.hardware();
  wish.cluster.assign(given.cluster().begin(), given.cluster().end());
  wish.worker.assign(given.worker().begin(), given.worker().end());
  wish.prologue = given.prologue();
  wish.program = given.program();
  wish.access = given.access();
  wish.logs = given.logs();
  wish.least = given.min();
  wish.most = given.max();
  wish.backlog = given.backlog();
  NF_ASSIGN_OR_RETURN(wish.idle, SecondsFrom("idle", given.idle_seconds()));
  NF_ASSIGN_OR_RETURN(wish.time_limit, SecondsFrom("time limit", given.time_limit_seconds()));
  NF_ASSIGN_OR_RETURN(wish.drain_before, SecondsFrom("drain before", given.drain_before_seconds()));
  wish.gpu_hours = given.gpu_hours();
  return wish;
}

v1::PoolWish ToProto(const fleet::PoolWish& wish) {
  v1::PoolWish message;
  message.set_name(wish.name);
  message.set_hardware(wish.hardware);
  message.mutable_cluster()->Assign(wish.cluster.begin(), wish.cluster.end());
  message.mutable_worker()->Assign(wish.worker.begin(), wish.worker.end());
  message.set_prologue(wish.prologue);
  message.set_program(wish.program);
  message.set_access(wish.access);
  message.set_logs(wish.logs);
  message.set_min(wish.least);
  message.set_max(wish.most);
  message.set_backlog(wish.backlog);
  message.set_idle_seconds(absl::ToDoubleSeconds(wish.idle));
  message.set_time_limit_seconds(absl::ToDoubleSeconds(wish.time_limit));
  message.set_drain_before_seconds(absl::ToDoubleSeconds(wish.drain_before));
  message.set_gpu_hours(wish.gpu_hours);
  return message;
}

v1::Launch ToProto(const fleet::PoolRecord& pool, const fleet::LaunchRecord& launch) {
  v1::Launch message;
  message.set_worker(fleet::WorkerName(pool, launch));
  message.set_job(launch.job);
  message.set_phase(static_cast<v1::LaunchPhase>(launch.phase));
  message.set_reason(launch.reason);
  message.set_node(launch.node);
  message.set_heard(launch.heard);
  message.set_created_unix_seconds(absl::ToUnixSeconds(launch.created));
  if (launch.began != absl::InfiniteFuture()) {
    message.set_began_unix_seconds(absl::ToUnixSeconds(launch.began));
  }
  return message;
}

v1::Pool ToProto(const fleet::Pool& pool, absl::Time now) {
  const fleet::PoolRecord& record = pool.record;
  v1::Pool message;
  *message.mutable_wish() = ToProto(record.wish);
  message.set_state(static_cast<v1::PoolState>(record.state));
  message.set_standing(fleet::Explain(pool, now));
  message.mutable_classes()->Assign(record.classes.begin(), record.classes.end());
  message.mutable_stacks()->Assign(record.stacks.begin(), record.stacks.end());
  message.set_slots(record.slots);
  for (const auto& [number, launch] : pool.live) {
    *message.add_launches() = ToProto(record, launch.record);
  }
  message.set_gpu_hours_used(fleet::GpuHours(pool, now));
  message.set_created_unix_seconds(absl::ToUnixSeconds(record.created));
  message.set_created_by(record.created_by);
  return message;
}

const fleet::Pool* Find(const PoolsNow& now, const std::string& name) {
  const auto found = std::ranges::find_if(
      now.pools, [&](const auto& pool) { return pool.second.record.wish.name == name; });
  return found == now.pools.end() ? nullptr : &found->second;
}

// What may be said to whoever reads: environments and options of workers have keys of other
// services in them.
void LeaveOutSecrets(v1::PoolWish& wish) {
  wish.clear_worker();
  wish.clear_prologue();
}

// The worker whose log is meant when none is named.
std::optional<std::string> LastOf(const fleet::Pool& pool) {
  if (pool.last_crash) return fleet::WorkerName(pool.record, *pool.last_crash);
  if (pool.live.empty()) return std::nullopt;
  return fleet::WorkerName(pool.record, pool.live.rbegin()->second.record);
}

// A name that leads out of the folder of logs is nobody's.
bool IsOf(const fleet::Pool& pool, const std::string& worker) {
  return worker.starts_with(pool.record.wish.name + "-") && worker.find('/') == std::string::npos;
}

absl::Status ReadLog(const std::string& path, uint32_t most, v1::GetPoolLogResponse& response) {
  absl::StatusOr<std::string> tail = ReadTail(path, std::min(most, kMostBytes));
  if (absl::IsNotFound(tail.status())) {
    return MakeError(absl::StatusCode::kNotFound, path + ": nothing is written there");
  }
  if (!tail.ok()) return tail.status();
  response.set_path(path);
  response.set_text(*std::move(tail));
  return absl::OkStatus();
}

}  // namespace

bool FleetServiceImpl::MayAdd(const Context& context) const {
  const std::string_view token = TokenOf(context);
  if (!access_.Asks(token)) return true;
  const absl::StatusOr<access::Caller> caller = access_.Check(token);
  return caller.ok() && Allows(caller->role, access::Role::kAdmin);
}

Unary* FleetServiceImpl::AddPool(Context* context, const v1::AddPoolRequest* request,
                                 v1::AddPoolResponse* response) {
  Unary* reactor = context->DefaultReactor();
  absl::StatusOr<fleet::PoolWish> wish = WishFrom(request->wish());
  if (!wish.ok()) return FinishWith(reactor, wish.status());
  keeper_.Add(*std::move(wish), request->dry_run(), CallerOf(*context),
              [reactor, response](const absl::StatusOr<PoolTried>& tried) {
                if (tried.ok()) {
                  response->set_cluster_says(Printable(tried->cluster_says));
                  response->set_script(tried->script);
                }
                reactor->Finish(ToGrpc(tried.status()));
              });
  return reactor;
}

Unary* FleetServiceImpl::ListPools(Context* context, const v1::ListPoolsRequest* request,
                                   v1::ListPoolsResponse* response) {
  const std::shared_ptr<const PoolsNow> now = keeper_.pools();
  const absl::Time at = clock_.Now();
  const bool all = MayAdd(*context);
  for (const auto& [number, pool] : now->pools) {
    const bool meant = request->name().empty() || request->name() == pool.record.wish.name;
    if (!meant) continue;
    v1::Pool& told = *response->add_pools();
    told = ToProto(pool, at);
    if (!all) LeaveOutSecrets(*told.mutable_wish());
  }
  response->set_cluster_problem(Printable(now->cluster_problem));
  const bool missing = !request->name().empty() && response->pools_size() == 0;
  return FinishWith(context->DefaultReactor(),
                    missing ? NoPool(request->name()) : absl::OkStatus());
}

Unary* FleetServiceImpl::UpdatePool(Context* context, const v1::UpdatePoolRequest* request,
                                    v1::UpdatePoolResponse* response) {
  Unary* reactor = context->DefaultReactor();
  const auto answer = [this, reactor, response, name = request->name()](const absl::Status& done) {
    const std::shared_ptr<const PoolsNow> now = keeper_.pools();
    const fleet::Pool* pool = Find(*now, name);
    if (done.ok() && pool == nullptr) return reactor->Finish(ToGrpc(NoPool(name)));
    if (done.ok()) *response->mutable_pool() = ToProto(*pool, clock_.Now());
    reactor->Finish(ToGrpc(done));
  };
  if (!request->has_paused()) {
    answer(absl::OkStatus());
  } else {
    keeper_.SetPaused(request->name(), request->paused(), CallerOf(*context), answer);
  }
  return reactor;
}

Unary* FleetServiceImpl::RemovePool(Context* context, const v1::RemovePoolRequest* request,
                                    v1::RemovePoolResponse* response) {
  Unary* reactor = context->DefaultReactor();
  keeper_.Remove(request->name(), CallerOf(*context),
                 [this, reactor, response, name = request->name()](const absl::Status& done) {
                   const std::shared_ptr<const PoolsNow> now = keeper_.pools();
                   const fleet::Pool* pool = Find(*now, name);
                   if (pool != nullptr) {
                     response->set_jobs(static_cast<uint32_t>(pool->live.size()));
                   }
                   reactor->Finish(ToGrpc(done));
                 });
  return reactor;
}

Unary* FleetServiceImpl::GetPoolLog(Context* context, const v1::GetPoolLogRequest* request,
                                    v1::GetPoolLogResponse* response) {
  Unary* reactor = context->DefaultReactor();
  const std::shared_ptr<const PoolsNow> now = keeper_.pools();
  const fleet::Pool* pool = Find(*now, request->pool());
  if (pool == nullptr) return FinishWith(reactor, NoPool(request->pool()));
  const std::optional<std::string> worker =
      request->worker().empty() ? LastOf(*pool) : std::optional(request->worker());
  if (!worker || !IsOf(*pool, *worker)) {
    return FinishWith(reactor,
                      MakeError(absl::StatusCode::kNotFound,
                                worker ? "pool " + request->pool() + " has no worker " + *worker
                                       : "pool " + request->pool() + " has had no worker yet"));
  }
  const uint32_t most = request->most_bytes() == 0 ? kUsualBytes : request->most_bytes();
  response->set_worker(*worker);
  const auto read = [context, reactor, response, most,
                     path = LogPathOf(pool->record.wish, *worker)] {
    const absl::Status awaited = StillAwaited(*context);
    reactor->Finish(ToGrpc(awaited.ok() ? ReadLog(path, most, *response) : awaited));
  };
  return logs_.Post(read) ? reactor : FinishWith(reactor, TooManyWait("logs of workers"));
}

}  // namespace noisefloor

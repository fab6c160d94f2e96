#include "worker/daemon/worker.h"

#include <algorithm>

#include "common/access/access_file.h"
#include "common/base/check.h"
#include "common/log/log.h"
#include "common/rpc/address.h"
#include "common/rpc/channel.h"
#include "common/rpc/greeting.h"
#include "common/rpc/inventory.h"
#include "worker/daemon/convert.h"
#include "worker/daemon/leftovers.h"
#include "worker/daemon/orphans.h"
#include "worker/daemon/worker_access.h"

namespace noisefloor {

namespace {

// Never reached: what posts is held back by itself. Of the session at most Session::kMostUnread
// messages wait, of each trainer a few lines (TrainerProcess::Consumed), of each lease one upload.
constexpr size_t kMailboxLimit = size_t{1} << 20;
constexpr absl::Duration kWelcomeTimeout = absl::Seconds(10);
// Without a coordinator: what was tried is said first after this, then as NextWord says.
constexpr absl::Duration kFirstWord = absl::Seconds(3);
constexpr absl::Duration kLongestSilence = absl::Minutes(10);

// It may be that nobody is there: what ended the try came from this side of the network.
bool IsUnanswered(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsCancelled(status);
}

slots::SlotsOptions SlotsOptionsOf(const WorkerSettings& settings) {
  // The first device of a slot stands for its unit.
  std::vector<uint32_t> units;
  for (const Inventory::Slot& slot : settings.offer.inventory.slots) {
    units.push_back(slot.devices.front());
  }
  return {.slot_count = static_cast<uint32_t>(settings.slots.size()),
          .unit_of_slot = std::move(units),
          .grace = settings.options.grace,
          .standby = settings.options.standby,
          .hello_timeout = settings.options.hello_timeout,
          .silence_timeout = settings.options.silence_timeout,
          .kill_timeout = settings.options.kill_timeout};
}

std::string CheckpointsOf(const Options& options, const StateDirectory& state) {
  return options.checkpoints.empty() ? state.path() + "/checkpoints" : options.checkpoints;
}

}  // namespace

std::string CacheOf(const Options& options, const StateDirectory& state) {
  if (!options.use_cache) return "";
  return options.cache.empty() ? state.path() + "/cache" : options.cache;
}

absl::Duration NextWord(absl::Duration without) {
  return without + std::min(without, kLongestSilence);
}

absl::Duration GiveUpAt(absl::Duration unreached_since, absl::Duration give_up_after, bool trains) {
  return trains ? absl::InfiniteDuration() : unreached_since + give_up_after;
}

Worker::Worker(WorkerSettings settings, const StateDirectory& state, const Clock& clock,
               FileSystem& files)
    : settings_(std::move(settings)),
      state_(state),
      clock_(clock),
      mailbox_(kMailboxLimit),
      slots_(SlotsOptionsOf(settings_)),
      spool_(state.spool(), settings_.options.spool_limit_bytes, files),
      coordinator_(settings_.options.coordinator),
      stub_(v1::WorkerService::NewStub(MakeChannel(coordinator_, settings_.access.get()))),
      pool_({settings_.offer.stacks, settings_.slots, state.path(),
             CacheOf(settings_.options, state), CheckpointsOf(settings_.options, state),
             settings_.options.checkpoint_every, settings_.options.cache_limit_mib},
            [this](PoolNews news) { NF_CHECK(mailbox_.Post(std::move(news))); }),
      reconnect_(kReconnectBackoff, state.identity()),
      say_unreached_after_(kFirstWord),
      unreached_since_(clock.Steady()),
      leave_at_(settings_.leaves_at) {
  uploader_ = std::make_unique<Uploader>(stub_, clock_, state.identity(), [this](UploadDone done) {
    NF_CHECK(mailbox_.Post(std::move(done)));
  });
  if (!settings_.options.use_cache) return;
  fetcher_ = std::make_unique<TreeFetcher>(
      stub_, TreeCache(CacheOf(settings_.options, state), settings_.options.cache_limit_mib << 20),
      clock_, state.identity(),
      [this](FetchNews news) { NF_CHECK(mailbox_.Post(std::move(news))); });
}

Worker::~Worker() { CloseSession(); }

void Worker::Stop(StopSignal signal) { NF_CHECK(mailbox_.Post(StopWanted{signal})); }

int Worker::Run() {
  if (const absl::Status status = Recover(); !status.ok()) {
    LogError("refused", {{"error", status}});
    return 1;
  }
  while (!exit_code_) {
    OpenSessionIfDue();
    for (News& news : mailbox_.TakeAll(UntilNext())) {
      std::visit([this](auto& n) { On(n); }, news);
    }
    WatchTheClock();
  }
  CloseSession();
  for (const int process : pool_.EndOrphans()) LogWarning("orphan_ended", {{"process", process}});
  if (stops_ > 0 && *exit_code_ == 0) exit_code_ = settings_.options.stopped_code;
  LogInfo("left", {{"exit_code", *exit_code_}});
  return *exit_code_;
}

// What an earlier process of this state directory left: its processes are ended, its results are
// delivered, and attempts without a result are reported as interrupted.
absl::Status Worker::Recover() {
  NF_RETURN_IF_ERROR(AdoptOrphans());
  const Leftovers left = EndLeftovers(state_.path());
  for (const int process : left.ended) LogWarning("leftover_ended", {{"process", process}});
  // It hangs in the kernel; what it hangs on the probes have seen.
  for (const int process : left.undying) LogError("leftover_undying", {{"process", process}});
  NF_ASSIGN_OR_RETURN(RecoveredSpool found, spool_.Recover());
  for (const SpoolLoss& loss : found.losses) {
    LogWarning("spooled_attempt_lost",
               {{"lease", loss.lease.value}, {"removed", loss.removed}, {"error", loss.why}});
  }
  for (SpooledAttempt& spooled : found.attempts) Recover(std::move(spooled));
  return absl::OkStatus();
}

void Worker::Recover(SpooledAttempt spooled) {
  Attempt& attempt = attempts_[spooled.lease];
  attempt.member = spooled.member;
  attempt.number = spooled.attempt;
  if (auto folder = AttemptFolder::Open(spool_.FolderOf(spooled.lease)); folder.ok()) {
    attempt.folder = std::make_shared<const AttemptFolder>(*std::move(folder));
  }
  Say(LogLevel::kInfo, "spooled_attempt_found", spooled.lease,
      {{"finished", spooled.result.has_value()}});
  if (spooled.result) {
    attempt.result = *std::move(spooled.result);
  } else {
    Keep(spooled.lease, attempt,
         FailedResult(CauseClass::kInterrupted, "the worker ended before its trainer did"));
  }
  Step(slots::ResultFound{spooled.lease, spool_.Batches(spooled.lease)});
}

void Worker::OnMessage(v1::SessionResponse message) { NF_CHECK(mailbox_.Post(std::move(message))); }
void Worker::OnHeartbeatTaken() {
  beat_taken_ = true;
  NF_CHECK(mailbox_.Post(HeartbeatTaken{}));
}
void Worker::OnClosed(absl::Status status) { NF_CHECK(mailbox_.Post(SessionClosed{status})); }

v1::SessionRequest Worker::Registration() const {
  v1::SessionRequest request;
  v1::Register* registration = request.mutable_register_();
  registration->set_name(settings_.name);
  registration->set_identity(state_.identity());
  *registration->mutable_inventory() = ToProto(settings_.offer.inventory);
  std::set<std::string> told;
  for (const auto& [name, stack] : settings_.offer.stacks) {
    if (stack.schema == nullptr || !told.insert(stack.schema->identity()).second) continue;
    registration->mutable_inventory()->add_schemas(stack.schema->ToJson());
  }
  registration->set_version(NOISEFLOOR_VERSION);
  if (settings_.ends_at != absl::InfiniteDuration()) {
    const absl::Duration left = settings_.ends_at - clock_.Steady();
    registration->set_lives_ms(std::max<int64_t>(1, absl::ToInt64Milliseconds(left)));
  }
  registration->set_unix_micros(absl::ToUnixMicros(clock_.Now()));
  for (const slots::Held& held : slots_.HeldLeases()) *registration->add_held() = ToProto(held);
  return request;
}

// Its access file may name another address by now, or another authority. While it cannot be read,
// nothing changes.
void Worker::FollowCoordinator() {
  if (access() == nullptr) return;
  const std::string& path = settings_.options.access_file;
  const absl::StatusOr<AccessFile> file = ReadAccessFile(path);
  if (!file.ok()) return;
  const absl::StatusOr<Address> address = ParseAddress(file->coordinator);
  const bool moved =
      settings_.options.follows && address.ok() && ToText(*address) != ToText(coordinator_);
  const bool renewed = file->certificate != access()->certificate;
  if (!moved && !renewed) return;
  if (renewed) {
    absl::StatusOr<std::unique_ptr<ChannelAccess>> read = ReadWorkerAccess(path);
    if (!read.ok()) return;
    renewed_.push_back(*std::move(read));
    LogInfo("authority_replaced", {{"file", path}});
  }
  if (moved) {
    LogInfo("coordinator_moved", {{"from", ToText(coordinator_)}, {"to", ToText(*address)}});
    coordinator_ = *address;
  }
  stub_.Follow(v1::WorkerService::NewStub(MakeChannel(coordinator_, access())));
}

void Worker::OpenSessionIfDue() {
  if (session_ != nullptr || exit_code_ || clock_.Steady() < open_at_) return;
  FollowCoordinator();
  welcome_by_ = clock_.Steady() + kWelcomeTimeout;
  session_ = std::make_unique<Session>(*stub_.Get(), Registration(), *this);
}

void Worker::On(SessionClosed& closed) {
  pulse_.Close();
  session_.reset();
  const bool was_connected = std::exchange(connected_, false);
  const absl::Duration now = clock_.Steady();
  welcome_by_ = absl::InfiniteDuration();
  open_at_ = now + reconnect_.Next();
  if (was_connected) {
    unreached_since_ = now;
    say_unreached_after_ = kFirstWord;
    LogWarning("disconnected", {{"error", closed.status}});
    return Step(slots::Disconnected{});
  }
  LogRefusal(closed.status);
  const absl::StatusCode code = closed.status.code();
  const bool refused =
      code == absl::StatusCode::kInvalidArgument || code == absl::StatusCode::kPermissionDenied ||
      code == absl::StatusCode::kUnauthenticated || code == absl::StatusCode::kUnimplemented;
  // A token may be renewed, and its file is read again at each try: what is trained is not thrown
  // away for it.
  const bool waits = code == absl::StatusCode::kUnauthenticated && !slots_.HeldLeases().empty();
  if (!refused || waits || exit_code_) return;
  LogError("refused", {{"coordinator", ToText(coordinator_)}, {"error", closed.status}});
  exit_code_ = 1;
}

// Once, while it stays the same. A coordinator that is not there may come: see SayUnreached.
void Worker::LogRefusal(const absl::Status& status) {
  why_unreached_ = Message(status);
  was_refused_ = !IsUnanswered(status);
  const bool refused = status.code() != absl::StatusCode::kUnavailable;
  const bool is_new = refused && last_refusal_ != Message(status);
  if (refused) last_refusal_ = Message(status);
  Log(is_new ? LogLevel::kWarning : LogLevel::kDebug, "not_connected",
      {{"coordinator", ToText(coordinator_)}, {"error", status}});
}

void Worker::SayUnreached(absl::Duration now) {
  const absl::Duration without = now - unreached_since_;
  if (connected_ || exit_code_ || without < say_unreached_after_) return;
  say_unreached_after_ = NextWord(without);
  const std::string stranger =
      WhyNotUnderstood(coordinator_, access() != nullptr ? access()->certificate : "");
  if (was_refused_ && stranger.empty()) {
    LogWarning("not_admitted", {{"coordinator", ToText(coordinator_)},
                                {"tried_s", absl::ToInt64Seconds(without)},
                                {"error", why_unreached_}});
    return;
  }
  LogWarning(
      "no_coordinator",
      {{"coordinator", ToText(coordinator_)},
       {"tried_s", absl::ToInt64Seconds(without)},
       {"error", why_unreached_},
       {"help",
        !stranger.empty() ? stranger : "is it running there, and is --coordinator its address?"}});
}

void Worker::CloseSession() {
  if (session_ == nullptr) return;
  pulse_.Close();
  session_->Cancel();
  while (session_ != nullptr) {
    for (News& news : mailbox_.TakeAll(absl::Seconds(1))) {
      if (std::holds_alternative<SessionClosed>(news)) session_.reset();
      const auto* message = std::get_if<v1::SessionResponse>(&news);
      if (message != nullptr && session_) session_->Consumed(message->ByteSizeLong());
    }
  }
}

absl::Duration Worker::GivesUpAt() const {
  return GiveUpAt(unreached_since_, settings_.options.give_up_after, !lease_of_process_.empty());
}

absl::Duration Worker::UntilNext() const {
  absl::Duration next = std::min({slots_.NextTick(), welcome_by_, hurry_at_, leave_at_,
                                  idle_since_ + settings_.options.idle_timeout});
  if (session_ == nullptr) next = std::min(next, open_at_);
  if (!connected_) {
    next = std::min({next, GivesUpAt(), unreached_since_ + say_unreached_after_});
  }
  const absl::Duration wait = next - clock_.Steady();
  return std::clamp(wait, absl::Milliseconds(1), absl::Minutes(1));
}

// Heartbeats come first: they may have gone out while this thread waited for its disk.
void Worker::WatchTheClock() {
  const absl::Duration now = clock_.Steady();
  if (beat_taken_.exchange(false)) Step(slots::HeartbeatSent{});
  if (now >= slots_.NextTick()) Step(slots::Tick{});
  if (now >= hurry_at_) {
    hurry_at_ = absl::InfiniteDuration();
    LogWarning("drain_timeout");
    Step(slots::Hurry{});
  }
  if (session_ != nullptr && now >= welcome_by_) {
    welcome_by_ = absl::InfiniteDuration();
    LogWarning("no_welcome", {{"coordinator", ToText(coordinator_)}});
    session_->Cancel();
  }
  LeaveWhenTold(now);
  LeaveWhenIdle(now);
  SayUnreached(now);
  if (!connected_ && now >= GivesUpAt() && !exit_code_) {
    LogError("unreachable", {{"coordinator", ToText(coordinator_)}});
    exit_code_ = 3;
  }
}

// What it would be given meanwhile is given back: the coordinator hears that it drains.
void Worker::LeaveWhenIdle(absl::Duration now) {
  const bool idle = connected_ && attempts_.empty() && !slots_.draining();
  if (!idle) {
    idle_since_ = absl::InfiniteDuration();
    return;
  }
  idle_since_ = std::min(idle_since_, now);
  if (now - idle_since_ < settings_.options.idle_timeout) return;
  idle_since_ = absl::InfiniteDuration();
  LogInfo("idle", {{"seconds", absl::ToDoubleSeconds(settings_.options.idle_timeout)}});
  Step(slots::Drain{});
}

void Worker::LeaveWhenTold(absl::Duration now) {
  if (now < leave_at_) return;
  leave_at_ = absl::InfiniteDuration();
  if (!slots_.draining()) LogInfo("draining", {{"help", "--leave-after: nothing new is begun"}});
  Step(slots::Drain{});
}

void Worker::On(const StopWanted& wanted) {
  if (wanted.signal == StopSignal::kWarn) {
    if (!slots_.draining()) LogInfo("draining", {{"help", "SIGUSR1: nothing new is begun"}});
    return Step(slots::Drain{});
  }
  ++stops_;
  LogInfo(stops_ == 1 ? "draining" : "hurrying");
  if (stops_ > 1) return Step(slots::Hurry{});
  hurry_at_ = clock_.Steady() + settings_.options.drain_timeout;
  Step(slots::Drain{});
}

void Worker::Send(v1::SessionRequest message) {
  if (session_ != nullptr && connected_) (void)session_->Send(std::move(message));
}

}  // namespace noisefloor

#include "tests/bench/coordinator/fake_fleet.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "common/base/philox.h"
#include "tests/bench/coordinator/figures.h"

namespace noisefloor::bench {

namespace {

constexpr double kTickSeconds = 0.005;
constexpr double kFleetPatienceSeconds = 60;

}  // namespace

// One stream; gRPC's from Start on, deletes itself when it is done.
class FakeSession final : public grpc::ClientBidiReactor<v1::SessionRequest, v1::SessionResponse> {
 public:
  explicit FakeSession(FakeWorker& worker) : worker_(worker) {}

  // The worker's lock is held.
  void Start(v1::SessionRequest first) {
    worker_.stub_->async()->Session(&context_, this);
    AddHold();  // For writes that come from elsewhere.
    Say(std::move(first));
    StartRead(&inbound_);
    StartCall();
  }
  // The worker's lock is held.
  void Say(v1::SessionRequest message) {
    if (dead_) return;
    outbox_.push_back(std::move(message));
    Write();
  }
  void Cancel() { context_.TryCancel(); }

 private:
  void Write() {
    if (writing_ || outbox_.empty()) return;
    writing_ = true;
    grpc::WriteOptions options;
    if (outbox_.size() > 1) options.set_buffer_hint();
    StartWrite(&outbox_.front(), options);
  }
  void OnReadDone(bool ok) override {
    if (ok) {
      worker_.On(inbound_);
      inbound_.Clear();
      StartRead(&inbound_);
      return;
    }
    {
      MutexLock lock(worker_.mutex_);
      dead_ = true;
    }
    RemoveHold();
  }
  void OnWriteDone(bool ok) override {
    MutexLock lock(worker_.mutex_);
    outbox_.pop_front();
    writing_ = false;
    dead_ = dead_ || !ok;
    if (!dead_) Write();
  }
  void OnDone(const grpc::Status& status) override {
    FakeFleet& fleet = worker_.fleet_;
    worker_.Closed(status);
    fleet.SessionEnded(this);
    delete this;
  }

  FakeWorker& worker_;
  grpc::ClientContext context_;
  v1::SessionResponse inbound_;  // Reads only; they never overlap.
  // With the worker's lock.
  std::deque<v1::SessionRequest> outbox_;
  bool writing_ = false;
  bool dead_ = false;
};

FakeWorker::FakeWorker(FakeFleet& fleet, const Target& target, const FleetShape& shape,
                       size_t place)
    : fleet_(fleet),
      shape_(shape),
      place_(place),
      name_(shape.prefix + std::to_string(place)),
      stub_(v1::WorkerService::NewStub(fleet.channels_[place])),
      backoff_(kReconnectBackoff, StreamOf(name_)) {}

void FakeWorker::Open() {
  MutexLock lock(mutex_);
  v1::SessionRequest first = Registration(name_, StreamOf(name_), shape_.slots, shape_.hardware);
  for (const auto& [id, lease] : leases_) {
    v1::HeldLease& held = *first.mutable_register_()->add_held();
    held.set_lease_id(id);
    held.set_sequence(lease.sequence);
  }
  session_ = new FakeSession(*this);
  fleet_.SessionOpened(session_);
  session_->Start(std::move(first));
}

void FakeWorker::SayLocked(v1::SessionRequest message) {
  if (session_ != nullptr && welcomed_) session_->Say(std::move(message));
}

void FakeWorker::Say(v1::SessionRequest message) {
  MutexLock lock(mutex_);
  SayLocked(std::move(message));
}

void FakeWorker::Begin(uint64_t lease) {
  MutexLock lock(mutex_);
  const auto found = leases_.find(lease);
  if (found != leases_.end()) SayLocked(Started(lease, found->second.data));
}

void FakeWorker::End(uint64_t lease, uint64_t batches) {
  MutexLock lock(mutex_);
  const auto found = leases_.find(lease);
  if (found == leases_.end()) return;
  found->second.sequence = batches;
  found->second.ended = true;
  SayLocked(Finished(lease, batches, found->second.data));
}

void FakeWorker::Live(uint64_t lease, int batches, int records) {
  MutexLock lock(mutex_);
  const auto found = leases_.find(lease);
  if (found == leases_.end()) return;
  found->second.sequence = static_cast<uint64_t>(batches);
  found->second.ended = true;
  SayLocked(Started(lease, found->second.data));
  for (int i = 1; i <= batches; ++i) SayLocked(Records(lease, static_cast<uint64_t>(i), records));
  SayLocked(Finished(lease, found->second.sequence, found->second.data));
}

void FakeWorker::Heartbeat() {
  MutexLock lock(mutex_);
  v1::SessionRequest message;
  message.mutable_heartbeat();
  for (const auto& [id, lease] : leases_) {
    v1::HeldLease& held = *message.mutable_heartbeat()->add_held();
    held.set_lease_id(id);
    held.set_sequence(lease.sequence);
    held.set_step(10);
    held.set_step_count(100);
  }
  SayLocked(std::move(message));
}

size_t FakeWorker::leases() const {
  MutexLock lock(mutex_);
  return leases_.size();
}

void FakeWorker::On(const v1::SessionResponse& message) {
  switch (message.message_case()) {
    case v1::SessionResponse::kWelcome: return OnWelcome(message.welcome());
    case v1::SessionResponse::kStart: return OnStart(message.start());
    case v1::SessionResponse::kSettled: return OnSettled(message.settled());
    case v1::SessionResponse::kKept:
      if (fleet_.conduct_.kept) {
        fleet_.conduct_.kept(*this, message.kept().lease_id(), message.kept().sequence());
      }
      return;
    case v1::SessionResponse::kStop: {
      ++fleet_.tally_.stopped;
      fleet_.Note("stopped: " + message.stop().reason());
      MutexLock lock(mutex_);
      leases_.erase(message.stop().lease_id());
      return;
    }
    case v1::SessionResponse::MESSAGE_NOT_SET: return;
  }
}

void FakeWorker::OnWelcome(const v1::Welcome& message) {
  fleet_.heartbeat_seconds_ = std::max(0.01, message.heartbeat_interval_ms() / 1000.0);
  {
    MutexLock lock(mutex_);
    welcomed_ = true;
    backoff_.Reset();
    for (const auto& [id, lease] : leases_) {
      if (lease.ended) SayLocked(Finished(id, lease.sequence, lease.data));
    }
  }
  fleet_.tally_.last_welcome = Seconds();
  ++fleet_.tally_.welcomed;
}

void FakeWorker::OnStart(const v1::StartMember& message) {
  {
    MutexLock lock(mutex_);
    const auto [it, is_new] = leases_.try_emplace(message.lease_id());
    if (!is_new) return;  // Said again.
    it->second.since = Seconds();
    it->second.data = DataOf(message.specification());
  }
  ++fleet_.tally_.started;
  if (fleet_.conduct_.start) fleet_.conduct_.start(*this, message);
}

void FakeWorker::OnSettled(const v1::Settled& message) {
  double since = 0;
  {
    MutexLock lock(mutex_);
    const auto found = leases_.extract(message.lease_id());
    if (found.empty()) return;  // Said again.
    since = found.mapped().since;
  }
  if (!message.accepted()) {
    ++fleet_.tally_.refused;
    return fleet_.Note("refused: " + message.reason());
  }
  if (fleet_.conduct_.settled) fleet_.conduct_.settled(*this, Seconds() - since);
  ++fleet_.tally_.settled;
}

void FakeWorker::Closed(const grpc::Status& status) {
  bool was_welcomed = false;
  double wait = 0;
  {
    MutexLock lock(mutex_);
    session_ = nullptr;
    was_welcomed = std::exchange(welcomed_, false);
    wait = absl::ToDoubleSeconds(backoff_.Next());
  }
  if (!status.ok()) fleet_.Note(status.error_message());
  if (was_welcomed) {
    fleet_.tally_.last_loss = Seconds();
    ++fleet_.tally_.lost;
  }
  if (shape_.reconnect) fleet_.ReopenAt(Seconds() + wait, this);
}

FakeFleet::FakeFleet(const Target& target, FleetShape shape, Conduct conduct)
    : conduct_(std::move(conduct)) {
  for (size_t i = 0; i < shape.workers; ++i) channels_.push_back(target.Connect());
  for (size_t i = 0; i < shape.workers; ++i) {
    workers_.push_back(std::make_unique<FakeWorker>(*this, target, shape, i));
  }
  ticker_ = std::thread([this] { Tick(); });
}

FakeFleet::~FakeFleet() { Stop(); }

void FakeFleet::Connect() {
  for (const auto& channel : channels_) (void)channel->GetState(/*try_to_connect=*/true);
  const auto deadline = std::chrono::system_clock::now() + std::chrono::seconds(30);
  for (const auto& channel : channels_) {
    if (!channel->WaitForConnected(deadline)) {
      MustBe(MakeError(absl::StatusCode::kUnavailable, "a fake worker could not connect"));
    }
  }
  for (const auto& worker : workers_) worker->Open();
}

void FakeFleet::ConnectAll() {
  const double deadline = Seconds() + kFleetPatienceSeconds;
  Connect();
  while (tally_.welcomed < workers_.size()) {
    if (Seconds() > deadline) {
      MustBe(MakeError(absl::StatusCode::kUnavailable,
                       "not all fake workers were welcomed: " + problem()));
    }
    WaitUntil(Seconds() + 0.001);
  }
}

void FakeFleet::Stop() {
  {
    MutexLock lock(mutex_);
    if (std::exchange(stopping_, true)) return;
    reopen_.clear();
    for (FakeSession* session : sessions_) session->Cancel();
    while (!sessions_.empty()) changed_.Wait(mutex_);
  }
  changed_.NotifyAll();
  ticker_.join();
}

size_t FakeFleet::leases() const {
  size_t sum = 0;
  for (const auto& worker : workers_) sum += worker->leases();
  return sum;
}

std::string FakeFleet::problem() const {
  MutexLock lock(mutex_);
  return problem_;
}

// Reopens what is due, and lets the workers speak in turn.
void FakeFleet::Tick() {
  double round = Seconds();
  size_t spoken = 0;
  while (true) {
    std::vector<FakeWorker*> due;
    {
      MutexLock lock(mutex_);
      if (stopping_) return;
      (void)changed_.WaitFor(mutex_, absl::Seconds(kTickSeconds));
      if (stopping_) return;
      const auto end = reopen_.upper_bound(Seconds());
      for (auto it = reopen_.begin(); it != end; ++it) due.push_back(it->second);
      reopen_.erase(reopen_.begin(), end);
    }
    for (FakeWorker* worker : due) worker->Open();
    const double share = (Seconds() - round) / heartbeat_seconds_;
    const auto wanted = static_cast<size_t>(share * static_cast<double>(workers_.size()));
    for (; spoken < std::min(wanted, workers_.size()); ++spoken) workers_[spoken]->Heartbeat();
    if (share < 1) continue;
    round = Seconds();
    spoken = 0;
  }
}

void FakeFleet::ReopenAt(double when, FakeWorker* worker) {
  MutexLock lock(mutex_);
  if (!stopping_) reopen_.emplace(when, worker);
}

void FakeFleet::Note(const std::string& problem) {
  MutexLock lock(mutex_);
  if (!stopping_) problem_ = problem;
}

void FakeFleet::SessionOpened(FakeSession* session) {
  MutexLock lock(mutex_);
  sessions_.insert(session);
  if (stopping_) session->Cancel();
}

void FakeFleet::SessionEnded(FakeSession* session) {
  MutexLock lock(mutex_);
  sessions_.erase(session);
  if (sessions_.empty()) changed_.NotifyAll();
}

}  // namespace noisefloor::bench

#include "coordinator/rpc/session_registry.h"

#include <utility>
#include <variant>

#include "fmt/format.h"

#include "coordinator/rpc/worker_session.h"

namespace noisefloor {

SessionId SessionRegistry::Add(WorkerSession* session) {
  MutexLock lock(mutex_);
  const SessionId id{++last_};
  if (!stopping_.ok()) session->Close(stopping_);
  sessions_[id] = session;
  unnamed_.insert(id);
  if (unnamed_.size() > limit_) CloseOldestUnnamed();
  return id;
}

void SessionRegistry::CloseOldestUnnamed() {
  const auto oldest = unnamed_.begin();
  sessions_.at(*oldest)->Close(
      MakeError(absl::StatusCode::kResourceExhausted,
                fmt::format("{} sessions have not registered; no more are waited for", limit_)));
  unnamed_.erase(oldest);
}

absl::StatusOr<std::optional<SessionId>> SessionRegistry::ClaimName(SessionId session,
                                                                    const std::string& name,
                                                                    uint64_t identity) {
  MutexLock lock(mutex_);
  const bool is_new = !names_.contains(name);
  if (is_new && names_.size() >= limit_) {
    return MakeError(absl::StatusCode::kResourceExhausted,
                     fmt::format("{} workers are connected; no more are taken", limit_));
  }
  const auto [it, added] = names_.try_emplace(name, Holder{session, identity});
  unnamed_.erase(session);
  if (added) return std::nullopt;
  if (it->second.identity != identity) {
    return MakeError(absl::StatusCode::kAlreadyExists,
                     fmt::format("a worker named '{}' is connected with identity {}; this one has "
                                 "{}: give one of them another name",
                                 name, it->second.identity, identity));
  }
  const SessionId older = it->second.session;
  it->second.session = session;
  if (const auto found = sessions_.find(older); found != sessions_.end()) {
    found->second->Close(
        MakeError(absl::StatusCode::kAborted,
                  fmt::format("replaced by a newer session of worker '{}'", name)));
  }
  return older;
}

void SessionRegistry::Leave(SessionId session) {
  MutexLock lock(mutex_);
  sessions_.erase(session);
  unnamed_.erase(session);
}

void SessionRegistry::ReleaseName(SessionId session) {
  MutexLock lock(mutex_);
  std::erase_if(names_, [&](const auto& entry) { return entry.second.session == session; });
}

bool SessionRegistry::Deliver(const scheduler::Send& send) {
  const SessionId id = SessionOf(send);
  const auto* close = std::get_if<scheduler::CloseSession>(&send);
  v1::SessionResponse message;  // Made without the lock: it hashes a specification.
  if (close == nullptr) message = ToProto(send, times_);
  MutexLock lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return false;
  if (close != nullptr) {
    found->second->Close(MakeError(absl::StatusCode::kFailedPrecondition, close->reason));
  } else {
    found->second->Send(std::move(message));
  }
  return true;
}

void SessionRegistry::Consumed(SessionId session, size_t events) {
  MutexLock lock(mutex_);
  const auto found = sessions_.find(session);
  if (found != sessions_.end()) found->second->Consumed(events);
}

void SessionRegistry::CloseAll(const absl::Status& why) {
  MutexLock lock(mutex_);
  stopping_ = why;
  for (const auto& [id, session] : sessions_) session->Close(why);
}

}  // namespace noisefloor

#include "coordinator/rpc/access_book.h"

#include <algorithm>
#include <utility>

namespace noisefloor {

namespace {

absl::Status NoLonger(std::string_view why) {
  return MakeError(absl::StatusCode::kUnauthenticated, why);
}

}  // namespace

absl::StatusOr<access::Caller> AccessBook::Check(std::string_view token) const {
  const absl::Time now = clock_.Now();
  MutexLock lock(mutex_);
  return list_.Check(token, now);
}

absl::StatusOr<access::TokenRecord> AccessBook::Reserve(const access::NewToken& wish) {
  MutexLock lock(mutex_);
  return list_.Reserve(wish, clock_.Now());
}

void AccessBook::Keep(const access::TokenRecord& record) {
  MutexLock lock(mutex_);
  list_.Keep(record);
}

void AccessBook::Drop(uint64_t number) {
  MutexLock lock(mutex_);
  list_.Drop(number);
}

absl::StatusOr<std::vector<uint64_t>> AccessBook::ToRevoke(std::string_view identity,
                                                           uint64_t number) const {
  MutexLock lock(mutex_);
  return list_.ToRevoke(identity, number);
}

void AccessBook::Revoke(const std::vector<uint64_t>& numbers) {
  MutexLock lock(mutex_);
  list_.Revoke(numbers, clock_.Now());
  EndWhere(
      [&](const Stream& stream) {
        return std::ranges::find(numbers, stream.token) != numbers.end();
      },
      NoLonger("the token that this was opened with was revoked"));
}

std::vector<access::TokenRecord> AccessBook::Records() const {
  MutexLock lock(mutex_);
  return list_.Records();
}

void AccessBook::EndExpired() {
  const absl::Time now = clock_.Now();
  MutexLock lock(mutex_);
  if (now < next_expiry_) return;
  EndWhere([&](const Stream& stream) { return stream.expires <= now; },
           NoLonger("the token that this was opened with has expired"));
  next_expiry_ = absl::InfiniteFuture();
  for (const auto& [at, stream] : streams_) next_expiry_ = std::min(next_expiry_, stream.expires);
}

void AccessBook::Opened(const void* stream, std::string_view token, Close close) {
  const absl::Time now = clock_.Now();
  MutexLock lock(mutex_);
  const absl::StatusOr<access::Caller> caller = list_.Check(token, now);
  if (!caller.ok()) return close(caller.status());  // Since the gate has looked at it.
  next_expiry_ = std::min(next_expiry_, caller->expires);
  streams_[stream] = Stream{caller->token, caller->expires, std::move(close)};
}

void AccessBook::Ended(const void* stream) {
  MutexLock lock(mutex_);
  streams_.erase(stream);
}

template <typename Over>
void AccessBook::EndWhere(const Over& over, const absl::Status& why) {
  for (auto it = streams_.begin(); it != streams_.end();) {
    if (!over(it->second)) {
      ++it;
      continue;
    }
    it->second.close(why);
    it = streams_.erase(it);
  }
}

}  // namespace noisefloor

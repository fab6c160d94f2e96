// The tokens of a running coordinator and the streams that were opened with them. Checking a token
// touches neither the store nor the loop: what is known is here, and whoever changes it says so.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "coordinator/access/access_list.h"

namespace noisefloor {

// Thread-safe. Lock order: book, then stream.
class AccessBook {
 public:
  // `enforced`: calls over the network need a token. `clock` outlives the book.
  AccessBook(const Clock& clock, std::vector<access::TokenRecord> kept, bool enforced)
      : clock_(clock), enforced_(enforced), list_(std::move(kept)) {}

  bool enforced() const { return enforced_; }
  // Whether a call with this token must prove who it is. In process, where it has none, and where
  // access is not enforced, everybody may do everything.
  bool Asks(std::string_view token) const { return enforced_ && !token.empty(); }
  // As AccessList::Check, now.
  absl::StatusOr<access::Caller> Check(std::string_view token) const ABSL_LOCKS_EXCLUDED(mutex_);

  // As those of AccessList. Revoke also ends the streams that were opened with these tokens.
  absl::StatusOr<access::TokenRecord> Reserve(const access::NewToken& wish)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Keep(const access::TokenRecord& record) ABSL_LOCKS_EXCLUDED(mutex_);
  void Drop(uint64_t number) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::vector<uint64_t>> ToRevoke(std::string_view identity, uint64_t number) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Revoke(const std::vector<uint64_t>& numbers) ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<access::TokenRecord> Records() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends the streams whose tokens have expired. Cheap when there are none; for whoever has a tick.
  void EndExpired() ABSL_LOCKS_EXCLUDED(mutex_);

  using Close = std::function<void(const absl::Status& why)>;
  // `close` is called, at most once, under the book's lock, when the token proves nobody any more:
  // at once if it does so already. It must not call the book, nor block.
  void Opened(const void* stream, std::string_view token, Close close) ABSL_LOCKS_EXCLUDED(mutex_);
  // From here on it is not called. Fine when the stream is not known.
  void Ended(const void* stream) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Stream {
    uint64_t token = 0;
    absl::Time expires;
    Close close;
  };
  template <typename Over>
  void EndWhere(const Over& over, const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock& clock_;
  const bool enforced_;
  mutable Mutex mutex_;
  access::AccessList list_ ABSL_GUARDED_BY(mutex_);
  std::map<const void*, Stream> streams_ ABSL_GUARDED_BY(mutex_);
  absl::Time next_expiry_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();  // Of the streams.
};

// A stream that ends with its token. In process, and where access is not enforced, it is never
// closed from here.
class OpenStream {
 public:
  // The book outlives it. What `close` touches must live until this is destroyed.
  OpenStream(AccessBook& book, std::string_view token, AccessBook::Close close) : book_(book) {
    if (book.Asks(token)) book_.Opened(this, token, std::move(close));
  }
  ~OpenStream() { book_.Ended(this); }
  OpenStream(const OpenStream&) = delete;
  OpenStream& operator=(const OpenStream&) = delete;

 private:
  AccessBook& book_;
};

}  // namespace noisefloor

#include "coordinator/access/access_list.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

#include "common/base/names.h"
#include "coordinator/access/token.h"

namespace noisefloor::access {

namespace {

absl::Status NotProved(std::string_view message) {
  return MakeError(absl::StatusCode::kUnauthenticated, message);
}

absl::Status Refuse(std::string_view message) {
  return MakeError(absl::StatusCode::kFailedPrecondition, message);
}

std::string DayOf(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d", time, absl::UTCTimeZone());
}

absl::StatusOr<Caller> CallerOf(const TokenRecord& record, absl::Time now) {
  if (record.revoked) {
    return NotProved(fmt::format("token {} of {} was revoked on {}", record.number, record.identity,
                                 DayOf(*record.revoked)));
  }
  if (now >= record.expires) {
    return NotProved(
        fmt::format("token {} of {} has expired on {}; an admin makes another with "
                    "`noisefloor access add {}`",
                    record.number, record.identity, DayOf(record.expires), record.identity));
  }
  return Caller{record.identity, record.role, record.number, record.expires};
}

absl::Status CheckWish(const NewToken& wish) {
  if (!IsName(wish.identity)) {
    return InvalidInput(fmt::format("identity: expected {}", kNameRule));
  }
  if (wish.identity == kOwner) {
    return InvalidInput(
        fmt::format("identity: '{}' is whoever owns the data directory; expected "
                    "another name",
                    kOwner));
  }
  if (wish.role == Role::kAny) {
    return InvalidInput("role: expected reader, submitter, worker or admin");
  }
  if (wish.life <= absl::ZeroDuration() || wish.life > kLongestLife) {
    return InvalidInput(
        fmt::format("days: expected 1 to {}", absl::ToInt64Hours(kLongestLife) / 24));
  }
  return absl::OkStatus();
}

}  // namespace

AccessList::AccessList(std::vector<TokenRecord> kept) {
  for (const TokenRecord& record : kept) Keep(record);
}

absl::StatusOr<Caller> AccessList::Check(std::string_view token, absl::Time now) const {
  if (token.empty()) {
    return NotProved(
        "this coordinator wants a token: expected an access file in $NOISEFLOOR_ACCESS or "
        "~/.config/noisefloor/access; an admin makes one with `noisefloor access add`");
  }
  const auto identity = IdentityIn(token);
  if (!identity) return NotProved("the token is none of noisefloor's, or not whole");
  const Sha256Digest sha256 = HashOf(token);
  const auto [first, last] = by_identity_.equal_range(*identity);
  const TokenRecord* found = nullptr;
  for (auto it = first; it != last; ++it) {
    const Entry& entry = tokens_.at(it->second);
    if (entry.kept && SameHash(entry.record.sha256, sha256)) found = &entry.record;
  }
  if (found == nullptr) {
    return NotProved("the token is not known here: another coordinator made it, or it was changed");
  }
  return CallerOf(*found, now);
}

std::vector<const TokenRecord*> AccessList::ActiveOf(std::string_view identity,
                                                     absl::Time now) const {
  std::vector<const TokenRecord*> active;
  const auto [first, last] = by_identity_.equal_range(identity);
  for (auto it = first; it != last; ++it) {
    const TokenRecord& record = tokens_.at(it->second).record;
    if (record.IsActive(now)) active.push_back(&record);
  }
  return active;
}

absl::StatusOr<TokenRecord> AccessList::Reserve(const NewToken& wish, absl::Time now) {
  NF_RETURN_IF_ERROR(CheckWish(wish));
  const std::vector<const TokenRecord*> active = ActiveOf(wish.identity, now);
  if (active.empty() && !wish.role) {
    return InvalidInput(
        fmt::format("role: {} has no active token; expected reader, submitter, "
                    "worker or admin",
                    wish.identity));
  }
  const Role role = wish.role ? *wish.role : active.front()->role;
  if (!active.empty() && active.front()->role != role) {
    return Refuse(
        fmt::format("{} is a {}; `noisefloor access revoke {}` first, or choose another "
                    "name",
                    wish.identity, Name(active.front()->role), wish.identity));
  }
  if (active.size() >= kMostActive) {
    return Refuse(fmt::format(
        "{} has {} active tokens, of which at most {} are; `noisefloor access "
        "revoke {} --token={}` ends the older one",
        wish.identity, active.size(), kMostActive, wish.identity, active.front()->number));
  }
  const auto total = std::ranges::count_if(
      tokens_, [&](const auto& entry) { return entry.second.record.IsActive(now); });
  if (static_cast<size_t>(total) >= kMostTokens) {
    return MakeError(absl::StatusCode::kResourceExhausted,
                     fmt::format("{} tokens are active, and no more can be; revoke some", total));
  }
  TokenRecord record{.number = ++last_,
                     .identity = wish.identity,
                     .role = role,
                     .sha256 = wish.sha256,
                     .created = now,
                     .expires = now + wish.life,
                     .revoked = std::nullopt,
                     .created_by = wish.by};
  tokens_[record.number] = Entry{record, false};
  by_identity_.emplace(record.identity, record.number);
  return record;
}

void AccessList::Keep(const TokenRecord& record) {
  last_ = std::max(last_, record.number);
  const bool added = tokens_.insert_or_assign(record.number, Entry{record, true}).second;
  if (added) by_identity_.emplace(record.identity, record.number);
}

void AccessList::Drop(uint64_t number) {
  tokens_.erase(number);
  std::erase_if(by_identity_, [&](const auto& entry) { return entry.second == number; });
}

absl::StatusOr<std::vector<uint64_t>> AccessList::ToRevoke(std::string_view identity,
                                                           uint64_t number) const {
  std::vector<uint64_t> numbers;
  const auto [first, last] = by_identity_.equal_range(identity);
  for (auto it = first; it != last; ++it) {
    const Entry& entry = tokens_.at(it->second);
    const bool asked = number == 0 || number == it->second;
    if (it->second == 0 || !asked || entry.record.revoked) continue;
    if (!entry.kept) {
      return MakeError(absl::StatusCode::kAborted,
                       fmt::format("a token of {} is being made; try again", identity));
    }
    numbers.push_back(it->second);
  }
  if (!numbers.empty()) return numbers;
  const std::string which = number == 0 ? "token" : fmt::format("token {}", number);
  return MakeError(absl::StatusCode::kNotFound,
                   fmt::format("{} has no {} to revoke; `noisefloor access list` shows them",
                               identity.substr(0, 100), which));
}

void AccessList::Revoke(const std::vector<uint64_t>& numbers, absl::Time now) {
  for (const uint64_t number : numbers) {
    const auto found = tokens_.find(number);
    if (found != tokens_.end() && !found->second.record.revoked) {
      found->second.record.revoked = now;
    }
  }
}

std::vector<TokenRecord> AccessList::Records() const {
  std::vector<TokenRecord> records;
  for (const auto& [number, entry] : tokens_) {
    if (number != 0 && entry.kept) records.push_back(entry.record);
  }
  return records;
}

}  // namespace noisefloor::access

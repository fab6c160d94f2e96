#include "coordinator/rpc/member_token.h"

#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "fmt/format.h"

#include "common/base/ids.h"

namespace noisefloor {

namespace {

using query::OrderBy;

constexpr std::array kOrders = {
    std::pair("member", OrderBy::kMember), std::pair("state", OrderBy::kState),
    std::pair("attempt", OrderBy::kAttempt), std::pair("top1", OrderBy::kTop1),
    std::pair("worker", OrderBy::kWorker)};
constexpr std::string_view kDescending = " desc";

std::optional<query::MemberOrder> FindOrder(std::string_view text) {
  query::MemberOrder order;
  if (text.empty()) return order;
  order.descending = text.ends_with(kDescending);
  if (order.descending) text.remove_suffix(kDescending.size());
  for (const auto& [name, by] : kOrders) {
    if (text != name) continue;
    order.by = by;
    return order;
  }
  return std::nullopt;
}

std::string NameOf(const query::MemberOrder& order) {
  for (const auto& [name, by] : kOrders) {
    if (by == order.by) return name + std::string(order.descending ? kDescending : "");
  }
  return "";
}

std::string KeyText(const query::MemberOrder& order, const query::MemberKey& key) {
  if (key.lacks) return "-";
  if (order.by == OrderBy::kWorker) return "=" + key.text;
  return fmt::format("={}", std::bit_cast<uint64_t>(key.number));
}

std::optional<query::MemberKey> KeyFrom(const query::MemberOrder& order, std::string_view text) {
  query::MemberKey key;
  key.lacks = text == "-";
  if (key.lacks) return key;
  if (!text.starts_with('=')) return std::nullopt;
  text.remove_prefix(1);
  if (order.by == OrderBy::kWorker) {
    key.text = text;
    return key;
  }
  uint64_t bits = 0;
  if (!absl::SimpleAtoi(std::string(text), &bits)) return std::nullopt;
  key.number = std::bit_cast<double>(bits);
  if (std::isnan(key.number)) return std::nullopt;
  return key;
}

}  // namespace

absl::StatusOr<query::MemberOrder> MemberOrderFrom(std::string_view text) {
  if (const auto order = FindOrder(text)) return *order;
  std::string names;
  for (const auto& [name, by] : kOrders) names += (names.empty() ? "" : ", ") + std::string(name);
  return InvalidInput(
      fmt::format("order_by: expected one of {}, or one of them with \"{}\", got '{}'", names,
                  kDescending, text.substr(0, 100)));
}

std::string ToText(const MemberToken& token) {
  if (token.order.plain()) return ToText(token.after);
  return fmt::format("{}/{}/{}", NameOf(token.order), KeyText(token.order, token.key),
                     ToText(token.after));
}

std::optional<MemberToken> ParseMemberToken(std::string_view text) {
  MemberToken token;
  const size_t first = text.find('/');
  const size_t last = text.rfind('/');
  if (first != std::string_view::npos) {
    const auto order = FindOrder(text.substr(0, first));
    if (!order || first == last) return std::nullopt;
    token.order = *order;
    const auto key = KeyFrom(*order, text.substr(first + 1, last - first - 1));
    if (!key) return std::nullopt;
    token.key = *key;
    text.remove_prefix(last + 1);
  }
  const auto after = ParseMemberId(text);
  if (!after) return std::nullopt;
  token.after = *after;
  return token;
}

}  // namespace noisefloor

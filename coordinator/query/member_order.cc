#include "coordinator/query/member_order.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "SQLiteCpp/Statement.h"

#include "coordinator/store/special.h"

namespace noisefloor::query {

namespace {

// Cell and replicate, the key in the third column (what makes it no number in the fourth), by cell
// and replicate.
const char* SqlOf(OrderBy by) {
  switch (by) {
    case OrderBy::kMember: break;
    case OrderBy::kState:
      return "SELECT cell, replicate, state FROM member WHERE sweep = ? ORDER BY cell, replicate";
    case OrderBy::kAttempt:
      return "SELECT cell, replicate, attempt FROM member WHERE sweep = ? ORDER BY cell, replicate";
    case OrderBy::kTop1:
      return "SELECT l.cell, l.replicate, m.value, m.special FROM lease l JOIN attempt a "
             "USING (lease) JOIN attempt_metric m ON m.lease = l.lease AND m.name = 'top1' "
             "WHERE l.sweep = ? AND a.accepted = 1 ORDER BY l.cell, l.replicate";
    case OrderBy::kWorker:
      return "SELECT l.cell, l.replicate, w.name FROM lease l JOIN worker w USING (worker) "
             "WHERE l.sweep = ? ORDER BY l.cell, l.replicate, l.attempt";
  }
  return "SELECT 0, 0 WHERE ? < 0";
}

double NumberOf(std::string_view state) {
  return static_cast<double>(ParseMemberState(state).value_or(MemberState::kWaiting));
}

// What members are put in order by, of one after the other.
class Keys {
 public:
  Keys(SQLite::Database& database, const MemberQuestion& question)
      : by_(question.order.by), row_(database, SqlOf(by_)) {
    row_.bind(1, static_cast<int64_t>(question.sweep.value));
    more_ = row_.executeStep();
    if (by_ != OrderBy::kState) return;
    SQLite::Statement cells(database, "SELECT cell, untouched FROM cell WHERE sweep = ?");
    cells.bind(1, static_cast<int64_t>(question.sweep.value));
    while (cells.executeStep()) {
      untouched_[cells.getColumn(0).getUInt()] = NumberOf(cells.getColumn(1).getString());
    }
  }

  // Of a member after those that were asked for before.
  MemberKey Of(const MemberId& id) {
    MemberKey key = WithoutRow(id);
    for (; more_ && Place() <= std::pair(id.cell, id.replicate); more_ = row_.executeStep()) {
      if (Place() == std::pair(id.cell, id.replicate)) key = OfRow();
    }
    return key;
  }

 private:
  std::pair<uint32_t, uint32_t> Place() {
    return {row_.getColumn(0).getUInt(), row_.getColumn(1).getUInt()};
  }
  MemberKey WithoutRow(const MemberId& id) const {
    MemberKey key;
    key.lacks = by_ == OrderBy::kTop1 || by_ == OrderBy::kWorker;
    if (by_ == OrderBy::kState) key.number = untouched_.at(id.cell);
    return key;
  }
  MemberKey OfRow() {
    MemberKey key;
    switch (by_) {
      case OrderBy::kMember: break;
      case OrderBy::kState: key.number = NumberOf(row_.getColumn(2).getString()); break;
      case OrderBy::kAttempt: key.number = row_.getColumn(2).getDouble(); break;
      case OrderBy::kTop1:
        key.number = FromStored(row_.getColumn(2).getDouble(), row_.getColumn(3).getInt());
        key.lacks = std::isnan(key.number);
        if (key.lacks) key.number = 0;
        break;
      case OrderBy::kWorker: key.text = row_.getColumn(2).getString(); break;
    }
    return key;
  }

  OrderBy by_;
  SQLite::Statement row_;
  bool more_ = false;
  std::map<uint32_t, double> untouched_;  // By cell: the state of its members without a row.
};

bool IsBefore(const MemberOrder& order, const ListedMember& a, const ListedMember& b) {
  if (order.by == OrderBy::kMember) return order.descending ? b.id < a.id : a.id < b.id;
  if (a.key.lacks != b.key.lacks) return b.key.lacks;
  const auto value = [](const MemberKey& key) { return std::tie(key.number, key.text); };
  if (value(a.key) != value(b.key)) {
    return order.descending ? value(b.key) < value(a.key) : value(a.key) < value(b.key);
  }
  return a.id < b.id;
}

}  // namespace

std::vector<ListedMember> FirstInOrder(SQLite::Database& database, const MemberQuestion& question,
                                       const std::vector<MemberId>& ids, size_t most) {
  const auto before = [&](const ListedMember& a, const ListedMember& b) {
    return IsBefore(question.order, a, b);
  };
  Keys keys(database, question);
  std::vector<ListedMember> listed;
  for (const MemberId& id : ids) {
    ListedMember one = {id, keys.Of(id)};
    const bool told = question.after && !before({*question.after, question.after_key}, one);
    if (!told) listed.push_back(std::move(one));
  }
  const auto end = listed.begin() + static_cast<ptrdiff_t>(std::min(most, listed.size()));
  std::partial_sort(listed.begin(), end, listed.end(), before);
  listed.erase(end, listed.end());
  return listed;
}

}  // namespace noisefloor::query

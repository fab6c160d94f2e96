#include "coordinator/query/member_selected.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "SQLiteCpp/Statement.h"

#include "coordinator/query/rows.h"

namespace noisefloor::query {

namespace {

constexpr char kCells[] =
    "SELECT cell, replicates, untouched, plan, hardware, stack, axes FROM cell "
    "WHERE sweep = ? AND cell >= ? ORDER BY cell";

// Of a cell, from `first` on.
struct CellRange {
  MemberId first;
  uint32_t replicates = 0;
  bool with_untouched = false;  // Whether members without a row are asked for, too.
};

template <typename Set, typename Value>
bool Asks(const Set& asked, const Value& value) {
  return asked.empty() || asked.contains(value);
}

// A state that makes no sense is told of where the member is read.
bool HasState(const scheduler::Selection& selection, std::string_view stored) {
  const auto state = ParseMemberState(stored);
  return !state || Asks(selection.states, *state);
}

// The members of cells in order: those that have a row, and between them those that need none.
class TouchedMembers {
 public:
  TouchedMembers(SQLite::Database& database, const scheduler::Selection& selection)
      : selection_(selection),
        of_state_(database,
                  "SELECT replicate, state FROM member WHERE sweep = ? AND cell = ? AND "
                  "replicate >= ? AND state = ? ORDER BY replicate"),
        all_(database,
             "SELECT replicate, state FROM member WHERE sweep = ? AND cell = ? AND replicate >= ? "
             "ORDER BY replicate"),
        worker_(database,
                "SELECT w.name FROM lease l JOIN worker w USING (worker) WHERE l.sweep = ? AND "
                "l.cell = ? AND l.replicate = ? ORDER BY l.attempt DESC LIMIT 1") {}

  // Those that are asked for, until `ids` holds `most`.
  void Append(const CellRange& range, size_t most, std::vector<MemberId>& ids) {
    MemberId next = range.first;
    const bool of_one = !range.with_untouched && selection_.states.size() == 1;
    SQLite::Statement& row = of_one ? of_state_ : all_;
    Bind(row, next);
    if (of_one) row.bind(4, std::string(Name(*selection_.states.begin())));
    while (ids.size() < most && row.executeStep()) {
      const uint32_t touched = row.getColumn(0).getUInt();
      if (range.with_untouched) Fill(next, std::min(touched, range.replicates), most, ids);
      next.replicate = touched;
      const bool asked =
          touched < range.replicates && HasState(selection_, row.getColumn(1).getString());
      if (asked && ids.size() < most && IsNamed(next) && IsOfWorker(next)) ids.push_back(next);
      ++next.replicate;
    }
    if (range.with_untouched) Fill(next, range.replicates, most, ids);
  }

 private:
  static void Bind(SQLite::Statement& statement, const MemberId& id) {
    statement.reset();
    statement.bind(1, static_cast<int64_t>(id.sweep.value));
    statement.bind(2, static_cast<int64_t>(id.cell));
    statement.bind(3, static_cast<int64_t>(id.replicate));
  }
  void Fill(MemberId& next, uint32_t end, size_t most, std::vector<MemberId>& ids) const {
    for (; next.replicate < end && ids.size() < most; ++next.replicate) {
      if (IsNamed(next)) ids.push_back(next);
    }
  }
  bool IsNamed(const MemberId& id) const {
    return selection_.members.empty() || selection_.members.contains({id.cell, id.replicate});
  }
  bool IsOfWorker(const MemberId& id) {
    if (selection_.workers.empty()) return true;
    Bind(worker_, id);
    return worker_.executeStep() && selection_.workers.contains(worker_.getColumn(0).getString());
  }

  const scheduler::Selection& selection_;
  SQLite::Statement of_state_;
  SQLite::Statement all_;
  SQLite::Statement worker_;
};

// A row of kCells.
sweep::Cell CellIn(SQLite::Statement& row, bool with_axes) {
  sweep::Cell cell;
  cell.index = row.getColumn(0).getUInt();
  cell.replicates = row.getColumn(1).getUInt();
  cell.plan = row.getColumn(3).getString();
  cell.hardware = row.getColumn(4).getString();
  cell.stack = row.getColumn(5).getString();
  if (with_axes) cell.axes = SettingsIn(row.getColumn(6).getString());
  return cell;
}

bool IsOfCell(const scheduler::Selection& selection, const sweep::Cell& cell) {
  return Asks(selection.cells, cell.index) && Asks(selection.plans, cell.plan) &&
         Asks(selection.hardware, cell.hardware) && Asks(selection.stacks, cell.stack) &&
         scheduler::HasAxes(selection, cell.axes);
}

}  // namespace

absl::Status CheckSelection(SQLite::Database& database, const MemberQuestion& question) {
  const scheduler::Selection& selection = question.selection;
  const bool names_nothing = selection.plans.empty() && selection.hardware.empty() &&
                             selection.stacks.empty() && selection.cells.empty() &&
                             selection.members.empty() && selection.axes.empty();
  if (names_nothing || question.after) return absl::OkStatus();
  SQLite::Statement cells(database, kCells);
  cells.bind(1, static_cast<int64_t>(question.sweep.value));
  cells.bind(2, 0);
  scheduler::SelectionCheck check(question.sweep, selection);
  while (cells.executeStep()) check.Add(CellIn(cells, !selection.axes.empty()));
  const std::string fault = check.Fault();
  return fault.empty() ? absl::OkStatus() : InvalidInput(fault);
}

std::vector<MemberId> FindSelected(SQLite::Database& database, const MemberQuestion& question,
                                   const std::optional<MemberId>& after, size_t most) {
  const MemberId last = after.value_or(MemberId{});
  const scheduler::Selection& selection = question.selection;
  SQLite::Statement cells(database, kCells);
  cells.bind(1, static_cast<int64_t>(question.sweep.value));
  cells.bind(2, static_cast<int64_t>(last.cell));
  TouchedMembers touched(database, selection);
  std::vector<MemberId> ids;
  while (ids.size() < most && cells.executeStep()) {
    const sweep::Cell cell = CellIn(cells, !selection.axes.empty());
    if (!IsOfCell(selection, cell)) continue;
    const bool begun = after && cell.index == last.cell;
    const CellRange range = {
        {question.sweep, cell.index, begun ? last.replicate + 1 : 0},
        cell.replicates,
        selection.workers.empty() && HasState(selection, cells.getColumn(2).getString())};
    touched.Append(range, most, ids);
  }
  return ids;
}

}  // namespace noisefloor::query

#include "coordinator/query/member_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "SQLiteCpp/Statement.h"

#include "common/base/reason.h"
#include "common/files/sha256.h"
#include "common/trainer_protocol/specification_template.h"
#include "common/trainer_protocol/steps.h"
#include "coordinator/query/event_reader.h"
#include "coordinator/query/member_reader.h"
#include "coordinator/query/member_selection.h"
#include "coordinator/query/sweep_rows.h"
#include "coordinator/query/to_proto.h"
#include "coordinator/store/hash_bytes.h"
#include "coordinator/store/specification_rows.h"
#include "coordinator/store/sweep_json.h"
#include "coordinator/sweep/sweep.h"

namespace noisefloor::query {

namespace {

constexpr size_t kMostPageBytes = size_t{4} << 20;  // A message may have 16 MiB.

// How far it is, while it runs.
void FillProgress(const MemberId& id, const LiveFacts& live, v1::Member& member) {
  if (member.state() != v1::MEMBER_STATE_LEASED) return;
  const std::optional<Progress> progress = live.attempt(id);
  if (!progress) return;
  member.set_step(progress->step);
  if (progress->step_count > 0) member.set_step_count(progress->step_count);
}

// Specifications of one sweep's members: as they were sent, or as they would be.
class Specifications {
 public:
  static absl::StatusOr<Specifications> Of(SQLite::Database& database, uint64_t sweep) {
    Specifications out(database);
    SQLite::Statement row(database,
                          "SELECT definition FROM sweep WHERE sweep = ? AND deleted_us IS NULL");
    row.bind(1, static_cast<int64_t>(sweep));
    if (!row.executeStep()) {
      return NoSweep(sweep, fmt::format("s{}: no such sweep", sweep));
    }
    NF_ASSIGN_OR_RETURN(out.content_, SweepFromJson(row.getColumn(0).getString()));
    out.cells_ = sweep::Expand(out.content_);
    SQLite::Statement data(database, "SELECT data_set, identity FROM sweep_data WHERE sweep = ?");
    data.bind(1, static_cast<int64_t>(sweep));
    while (data.executeStep()) {
      out.identities_[data.getColumn(0).getString()] = data.getColumn(1).getString();
    }
    return out;
  }

  // Fills in what depends on the specification.
  absl::Status Complete(const MemberId& id, const LiveFacts& live, v1::Member& member) {
    if (id.cell >= cells_.size()) return absl::OkStatus();
    const Shared& shared = SharedWith(member);
    NF_ASSIGN_OR_RETURN(std::string sent, Sent(id));
    member.set_specification(sent.empty() ? shared.text.ForReplicate(id.replicate)
                                          : std::move(sent));
    member.set_specification_sha256(Sha256Hex(member.specification()));
    member.set_step_count(shared.steps);
    if (member.state() == v1::MEMBER_STATE_DONE) member.set_step(shared.steps);
    FillProgress(id, live, member);
    return absl::OkStatus();
  }

 private:
  explicit Specifications(SQLite::Database& database)
      : sent_(database,
              "SELECT specification_sha256 FROM lease WHERE sweep = ? AND cell = ? AND "
              "replicate = ? ORDER BY attempt DESC LIMIT 1"),
        texts_(database) {}

  // What its last attempt was given; empty: it has had none.
  absl::StatusOr<std::string> Sent(const MemberId& id) {
    sent_.reset();
    sent_.bind(1, static_cast<int64_t>(id.sweep.value));
    sent_.bind(2, static_cast<int64_t>(id.cell));
    sent_.bind(3, static_cast<int64_t>(id.replicate));
    if (!sent_.executeStep()) return "";
    return texts_.Of(id, content_.seed, HashText(sent_.getColumn(0).getString()));
  }

  // What the members of a cell share, as their trainers would be given it now.
  struct Shared {
    uint32_t cell = 0;
    SpecificationTemplate text;
    int64_t steps = 0;
  };

  // Remembers the last cell.
  const Shared& SharedWith(const v1::Member& member) {
    if (shared_ && shared_->cell == member.cell()) return *shared_;
    sweep::Cell cell = cells_[member.cell()];
    cell.hardware = member.hardware();
    cell.stack = member.stack();
    const std::optional<Specification> training = sweep::CellReader(content_).Of(cell);
    const auto identity = identities_.find(sweep::CellText(content_, cell, sweep::kDataName));
    shared_ = {
        cell.index,
        sweep::TemplateOf(content_, cell, identity == identities_.end() ? "" : identity->second),
        training ? PlannedSteps(*training) : 0};
    return *shared_;
  }

  SQLite::Statement sent_;
  SpecificationRows texts_;
  sweep::Sweep content_;
  std::vector<sweep::Cell> cells_;
  std::map<std::string, std::string> identities_;
  std::optional<Shared> shared_;
};

}  // namespace

absl::StatusOr<MemberId> FindMember(SQLite::Database& database, const std::string& text) {
  const std::optional<MemberId> id = ParseMemberId(text);
  if (!id) {
    return InvalidInput(fmt::format("member: expected a name like s3c12r4, got \"{}\"",
                                    std::string_view(text).substr(0, 100)));
  }
  NF_RETURN_IF_ERROR(FindSweep(database, id->sweep.value).status());
  SQLite::Statement row(database,
                        "SELECT 1 FROM cell WHERE sweep = ? AND cell = ? AND replicates > ?");
  row.bind(1, static_cast<int64_t>(id->sweep.value));
  row.bind(2, static_cast<int64_t>(id->cell));
  row.bind(3, static_cast<int64_t>(id->replicate));
  if (row.executeStep()) return *id;
  return Because(MakeError(absl::StatusCode::kNotFound, text + ": no such member in this sweep"),
                 Reason::kMemberNotFound, {{"member", text}});
}

namespace {

// Of a cell, from `first` on.
struct CellRange {
  MemberId first;
  uint32_t replicates = 0;
  bool with_untouched = false;  // Whether members without a row are asked for, too.
};

// The members of cells in order: those that have a row, and between them those that need none.
class TouchedMembers {
 public:
  TouchedMembers(SQLite::Database& database, const MemberFilter& filter)
      : filter_(filter),
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
    const bool of_one = !range.with_untouched && filter_.states.size() == 1;
    SQLite::Statement& row = of_one ? of_state_ : all_;
    Bind(row, next);
    if (of_one) row.bind(4, *filter_.states.begin());
    while (ids.size() < most && row.executeStep()) {
      const uint32_t touched = row.getColumn(0).getUInt();
      if (range.with_untouched) Fill(next, std::min(touched, range.replicates), most, ids);
      next.replicate = touched;
      const bool asked =
          touched < range.replicates && filter_.HasState(row.getColumn(1).getString());
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
    return filter_.members.empty() || filter_.members.contains({id.cell, id.replicate});
  }
  bool IsOfWorker(const MemberId& id) {
    if (filter_.workers.empty()) return true;
    Bind(worker_, id);
    return worker_.executeStep() && filter_.workers.contains(worker_.getColumn(0).getString());
  }

  const MemberFilter& filter_;
  SQLite::Statement of_state_;
  SQLite::Statement all_;
  SQLite::Statement worker_;
};

bool IsOfCell(const MemberFilter& filter, SQLite::Statement& cell) {
  const auto has = [](const auto& asked, const auto& value) {
    return asked.empty() || asked.contains(value);
  };
  return has(filter.cells, cell.getColumn(0).getUInt()) &&
         has(filter.plans, cell.getColumn(3).getString()) &&
         has(filter.hardware, cell.getColumn(4).getString()) &&
         has(filter.stacks, cell.getColumn(5).getString());
}

// The members of a page after `last`, and one more if there is one.
absl::StatusOr<std::vector<MemberId>> PageOf(SQLite::Database& database, uint64_t sweep,
                                             const v1::ListMembersRequest& request, uint32_t size) {
  int64_t cell = -1;
  int64_t replicate = -1;
  if (!request.page_token().empty()) {
    const std::optional<MemberId> last = ParseMemberId(request.page_token());
    if (!last || last->sweep.value != sweep) {
      return InvalidInput("page_token: not one of an earlier answer about this sweep");
    }
    cell = last->cell;
    replicate = last->replicate;
  }
  NF_ASSIGN_OR_RETURN(const MemberFilter filter, FilterOf(request, SweepId{sweep}));
  SQLite::Statement cells(database,
                          "SELECT cell, replicates, untouched, plan, hardware, stack FROM cell "
                          "WHERE sweep = ? AND cell >= ? ORDER BY cell");
  cells.bind(1, static_cast<int64_t>(sweep));
  cells.bind(2, std::max<int64_t>(cell, 0));
  TouchedMembers touched(database, filter);
  std::vector<MemberId> ids;
  while (ids.size() <= size && cells.executeStep()) {
    if (!IsOfCell(filter, cells)) continue;
    const uint32_t index = cells.getColumn(0).getUInt();
    const int64_t after = index == cell ? replicate : -1;
    const CellRange range = {
        {SweepId{sweep}, index, static_cast<uint32_t>(after + 1)},
        cells.getColumn(1).getUInt(),
        filter.workers.empty() && filter.HasState(cells.getColumn(2).getString())};
    touched.Append(range, size + 1, ids);
  }
  return ids;
}

}  // namespace

absl::StatusOr<v1::ListMembersResponse> ReadMembers(SQLite::Database& database,
                                                    const v1::ListMembersRequest& request,
                                                    const LiveFacts& live) {
  NF_ASSIGN_OR_RETURN(const uint32_t size, PageSize(request.page_size()));
  if (!v1::MemberState_IsValid(request.state())) {
    return InvalidInput(
        fmt::format("state: expected one of MemberState, got {}", int{request.state()}));
  }
  if (!v1::MemberView_IsValid(request.view())) {
    return InvalidInput(
        fmt::format("view: expected one of MemberView, got {}", int{request.view()}));
  }
  NF_ASSIGN_OR_RETURN(const uint64_t sweep, FindSweep(database, request.sweep_id()));
  NF_ASSIGN_OR_RETURN(const std::vector<MemberId> ids, PageOf(database, sweep, request, size));
  const v1::MemberView view =
      request.view() == v1::MEMBER_VIEW_FULL ? v1::MEMBER_VIEW_FULL : v1::MEMBER_VIEW_BASIC;
  std::optional<Specifications> specifications;
  if (view == v1::MEMBER_VIEW_FULL) {
    NF_ASSIGN_OR_RETURN(specifications, Specifications::Of(database, sweep));
  }
  MemberReader reader(database);
  v1::ListMembersResponse response;
  size_t bytes = 0;
  for (const MemberId& id : ids) {
    if (response.members_size() == static_cast<int>(size) || bytes >= kMostPageBytes) {
      response.set_next_page_token(response.members(response.members_size() - 1).id());
      break;
    }
    std::optional<v1::Member> member = reader.Read(id, view);
    if (!member) continue;
    if (specifications) {
      // One whose specification is damaged is listed without it; GetMember says why.
      const absl::Status completed = specifications->Complete(id, live, *member);
      if (!completed.ok() && !absl::IsDataLoss(completed)) return completed;
    } else {
      FillProgress(id, live, *member);
    }
    bytes += member->ByteSizeLong();
    *response.add_members() = *std::move(member);
  }
  return response;
}

absl::StatusOr<v1::GetMemberResponse> ReadMember(SQLite::Database& database,
                                                 const v1::GetMemberRequest& request,
                                                 const LiveFacts& live) {
  NF_ASSIGN_OR_RETURN(const MemberId id, FindMember(database, request.member()));
  NF_ASSIGN_OR_RETURN(Specifications specifications, Specifications::Of(database, id.sweep.value));
  MemberReader reader(database);
  std::optional<v1::Member> member = reader.Read(id, v1::MEMBER_VIEW_FULL);
  v1::GetMemberResponse response;
  if (member) {
    NF_RETURN_IF_ERROR(specifications.Complete(id, live, *member));
    *response.mutable_member() = *std::move(member);
  }
  for (std::string& line : reader.History(id)) response.add_history(std::move(line));
  EventReader events(database);
  for (v1::Event& event : events.OfMember(id)) *response.add_events() = std::move(event);
  for (v1::Event& event : events.AskedOfSweep(id.sweep)) {
    response.add_history(fmt::format("at {} UTC: {} by {}", TimeText(event.unix_micros()),
                                     event.text(), event.caller()));
    *response.add_events() = std::move(event);
  }
  std::ranges::stable_sort(*response.mutable_events(), {}, &v1::Event::unix_micros);
  return response;
}

absl::StatusOr<BlobName> ReadArtifactName(SQLite::Database& database,
                                          const v1::GetArtifactRequest& request) {
  NF_ASSIGN_OR_RETURN(const MemberId id, FindMember(database, request.member()));
  SQLite::Statement row(
      database,
      "SELECT f.sha256, f.size_bytes, f.collected_us FROM artifact f JOIN attempt a "
      "USING (lease) JOIN lease l USING (lease) WHERE l.sweep = ? "
      "AND l.cell = ? AND l.replicate = ? AND f.kind = ? "
      "ORDER BY a.accepted DESC, l.attempt DESC, f.path DESC LIMIT 1");
  row.bind(1, static_cast<int64_t>(id.sweep.value));
  row.bind(2, static_cast<int64_t>(id.cell));
  row.bind(3, static_cast<int64_t>(id.replicate));
  row.bind(4, request.kind());
  if (row.executeStep() && row.getColumn(2).isNull()) {
    return BlobName{row.getColumn(0).getString(),
                    static_cast<uint64_t>(row.getColumn(1).getInt64())};
  }
  const ReasonMetadata which = {{"member", request.member()}, {"kind", request.kind()}};
  if (row.hasRow()) {
    return Because(
        MakeError(
            absl::StatusCode::kNotFound,
            fmt::format(
                "{}: its file of kind \"{}\" was removed to make room on {} UTC; its hash is {}",
                request.member(), request.kind(),
                absl::FormatTime("%Y-%m-%d %H:%M",
                                 absl::FromUnixMicros(row.getColumn(2).getInt64()),
                                 absl::UTCTimeZone()),
                row.getColumn(0).getString())),
        Reason::kArtifactNotFound, which);
  }
  return Because(MakeError(absl::StatusCode::kNotFound,
                           fmt::format("{}: no attempt at it has kept \"{}\"", request.member(),
                                       std::string_view(request.kind()).substr(0, 100))),
                 Reason::kArtifactNotFound, which);
}

}  // namespace noisefloor::query

#include "coordinator/query/member_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "SQLiteCpp/Statement.h"

#include "common/base/reason.h"
#include "common/files/sha256.h"
#include "common/trainer_protocol/specification_template.h"
#include "common/trainer_protocol/steps.h"
#include "coordinator/query/event_reader.h"
#include "coordinator/query/member_order.h"
#include "coordinator/query/member_reader.h"
#include "coordinator/query/member_selected.h"
#include "coordinator/query/rows.h"
#include "coordinator/query/sweep_rows.h"
#include "coordinator/store/hash_bytes.h"
#include "coordinator/store/specification_rows.h"
#include "coordinator/store/sweep_json.h"
#include "coordinator/sweep/sweep.h"

namespace noisefloor::query {

namespace {

constexpr size_t kMostPageBytes = size_t{4} << 20;  // A message may have 16 MiB.

// How far it is, while it runs.
void FillProgress(const LiveFacts& live, Member& member) {
  if (member.state != MemberState::kLeased) return;
  const std::optional<Progress> progress = live.attempt(member.id);
  if (!progress) return;
  member.progress.step = progress->step;
  if (progress->step_count > 0) member.progress.step_count = progress->step_count;
}

// What a message that holds it takes, and a little more.
size_t BytesOf(const Member& member) {
  constexpr size_t kOfAnEntry = 32;  // Numbers and lengths.
  size_t bytes = 4 * kOfAnEntry + member.plan.size() + member.hardware.size() +
                 member.stack.size() + member.worker.size() + member.specification.size() +
                 member.specification_sha256.size() + 2 * kOfAnEntry * member.sources.size();
  for (const auto& [path, value] : member.axes) {
    bytes += kOfAnEntry + path.size() + ToText(value).size();
  }
  if (!member.outcome) return bytes;
  const ingest::AttemptOutcome& attempt = member.outcome->attempt;
  bytes += kOfAnEntry + attempt.message.size() + attempt.environment.size() +
           attempt.data_identity.size() + sizeof(double) * attempt.per_class_accuracy.size();
  for (const auto& [name, hash] : attempt.hashes) bytes += kOfAnEntry + name.size() + hash.size();
  for (const auto& [name, value] : attempt.metrics) bytes += kOfAnEntry + name.size();
  for (const Artifact& file : attempt.artifacts) {
    bytes += kOfAnEntry + file.kind.size() + file.path.size() + file.sha256.size();
  }
  return bytes;
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
  absl::Status Complete(const LiveFacts& live, Member& member) {
    const MemberId& id = member.id;
    if (id.cell >= cells_.size()) return absl::OkStatus();
    const Shared& shared = SharedWith(member);
    NF_ASSIGN_OR_RETURN(std::string sent, Sent(id));
    member.specification = sent.empty() ? shared.text.ForReplicate(id.replicate) : std::move(sent);
    member.specification_sha256 = Sha256Hex(member.specification);
    member.progress.step_count = shared.steps;
    if (member.state == MemberState::kDone) member.progress.step = shared.steps;
    FillProgress(live, member);
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
  const Shared& SharedWith(const Member& member) {
    if (shared_ && shared_->cell == member.id.cell) return *shared_;
    sweep::Cell cell = cells_[member.id.cell];
    cell.hardware = member.hardware;
    cell.stack = member.stack;
    const std::optional<Specification> training = sweep::CellReader(content_).Of(cell);
    const auto identity = identities_.find(sweep::CellDataSet(content_, cell));
    shared_ = {
        cell.index,
        sweep::TemplateOf(content_, cell, identity == identities_.end() ? "" : identity->second),
        training && !content_.inference ? PlannedSteps(*training) : 0};
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

absl::Status CheckThereIs(SQLite::Database& database, const MemberId& member) {
  NF_RETURN_IF_ERROR(FindSweep(database, member.sweep.value).status());
  SQLite::Statement row(database,
                        "SELECT 1 FROM cell WHERE sweep = ? AND cell = ? AND replicates > ?");
  row.bind(1, static_cast<int64_t>(member.sweep.value));
  row.bind(2, static_cast<int64_t>(member.cell));
  row.bind(3, static_cast<int64_t>(member.replicate));
  if (row.executeStep()) return absl::OkStatus();
  const std::string name = ToText(member);
  return Because(MakeError(absl::StatusCode::kNotFound, name + ": no such member in this sweep"),
                 Reason::kMemberNotFound, {{"member", name}});
}

namespace {

// The members of a page, and one more if there is one.
std::vector<ListedMember> PageOf(SQLite::Database& database, const MemberQuestion& question) {
  const size_t most = size_t{question.most} + 1;
  if (!question.order.plain()) {
    const std::vector<MemberId> all =
        FindSelected(database, question, std::nullopt, std::numeric_limits<size_t>::max());
    return FirstInOrder(database, question, all, most);
  }
  std::vector<ListedMember> listed;
  for (const MemberId& id : FindSelected(database, question, question.after, most)) {
    listed.push_back({id, {}});
  }
  return listed;
}

}  // namespace

absl::StatusOr<MemberPage> ReadMembers(SQLite::Database& database, const MemberQuestion& question,
                                       const LiveFacts& live) {
  NF_RETURN_IF_ERROR(FindSweep(database, question.sweep.value).status());
  NF_RETURN_IF_ERROR(CheckSelection(database, question));
  std::optional<Specifications> specifications;
  if (question.view == MemberView::kFull) {
    NF_ASSIGN_OR_RETURN(specifications, Specifications::Of(database, question.sweep.value));
  }
  MemberReader reader(database);
  MemberPage page;
  page.order = question.order;
  size_t bytes = 0;
  MemberKey key;  // Of the last one that is told.
  for (auto& [id, next_key] : PageOf(database, question)) {
    if (page.members.size() == question.most || bytes >= kMostPageBytes) {
      page.after = page.members.back().id;
      page.after_key = std::move(key);
      break;
    }
    NF_ASSIGN_OR_RETURN(std::optional<Member> member, reader.Read(id, question.view));
    if (!member) continue;
    if (specifications) {
      // One whose specification is damaged is listed without it; GetMember says why.
      const absl::Status completed = specifications->Complete(live, *member);
      if (!completed.ok() && !absl::IsDataLoss(completed)) return completed;
    } else {
      FillProgress(live, *member);
    }
    bytes += BytesOf(*member);
    page.members.push_back(*std::move(member));
    key = std::move(next_key);
  }
  return page;
}

absl::StatusOr<MemberWhole> ReadMember(SQLite::Database& database, const MemberId& id,
                                       const LiveFacts& live) {
  NF_RETURN_IF_ERROR(CheckThereIs(database, id));
  NF_ASSIGN_OR_RETURN(Specifications specifications, Specifications::Of(database, id.sweep.value));
  MemberReader reader(database);
  NF_ASSIGN_OR_RETURN(std::optional<Member> member, reader.Read(id, MemberView::kFull));
  MemberWhole whole;
  if (member) {
    NF_RETURN_IF_ERROR(specifications.Complete(live, *member));
    whole.member = *std::move(member);
  }
  whole.history = reader.History(id);
  EventReader events(database);
  whole.events = events.OfMember(id);
  for (Event& event : events.AskedOfSweep(id.sweep)) {
    whole.history.push_back(
        fmt::format("at {} UTC: {} by {}", TimeText(event.unix_micros), event.text, event.caller));
    whole.events.push_back(std::move(event));
  }
  std::ranges::stable_sort(whole.events, {}, &Event::unix_micros);
  return whole;
}

absl::StatusOr<BlobName> ReadArtifactName(SQLite::Database& database, const MemberId& id,
                                          const std::string& kind) {
  NF_RETURN_IF_ERROR(CheckThereIs(database, id));
  SQLite::Statement row(
      database,
      "SELECT f.sha256, f.size_bytes, f.collected_us FROM artifact f JOIN attempt a "
      "USING (lease) JOIN lease l USING (lease) WHERE l.sweep = ? "
      "AND l.cell = ? AND l.replicate = ? AND f.kind = ? "
      "ORDER BY a.accepted DESC, l.attempt DESC, f.path DESC LIMIT 1");
  row.bind(1, static_cast<int64_t>(id.sweep.value));
  row.bind(2, static_cast<int64_t>(id.cell));
  row.bind(3, static_cast<int64_t>(id.replicate));
  row.bind(4, kind);
  if (row.executeStep() && row.getColumn(2).isNull()) {
    return BlobName{row.getColumn(0).getString(),
                    static_cast<uint64_t>(row.getColumn(1).getInt64())};
  }
  const std::string member = ToText(id);
  const ReasonMetadata which = {{"member", member}, {"kind", kind}};
  if (row.hasRow()) {
    return Because(
        MakeError(
            absl::StatusCode::kNotFound,
            fmt::format(
                "{}: its file of kind \"{}\" was removed to make room on {} UTC; its hash is {}",
                member, kind,
                absl::FormatTime("%Y-%m-%d %H:%M",
                                 absl::FromUnixMicros(row.getColumn(2).getInt64()),
                                 absl::UTCTimeZone()),
                row.getColumn(0).getString())),
        Reason::kArtifactNotFound, which);
  }
  return Because(MakeError(absl::StatusCode::kNotFound,
                           fmt::format("{}: it has no file of kind \"{}\", as no attempt at it has "
                                       "ended with one",
                                       member, std::string_view(kind).substr(0, 100))),
                 Reason::kArtifactNotFound, which);
}

}  // namespace noisefloor::query

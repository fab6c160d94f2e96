#include "coordinator/query/study_attempts.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "SQLiteCpp/Statement.h"

#include "common/files/sha256.h"
#include "common/trainer_protocol/hardware_class.h"
#include "common/trainer_protocol/measured.h"
#include "coordinator/query/rows.h"
#include "coordinator/report/json_facts.h"
#include "coordinator/store/hash_bytes.h"
#include "coordinator/store/special.h"

namespace noisefloor::query {

namespace {

using report::CellInput;
using report::MemberInput;

// What an environment says of where an attempt ran; empty where it says nothing.
struct Origin {
  std::string build;
  std::string fingerprint;
  std::string gpu;                        // UUID of the GPU that was used.
  std::vector<std::string> gpu_software;  // As kGpuSoftware.
};

Origin OriginOf(const std::string& environment, const CellInput& cell) {
  std::map<std::string, std::string, std::less<>> facts;
  for (auto& [key, value] : report::FlattenObject(environment)) facts[key] = std::move(value);
  Origin origin;
  origin.build = facts["build"];
  origin.fingerprint = facts["stack_fingerprint"];
  // A GPU that was seen by a trainer of a CPU class did not train.
  if (!IsGpuClass(cell.hardware)) return origin;
  origin.gpu = facts["gpu.uuid"];
  for (const std::string_view key : report::kGpuSoftware) {
    const auto fact = facts.find(key);
    origin.gpu_software.push_back(fact == facts.end() ? "" : fact->second);
  }
  return origin;
}

// Attempts with equal ones ran on the same software, as far as they say.
std::vector<std::string> SoftwareOf(const Origin& origin) {
  std::vector<std::string> software = {origin.build, origin.fingerprint};
  software.insert(software.end(), origin.gpu_software.begin(), origin.gpu_software.end());
  return software;
}

// The result of a lease that had been lost.
struct Late {
  int64_t lease = 0;
  size_t member = 0;
  bool damaged = false;  // Its environment is.
  std::string data_identity;
  std::vector<std::string> software;
};

struct Attempts {
  LeasePlaces accepted;
  std::vector<Late> late;
  std::map<uint32_t, std::set<std::vector<std::string>>> software;  // Of each cell's accepted ones.
};

// The environment that the attempt names, with what was measured in it; empty where it names none.
// Nothing when that is not what was kept.
std::optional<std::string> EnvironmentOf(SQLite::Statement& row) {
  if (row.getColumn(13).getInt() == 0) return "";
  const std::string facts = row.getColumn(8).getString();
  if (Sha256Hex(facts) != row.getColumn(10).getString()) return std::nullopt;
  const std::string measured = row.getColumn(11).getString();
  if (!measured.empty() && !SplitEnvironment(measured).ok()) return std::nullopt;
  return JoinEnvironment(facts, measured);
}

void Accept(SQLite::Statement& row, const std::string& environment, const Origin& origin,
            MemberInput& member) {
  member.seconds = FromStored(row.getColumn(5).getDouble(), row.getColumn(6).getInt());
  member.unit = row.getColumn(7).getString();
  // A worker of version 0.1 has one unit for all its GPUs, UUIDs with spaces between them.
  const bool one_of_several = !origin.gpu.empty() && member.unit.find(' ') != std::string::npos &&
                              member.unit.find(origin.gpu) != std::string::npos;
  if (one_of_several) member.unit = origin.gpu;
  member.environment_json = environment;
  member.per_class_accuracy = NumbersIn(row.getColumn(12).getString());
  member.trainer_build = origin.build;
  member.stack_fingerprint = origin.fingerprint;
}

Attempts ReadEnds(SQLite::Database& database, uint64_t sweep, const MemberPlaces& places,
                  StudyRows& rows) {
  std::map<uint32_t, const CellInput*> cells;
  for (const CellInput& cell : rows.input.cells) cells[cell.index] = &cell;
  Attempts attempts;
  SQLite::Statement row(
      database,
      "SELECT l.lease, l.cell, l.replicate, a.accepted, a.outcome, "
      "a.train_seconds, a.train_seconds_special, u.name, e.facts, "
      "d.sha256, e.sha256, a.measured, a.class_accuracy, a.environment IS NOT NULL "
      "FROM lease l JOIN attempt a USING (lease) LEFT JOIN unit u USING (unit) "
      "LEFT JOIN environment e ON e.environment = a.environment "
      "LEFT JOIN data_identity d ON d.data_identity = a.data_identity "
      "WHERE l.sweep = ? ORDER BY l.lease");
  row.bind(1, static_cast<int64_t>(sweep));
  while (row.executeStep()) {
    const auto place = places.find({row.getColumn(1).getUInt(), row.getColumn(2).getUInt()});
    if (place == places.end()) continue;
    MemberInput& member = rows.input.members[place->second];
    const std::optional<std::string> environment = EnvironmentOf(row);
    const Origin origin = OriginOf(environment.value_or(""), *cells.at(member.cell));
    const int64_t lease = row.getColumn(0).getInt64();
    if (row.getColumn(3).getInt() != 0) {
      attempts.accepted[lease] = place->second;
      if (environment) {
        attempts.software[member.cell].insert(SoftwareOf(origin));
      } else {
        rows.warnings.push_back({"warning", member.id,
                                 "Its environment in the store is damaged and left out: what it "
                                 "ran on is not known."});
      }
      Accept(row, environment.value_or(""), origin, member);
    } else if (row.getColumn(4).getString() != "failed") {
      attempts.late.push_back(
          {lease, place->second, !environment, row.getColumn(9).getString(), SoftwareOf(origin)});
    }
  }
  return attempts;
}

// Why the bits of a late result need not be those of the member's cohort; empty: they must.
std::string_view NoCheckBecause(const Late& late, const Attempts& attempts, const StudyRows& rows) {
  const uint32_t cell = rows.input.members[late.member].cell;
  const auto pinned = rows.identities.find(rows.evaluation.at(cell).data_set);
  if (pinned != rows.identities.end() && late.data_identity != pinned->second) {
    return "it was over other data";
  }
  if (late.damaged) return "its environment in the store is damaged";
  const auto software = attempts.software.find(cell);
  if (software == attempts.software.end() || !software->second.contains(late.software)) {
    return "it came from other software, or does not say from which";
  }
  return "";
}

using HashPlaces = std::map<int64_t, report::Hashes*>;  // By lease.

// Room in its member for each late result that is a check of bits.
void PlaceLate(const Attempts& attempts, StudyRows& rows, HashPlaces& hashes) {
  std::map<int64_t, std::pair<size_t, size_t>> places;  // lease -> member, place in duplicates
  for (const Late& late : attempts.late) {
    MemberInput& member = rows.input.members[late.member];
    const std::string_view because = NoCheckBecause(late, attempts, rows);
    if (because.empty()) {
      places[late.lease] = {late.member, member.duplicates.size()};
      member.duplicates.emplace_back();
    } else {
      rows.warnings.push_back(
          {"note", member.id,
           fmt::format("The late result of lease {} is no check of its bits: {}.", late.lease,
                       because)});
    }
  }
  for (const auto& [lease, place] : places) {
    hashes[lease] = &rows.input.members[place.first].duplicates[place.second];
  }
}

// "weights_at/2" goes to place 1 of weights_at.
void SetHash(std::string_view name, const std::string& sha256, report::Hashes& hashes) {
  constexpr std::string_view kAt = "weights_at/";
  if (name == "init") hashes.init = sha256;
  if (name == "first_batches") hashes.first_batches = sha256;
  if (name == "weights") hashes.weights = sha256;
  if (name == "logits") hashes.logits = sha256;
  if (name == "deterministic/weights") hashes.deterministic_weights = sha256;
  if (name == "plan/weights") hashes.plan_weights = sha256;
  if (!name.starts_with(kAt)) return;
  const uint64_t evaluation = UnsignedOf(name.substr(kAt.size()));
  if (evaluation < 1 || evaluation > 100000) return;
  if (hashes.weights_at.size() < evaluation) hashes.weights_at.resize(evaluation);
  hashes.weights_at[evaluation - 1] = sha256;
}

void ReadHashes(SQLite::Database& database, uint64_t sweep, const HashPlaces& places) {
  SQLite::Statement row(database,
                        "SELECT h.lease, h.name, h.sha256 FROM lease l JOIN attempt_hash h "
                        "USING (lease) WHERE l.sweep = ?");
  row.bind(1, static_cast<int64_t>(sweep));
  while (row.executeStep()) {
    const auto place = places.find(row.getColumn(0).getInt64());
    if (place == places.end()) continue;
    SetHash(row.getColumn(1).getString(), HashText(row.getColumn(2).getString()), *place->second);
  }
}

}  // namespace

LeasePlaces ReadAttempts(SQLite::Database& database, uint64_t sweep, const MemberPlaces& places,
                         StudyRows& rows) {
  Attempts attempts = ReadEnds(database, sweep, places, rows);
  HashPlaces hashes;
  for (const auto& [lease, member] : attempts.accepted) {
    hashes[lease] = &rows.input.members[member].hashes;
  }
  PlaceLate(attempts, rows, hashes);
  ReadHashes(database, sweep, hashes);
  return std::move(attempts.accepted);
}

}  // namespace noisefloor::query

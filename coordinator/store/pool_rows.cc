#include "coordinator/store/pool_rows.h"

#include <optional>

#include "SQLiteCpp/Statement.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"

#include "coordinator/store/database.h"
#include "coordinator/store/recover_check.h"
#include "coordinator/store/sweep_json.h"

namespace noisefloor {

namespace {

using Json = nlohmann::json;

absl::Status Unreadable(std::string_view what, std::string_view text) {
  return MakeError(absl::StatusCode::kInternal,
                   std::string(what) + " of a pool: " + std::string(text));
}

absl::Duration SecondsIn(const Json& json, const char* key) {
  return absl::Seconds(json.at(key).get<double>());
}

absl::Time Later(const SQLite::Column& column) {
  return column.isNull() ? absl::InfiniteFuture() : absl::FromUnixMicros(column.getInt64());
}

absl::StatusOr<fleet::PoolRecord> PoolAt(SQLite::Statement& row) {
  fleet::PoolRecord pool;
  pool.number = static_cast<uint64_t>(row.getColumn(0).getInt64());
  const std::string name = "pool " + std::to_string(pool.number);
  absl::StatusOr<fleet::PoolWish> wish = WishFromJson(row.getColumn(1).getString());
  if (!wish.ok()) return Damaged(name, Message(wish.status()));
  pool.wish = *std::move(wish);
  pool.tag = row.getColumn(2).getString();
  const int state = row.getColumn(3).getInt();
  if (state < 1 || state > 3) return Damaged(name, "state " + std::to_string(state));
  pool.state = static_cast<fleet::PoolState>(state);
  pool.why = row.getColumn(4).getString();
  const absl::Status learned = LearnedFromJson(row.getColumn(5).getString(), pool);
  if (!learned.ok()) return Damaged(name, Message(learned));
  pool.created_by = row.getColumn(6).getString();
  pool.created = absl::FromUnixMicros(row.getColumn(7).getInt64());
  pool.forgiven = static_cast<uint64_t>(row.getColumn(8).getInt64());
  return pool;
}

absl::StatusOr<fleet::LaunchRecord> LaunchAt(SQLite::Statement& row) {
  fleet::LaunchRecord launch;
  launch.number = static_cast<uint64_t>(row.getColumn(0).getInt64());
  launch.pool = static_cast<uint64_t>(row.getColumn(1).getInt64());
  launch.nonce = row.getColumn(2).getString();
  launch.index = row.getColumn(3).getUInt();
  launch.stays = row.getColumn(4).getInt() != 0;
  launch.job = row.getColumn(5).getString();
  const int phase = row.getColumn(6).getInt();
  const int end = row.getColumn(7).getInt();
  const bool ended = phase == static_cast<int>(fleet::LaunchPhase::kEnded);
  if (phase < 1 || phase > 4 || end < 0 || end > 6 || ended != (end != 0)) {
    return Damaged("launch " + std::to_string(launch.number),
                   "phase " + std::to_string(phase) + ", ending " + std::to_string(end));
  }
  launch.phase = static_cast<fleet::LaunchPhase>(phase);
  launch.end = static_cast<fleet::LaunchEnd>(end);
  launch.reason = row.getColumn(8).getString();
  launch.node = row.getColumn(9).getString();
  launch.heard = row.getColumn(10).getInt() != 0;
  launch.created = absl::FromUnixMicros(row.getColumn(11).getInt64());
  launch.began = Later(row.getColumn(12));
  launch.ended = Later(row.getColumn(13));
  return launch;
}

absl::StatusOr<KeptFleet> ReadFleet(SQLite::Database& database) {
  KeptFleet kept;
  SQLite::Statement pools(database,
                          "SELECT pool, wish, tag, state, why, learned, created_by, created_us, "
                          "forgiven "
                          "FROM pool WHERE gone_us IS NULL ORDER BY pool");
  while (pools.executeStep()) {
    NF_ASSIGN_OR_RETURN(fleet::PoolRecord pool, PoolAt(pools));
    kept.pools.push_back(std::move(pool));
  }
  SQLite::Statement launches(
      database,
      "SELECT launch, pool, nonce, place, stays, job, phase, ending, reason, node, heard, "
      "created_us, began_us, ended_us FROM (SELECT *, row_number() OVER (PARTITION BY pool, "
      "phase = 4 ORDER BY ended_us DESC, launch DESC) AS latest FROM launch "
      "JOIN (SELECT pool FROM pool WHERE gone_us IS NULL) USING (pool)) "
      "WHERE phase <> 4 OR latest <= 20 ORDER BY launch");
  while (launches.executeStep()) {
    NF_ASSIGN_OR_RETURN(fleet::LaunchRecord launch, LaunchAt(launches));
    kept.launches.push_back(std::move(launch));
  }
  SQLite::Statement used(database,
                         "SELECT pool, sum(ended_us - began_us) FROM launch WHERE phase = 4 AND "
                         "began_us IS NOT NULL AND ended_us > began_us GROUP BY pool");
  while (used.executeStep()) {
    kept.used[static_cast<uint64_t>(used.getColumn(0).getInt64())] =
        absl::Microseconds(used.getColumn(1).getInt64());
  }
  const auto last = [&](const char* sql) {
    SQLite::Statement row(database, sql);
    return row.executeStep() ? static_cast<uint64_t>(row.getColumn(0).getInt64()) : 0;
  };
  kept.last_pool = last("SELECT coalesce(max(pool), 0) FROM pool");
  kept.last_launch = last("SELECT coalesce(max(launch), 0) FROM launch");
  return kept;
}

}  // namespace

absl::StatusOr<KeptFleet> ReadFleet(const std::string& home) {
  const std::string path = DatabasePath(home);
  NF_ASSIGN_OR_RETURN(const auto database, OpenForReading(path));
  try {
    return ReadFleet(*database);
  } catch (const SQLite::Exception& error) {
    return ToStatus(error, "reading " + path);
  }
}

std::string WishToJson(const fleet::PoolWish& wish) {
  return Dump({{"name", wish.name},
               {"hardware", wish.hardware},
               {"cluster", wish.cluster},
               {"worker", wish.worker},
               {"prologue", wish.prologue},
               {"program", wish.program},
               {"access", wish.access},
               {"logs", wish.logs},
               {"min", wish.least},
               {"max", wish.most},
               {"backlog", wish.backlog},
               {"idle", absl::ToDoubleSeconds(wish.idle)},
               {"time_limit", absl::ToDoubleSeconds(wish.time_limit)},
               {"drain_before", absl::ToDoubleSeconds(wish.drain_before)},
               {"gpu_hours", wish.gpu_hours}});
}

absl::StatusOr<fleet::PoolWish> WishFromJson(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Unreadable("wish", text);
  try {
    fleet::PoolWish wish;
    json.at("name").get_to(wish.name);
    json.at("hardware").get_to(wish.hardware);
    json.at("cluster").get_to(wish.cluster);
    json.at("worker").get_to(wish.worker);
    json.at("prologue").get_to(wish.prologue);
    json.at("program").get_to(wish.program);
    json.at("access").get_to(wish.access);
    json.at("logs").get_to(wish.logs);
    json.at("min").get_to(wish.least);
    json.at("max").get_to(wish.most);
    json.at("backlog").get_to(wish.backlog);
    wish.idle = SecondsIn(json, "idle");
    wish.time_limit = SecondsIn(json, "time_limit");
    wish.drain_before = SecondsIn(json, "drain_before");
    json.at("gpu_hours").get_to(wish.gpu_hours);
    return wish;
  } catch (const Json::exception& error) {
    return Unreadable("wish", error.what());
  }
}

std::string LearnedToJson(const fleet::PoolRecord& pool) {
  if (pool.classes.empty()) return "";
  return Dump({{"classes", pool.classes}, {"stacks", pool.stacks}, {"slots", pool.slots}});
}

absl::Status LearnedFromJson(std::string_view text, fleet::PoolRecord& pool) {
  if (text.empty()) return absl::OkStatus();
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Unreadable("what was learned", text);
  try {
    json.at("classes").get_to(pool.classes);
    json.at("stacks").get_to(pool.stacks);
    json.at("slots").get_to(pool.slots);
    return absl::OkStatus();
  } catch (const Json::exception& error) {
    return Unreadable("what was learned", error.what());
  }
}

}  // namespace noisefloor

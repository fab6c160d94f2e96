#include "coordinator/store/stack_rows.h"

#include <map>
#include <utility>

#include "SQLiteCpp/Statement.h"

#include "common/trainer_protocol/fields.h"
#include "coordinator/store/database.h"
#include "coordinator/store/hash_bytes.h"
#include "coordinator/store/recover_check.h"

namespace noisefloor {

namespace {

// Of the row that max() chooses are the other columns, too. Inventories are large: only those that
// are looked at are read.
constexpr const char* kOfferedSql =
    "WITH looked_at AS (SELECT worker, name, inventory, seen_us, forgotten FROM worker "
    "WHERE worker IN (SELECT worker FROM worker ORDER BY forgotten, seen_us DESC LIMIT ?)) "
    "SELECT offer.value ->> '$.stack' AS stack, coalesce(offer.value ->> '$.schema', ''), worker, "
    "name, max(seen_us), forgotten "
    "FROM looked_at, json_each(looked_at.inventory, '$.offers') AS offer "
    "WHERE stack <> '' GROUP BY stack, forgotten ORDER BY stack, forgotten";

// Each parsed once.
class Schemas {
 public:
  explicit Schemas(SQLite::Database& database)
      : row_(database, "SELECT settings FROM settings_schema WHERE identity = ?") {}

  absl::StatusOr<SettingsSchemaRef> Of(const std::string& identity, const std::string& worker) {
    if (SettingsSchemaRef known = BuiltInSchema(identity)) return known;
    if (const auto known = read_.find(identity); known != read_.end()) return known->second;
    const std::string key = HashBytes(identity);
    row_.reset();
    row_.bind(1, key.data(), static_cast<int>(key.size()));
    if (!row_.executeStep()) {
      return Damaged("worker " + worker, "there are no settings " + identity);
    }
    absl::StatusOr<SettingsSchema> schema = SettingsSchema::FromJson(row_.getColumn(0).getString());
    if (!schema.ok()) return Damaged("settings " + identity, Message(schema.status()));
    if (schema->identity() != identity) return Damaged("settings " + identity, "other settings");
    return read_[identity] = std::make_shared<const SettingsSchema>(*std::move(schema));
  }

 private:
  SQLite::Statement row_;
  std::map<std::string, SettingsSchemaRef> read_;
};

absl::StatusOr<std::vector<OfferedStack>> Read(SQLite::Database& database) {
  std::vector<OfferedStack> stacks;
  Schemas schemas(database);
  SQLite::Statement row(database, kOfferedSql);
  row.bind(1, kMostStackWorkers);
  while (row.executeStep()) {
    std::string stack = row.getColumn(0).getString();
    if (!stacks.empty() && stacks.back().stack == stack) continue;  // By one that is forgotten.
    const auto worker = static_cast<uint64_t>(row.getColumn(2).getInt64());
    NF_ASSIGN_OR_RETURN(SettingsSchemaRef schema,
                        schemas.Of(row.getColumn(1).getString(), std::to_string(worker)));
    stacks.push_back({std::move(stack), std::move(schema), WorkerId{worker},
                      row.getColumn(3).getString(),
                      absl::FromUnixMicros(row.getColumn(4).getInt64())});
  }
  return stacks;
}

}  // namespace

absl::StatusOr<std::vector<OfferedStack>> ReadOfferedStacks(const std::string& home) {
  const std::string path = DatabasePath(home);
  NF_ASSIGN_OR_RETURN(const auto database, OpenForReading(path));
  try {
    return Read(*database);
  } catch (const SQLite::Exception& error) {
    return ToStatus(error, "reading the stacks of workers in " + path);
  }
}

}  // namespace noisefloor

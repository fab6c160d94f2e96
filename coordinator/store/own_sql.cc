#include "coordinator/store/own_sql.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "SQLiteCpp/Exception.h"

#include "common/base/noise_source.h"
#include "common/base/seed.h"
#include "coordinator/store/database.h"

namespace noisefloor {

namespace {

// Of this connection: what is derived is not in the file. A connection that only reads may have
// views of its own, but not with query_only.
constexpr const char* kOwnViews =
    "PRAGMA query_only = OFF;"
    "CREATE TEMP VIEW v_seed AS "
    "SELECT l.member, l.sweep, l.cell, l.replicate, l.source, l.state, l.block, l.lane,"
    "       nf_seed(s.seed, l.source, l.block, l.lane) AS seed "
    "FROM v_lane l JOIN sweep s ON s.sweep = l.sweep;"
    "PRAGMA query_only = ON;";

std::string_view TextAt(sqlite3_value* value) {
  const unsigned char* text = sqlite3_value_text(value);
  return text == nullptr ? std::string_view()
                         : std::string_view(reinterpret_cast<const char*>(text),
                                            static_cast<size_t>(sqlite3_value_bytes(value)));
}

template <typename Number>
std::optional<Number> NumberAt(sqlite3_value* value) {
  const std::string_view text = TextAt(value);
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

void Seed(sqlite3_context* context, int, sqlite3_value** values) {
  for (int i = 0; i < 4; ++i) {
    if (sqlite3_value_type(values[i]) == SQLITE_NULL) return;  // NULL, as of SQLite's own.
  }
  const auto sweep = NumberAt<uint64_t>(values[0]);
  const auto source = ParseNoiseSource(TextAt(values[1]));
  const auto block = NumberAt<uint32_t>(values[2]);
  const auto lane = NumberAt<uint32_t>(values[3]);
  if (!sweep || !source || !block || !lane) {
    return sqlite3_result_error(
        context, "nf_seed: expected a sweep's seed, a noise source, a block and a lane", -1);
  }
  const std::string seed = std::to_string(DeriveSeed(*sweep, *source, {*block, *lane}));
  sqlite3_result_text64(context, seed.data(), seed.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

// What reads, and nothing else: no other file, no setting, no checkpoint.
int OnlyReads(void*, int action, const char* name, const char*, const char*, const char*) {
  constexpr std::string_view kPragmas[] = {"table_info", "table_xinfo", "table_list"};
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
    case SQLITE_FUNCTION: return SQLITE_OK;
    case SQLITE_PRAGMA:
      return std::ranges::find(kPragmas, std::string_view(name)) != std::end(kPragmas)
                 ? SQLITE_OK
                 : SQLITE_DENY;
    case SQLITE_UPDATE:  // SQLite's own way to declare a table-valued function; nobody else may.
      return std::string_view(name) == "sqlite_master" ? SQLITE_OK : SQLITE_DENY;
    default: return SQLITE_DENY;
  }
}

// "line 2, column 8: "; nothing where SQLite names no place.
std::string PlaceOf(std::string_view sql, int offset) {
  if (offset < 0) return "";
  const std::string_view before = sql.substr(0, static_cast<size_t>(offset));
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0.
  return fmt::format("line {}, column {}: ", std::ranges::count(before, '\n') + 1,
                     before.size() - line_start + 1);
}

absl::Status Refusal(sqlite3* database, std::string_view sql) {
  if ((sqlite3_errcode(database) & 0xFF) == SQLITE_AUTH) {
    return InvalidInput("only reads: expected SELECT, WITH, VALUES or EXPLAIN");
  }
  return InvalidInput(PlaceOf(sql, sqlite3_error_offset(database)) + sqlite3_errmsg(database));
}

struct Finalise {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalise>;

bool IsNothing(std::string_view sql) {
  return sql.find_first_not_of(" \t\r\n;") == std::string_view::npos;
}

absl::StatusOr<Statement> Prepare(sqlite3* database, const std::string& sql) {
  constexpr std::string_view kOne = "expected one statement, got ";
  sqlite3_stmt* made = nullptr;
  const char* tail = nullptr;
  const int code =
      sqlite3_prepare_v2(database, sql.c_str(), static_cast<int>(sql.size()) + 1, &made, &tail);
  Statement statement(made);
  if (code != SQLITE_OK) return Refusal(database, sql);
  if (statement == nullptr) return InvalidInput(fmt::format("{}nothing", kOne));
  while (tail != nullptr && !IsNothing(tail)) {  // Comments may follow.
    sqlite3_stmt* more = nullptr;
    const char* rest = nullptr;
    const int next = sqlite3_prepare_v2(database, tail, -1, &more, &rest);
    const Statement second(more);
    if (next != SQLITE_OK || second != nullptr) return InvalidInput(fmt::format("{}several", kOne));
    tail = rest;
  }
  return statement;
}

std::string BytesAt(sqlite3_stmt* row, int column) {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(row, column));
  return bytes == nullptr
             ? ""
             : std::string(bytes, static_cast<size_t>(sqlite3_column_bytes(row, column)));
}

SqlValue ValueAt(sqlite3_stmt* row, int column) {
  switch (sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER: return int64_t{sqlite3_column_int64(row, column)};
    case SQLITE_FLOAT: return sqlite3_column_double(row, column);
    case SQLITE_TEXT: return BytesAt(row, column);
    case SQLITE_BLOB: return SqlBlob{BytesAt(row, column)};
    default: return std::monostate();
  }
}

}  // namespace

absl::StatusOr<OwnSql> OwnSql::Open(const std::string& home) {
  const std::string path = DatabasePath(home);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return MakeError(absl::StatusCode::kNotFound, path + ": missing");
  }
  NF_ASSIGN_OR_RETURN(auto database, OpenForReading(path));
  try {
    database->createFunction("nf_seed", 4, true, nullptr, Seed);
    database->exec(kOwnViews);
  } catch (const SQLite::Exception& problem) {
    return ToStatus(problem, "reading " + path);
  }
  sqlite3_set_authorizer(database->getHandle(), OnlyReads, nullptr);
  return OwnSql(std::move(database));
}

absl::Status OwnSql::Ask(const std::string& sql, SqlAnswer& answer) {
  sqlite3* const database = database_->getHandle();
  NF_ASSIGN_OR_RETURN(const Statement statement, Prepare(database, sql));
  const int columns = sqlite3_column_count(statement.get());
  std::vector<std::string> names;
  for (int i = 0; i < columns; ++i) names.emplace_back(sqlite3_column_name(statement.get(), i));
  answer.Columns(std::move(names));
  int code = sqlite3_step(statement.get());
  for (; code == SQLITE_ROW; code = sqlite3_step(statement.get())) {
    std::vector<SqlValue> values;
    for (int i = 0; i < columns; ++i) values.push_back(ValueAt(statement.get(), i));
    answer.Row(std::move(values));
  }
  if (code == SQLITE_DONE) return absl::OkStatus();
  const int kind = code & 0xFF;  // SQLITE_AUTH: of what VACUUM does inside.
  if (kind == SQLITE_ERROR || kind == SQLITE_AUTH) return Refusal(database, sql);
  return ToStatus(SQLite::Exception(database, code), "reading " + database_->getFilename());
}

}  // namespace noisefloor

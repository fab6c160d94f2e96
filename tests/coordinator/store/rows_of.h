// What a query of people's gives, as text.
#pragma once

#include <string>
#include <vector>

#include "SQLiteCpp/Database.h"
#include "SQLiteCpp/Statement.h"

namespace noisefloor {

// Each row as its columns with a bar between.
inline std::vector<std::string> RowsOf(SQLite::Database& database, const std::string& sql) {
  SQLite::Statement row(database, sql);
  std::vector<std::string> rows;
  while (row.executeStep()) {
    std::string text;
    for (int i = 0; i < row.getColumnCount(); ++i) {
      const SQLite::Column column = row.getColumn(i);
      text += (i == 0 ? "" : "|") + (column.isNull() ? "NULL" : column.getString());
    }
    rows.push_back(text);
  }
  return rows;
}

}  // namespace noisefloor

// Numbers that may be not finite, in two columns: SQLite would keep a nan as NULL.
#pragma once

#include <cmath>
#include <limits>

#include "SQLiteCpp/Column.h"

namespace noisefloor {

// 0 finite, 1 nan, 2 +inf, 3 -inf.
inline int SpecialOf(double value) {
  if (std::isfinite(value)) return 0;
  if (std::isnan(value)) return 1;
  return value > 0 ? 2 : 3;
}

inline double StoredValue(double value) { return std::isfinite(value) ? value : 0; }

// Of a column that has infinite values themselves, and NULL for a nan.
inline double ValueAt(const SQLite::Column& column) {
  return column.isNull() ? std::numeric_limits<double>::quiet_NaN() : column.getDouble();
}

inline double FromStored(double value, int special) {
  switch (special) {
    case 1: return std::numeric_limits<double>::quiet_NaN();
    case 2: return std::numeric_limits<double>::infinity();
    case 3: return -std::numeric_limits<double>::infinity();
    default: return value;
  }
}

}  // namespace noisefloor

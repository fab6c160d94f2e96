-- What trainers publish of their settings. Sweeps and workers of before have those of version 0.2,
-- which told nobody.

CREATE TABLE settings_schema (
  identity BLOB PRIMARY KEY,    -- SHA-256 of all but the words for people
  settings TEXT NOT NULL        -- JSON: path, kind, limits, default and help of each
) STRICT, WITHOUT ROWID;

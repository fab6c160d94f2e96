-- What trainers publish of their settings. Sweeps and workers of before have those of version 0.2,
-- which told nobody.

CREATE TABLE settings_schema (
  identity BLOB PRIMARY KEY,    -- SHA-256 of all but the words for people
  settings TEXT NOT NULL        -- JSON: path, kind, limits, default and help of each
) STRICT, WITHOUT ROWID;

-- Who did what, and who may do it.

ALTER TABLE sweep ADD COLUMN owner TEXT NOT NULL DEFAULT '';  -- who submitted it; '' = not known
ALTER TABLE event ADD COLUMN caller TEXT NOT NULL DEFAULT '';  -- who asked for it

CREATE TABLE token (
  token      INTEGER PRIMARY KEY,  -- its number
  identity   TEXT    NOT NULL,     -- whose it is
  role       INTEGER NOT NULL,     -- as in access.proto: 2 reader, 3 submitter, 4 worker, 5 admin
  sha256     BLOB    NOT NULL,     -- 32 bytes: of the token
  created_us INTEGER NOT NULL,
  expires_us INTEGER NOT NULL,
  revoked_us INTEGER,              -- NULL: it was not
  created_by TEXT    NOT NULL      -- '' = not known
) STRICT;

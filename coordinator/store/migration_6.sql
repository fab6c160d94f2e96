-- What trainers publish of their settings. Sweeps and workers of before have those of version 0.2,
-- which told nobody.

CREATE TABLE settings_schema (
  identity BLOB PRIMARY KEY,    -- SHA-256 of all but the words for people
  settings TEXT NOT NULL        -- JSON: path, kind, limits, default and help of each
) STRICT, WITHOUT ROWID;

-- Who did what, and who may do it.

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

-- Sweeps have owners and share the fleet as people say; workers and devices are taken out of use.

ALTER TABLE sweep ADD COLUMN owner        TEXT    NOT NULL DEFAULT '';  -- who submitted it; '' = not known
ALTER TABLE sweep ADD COLUMN priority     INTEGER NOT NULL DEFAULT 0;   -- higher ones go first
ALTER TABLE sweep ADD COLUMN paused       INTEGER NOT NULL DEFAULT 0;   -- 1: its members get no leases
ALTER TABLE sweep ADD COLUMN max_failures INTEGER NOT NULL DEFAULT 0;   -- it stops at so many; 0 = never
ALTER TABLE sweep ADD COLUMN archived     INTEGER NOT NULL DEFAULT 0;   -- 1: left out of lists
ALTER TABLE sweep ADD COLUMN revision     INTEGER NOT NULL DEFAULT 0;   -- how often notes or tags changed

ALTER TABLE worker ADD COLUMN drained INTEGER NOT NULL DEFAULT 0;  -- 1: a person lets it take nothing

-- Devices that a person took out of use.
CREATE TABLE quarantine (
  worker INTEGER NOT NULL REFERENCES worker,
  unit   TEXT    NOT NULL,   -- GPU UUID, or what a host's processors are called; '' = all of the worker
  PRIMARY KEY (worker, unit)
) STRICT, WITHOUT ROWID;

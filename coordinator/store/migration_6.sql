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

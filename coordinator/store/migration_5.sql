-- A worker is what it has: its devices, slots and offers, in its own words. A lease names its slot
-- and the device of that slot; units are kept once. Sweeps have kinds. Views are dropped before and
-- made anew after.

ALTER TABLE sweep ADD COLUMN kind TEXT NOT NULL DEFAULT 'train';  -- what its members do
ALTER TABLE sweep ADD COLUMN of_sweep     INTEGER;  -- member that they are about; of 'train' NULL
ALTER TABLE sweep ADD COLUMN of_cell      INTEGER;
ALTER TABLE sweep ADD COLUMN of_replicate INTEGER;

CREATE TABLE unit_5 (
  unit INTEGER PRIMARY KEY,
  name TEXT    NOT NULL UNIQUE  -- GPU UUID; of processors the host's name and their model
) STRICT;

CREATE TABLE worker_5 (
  worker    INTEGER PRIMARY KEY,
  name      TEXT    NOT NULL,
  identity  TEXT    NOT NULL,   -- random number of its state directory
  inventory TEXT    NOT NULL,   -- JSON: its devices, offers and slots, and what it withholds
  version   TEXT    NOT NULL,
  seen_us   INTEGER NOT NULL,   -- last time it opened a session
  forgotten INTEGER NOT NULL DEFAULT 0  -- 1: it has gone for good; its leases keep its name
) STRICT;

-- What it offers it says when it comes back.
INSERT INTO worker_5
SELECT worker, name, identity,
       json_object('devices', json_array(json_object('unit', unit))), version, seen_us, forgotten
FROM worker;

-- Of a worker with several GPUs the unit was all of them; its environment tells which one it was.
CREATE TEMP TABLE unit_of_lease AS
SELECT l.lease, coalesce(iif(c.hardware LIKE 'nvidia-%' AND json_valid(e.facts),
                             json_extract(e.facts, '$.gpu.uuid'), NULL), w.unit) AS name
FROM lease l JOIN worker w USING (worker) JOIN cell c USING (sweep, cell)
     LEFT JOIN attempt a USING (lease) LEFT JOIN environment e USING (environment);

INSERT INTO unit_5 (name) SELECT DISTINCT name FROM unit_of_lease ORDER BY name;

CREATE TABLE lease_5 (
  lease       INTEGER PRIMARY KEY,
  sweep       INTEGER NOT NULL,
  cell        INTEGER NOT NULL,
  replicate   INTEGER NOT NULL,
  attempt     INTEGER NOT NULL,          -- number of the attempt at this member, from 1
  worker      INTEGER NOT NULL REFERENCES worker,
  slot        INTEGER,                   -- of the worker; NULL: granted before version 0.2
  unit        INTEGER NOT NULL REFERENCES unit,  -- the device of that slot
  specification_sha256 BLOB NOT NULL,    -- 32 bytes: of what the trainer was given
  granted_us  INTEGER NOT NULL,
  dropped_us  INTEGER,                   -- NULL while it is live
  drop_cause  TEXT    NOT NULL DEFAULT '',  -- cause class of the drop; 'none': its result was accepted
  drop_reason TEXT    NOT NULL DEFAULT '',  -- in words
  UNIQUE (sweep, cell, replicate, attempt),
  FOREIGN KEY (sweep, cell) REFERENCES cell
) STRICT;

INSERT INTO lease_5
SELECT l.lease, l.sweep, l.cell, l.replicate, l.attempt, l.worker, NULL, u.unit,
       l.specification_sha256, l.granted_us, l.dropped_us, l.drop_cause, l.drop_reason
FROM lease l JOIN unit_of_lease o USING (lease) JOIN unit_5 u USING (name);

DROP TABLE unit_of_lease;
DROP TABLE lease;
DROP TABLE worker;
DROP TABLE unit;
ALTER TABLE unit_5 RENAME TO unit;
ALTER TABLE worker_5 RENAME TO worker;
ALTER TABLE lease_5 RENAME TO lease;
CREATE INDEX lease_live ON lease (lease) WHERE dropped_us IS NULL;
CREATE INDEX lease_lost ON lease (lease) WHERE drop_cause <> 'none' AND dropped_us IS NOT NULL;

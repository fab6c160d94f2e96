-- The data of one noisefloor directory. Times are microseconds since 1970 (UTC), `_us`. Numbers
-- that may be not finite have a column beside them: 0 finite, 1 nan, 2 +inf, 3 -inf; the value is
-- then 0, because SQLite would keep a nan as NULL. Numbers of 64 bits without a sign (seeds) are
-- decimal text. Hashes are SHA-256: hexadecimal text, or a blob of 32 bytes where the column says so.
-- Views for people are in views.sql.

CREATE TABLE sweep (
  sweep                INTEGER PRIMARY KEY,  -- "s3" is 3
  name                 TEXT    NOT NULL,
  specification_sha256 TEXT    NOT NULL,     -- of the canonical form: equal sweeps, equal hashes
  request_id           TEXT    NOT NULL,     -- made by the client; '' = none
  seed                 TEXT    NOT NULL,     -- seed of all seeds
  replicates           INTEGER NOT NULL,     -- members of a cell
  blocks               INTEGER NOT NULL,     -- independent repetitions of the fixed lanes
  definition           TEXT    NOT NULL,     -- the whole resolved sweep, JSON
  notes                TEXT    NOT NULL,
  tags                 TEXT    NOT NULL,     -- JSON object
  submitted_us         INTEGER NOT NULL,
  file                 TEXT    NOT NULL DEFAULT '',  -- as submitted; '' = there was none
  kind                 TEXT    NOT NULL DEFAULT 'train',  -- what its members do: 'train', 'replay', 'infer', 'measure'
  of_sweep             INTEGER,              -- member that they are about; of 'train' NULL
  of_cell              INTEGER,              -- of 'infer' NULL, too: see inference
  of_replicate         INTEGER,
  owner        TEXT    NOT NULL DEFAULT '',  -- who submitted it; '' = not known
  priority     INTEGER NOT NULL DEFAULT 0,   -- higher ones go first
  paused       INTEGER NOT NULL DEFAULT 0,   -- 1: its members get no leases
  max_failures INTEGER NOT NULL DEFAULT 0,   -- it stops at so many; 0 = never
  archived     INTEGER NOT NULL DEFAULT 0,   -- 1: left out of lists
  revision     INTEGER NOT NULL DEFAULT 0,   -- how often notes, tags or its extent changed
  pardoned     INTEGER NOT NULL DEFAULT 0,   -- failed members that no longer count (max_failures)
  limits       TEXT    NOT NULL DEFAULT '{}', -- JSON object: class -> members that may run at once
  deleted_us   INTEGER,                      -- NULL: it was not; else its rows go, and this one stays
  deleted_lease INTEGER NOT NULL DEFAULT 0,  -- the highest lease of then: none is used again
  weight       INTEGER NOT NULL DEFAULT 1,   -- its part of what its owner gets
  gpu_hours    REAL    NOT NULL DEFAULT 0    -- when it has used so many, nothing more begins; 0 = no bound
) STRICT;
CREATE INDEX sweep_deleted ON sweep (sweep) WHERE deleted_us IS NOT NULL;
CREATE UNIQUE INDEX sweep_by_request ON sweep (request_id) WHERE request_id <> '';
CREATE INDEX sweep_by_hash ON sweep (specification_sha256);

-- What owners of sweeps get against each other, where people have said so. No row: 1.
CREATE TABLE share (
  owner  TEXT    NOT NULL PRIMARY KEY,
  weight INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One point of the axes, one noise plan, one class, one stack, one block.
CREATE TABLE cell (
  sweep             INTEGER NOT NULL REFERENCES sweep,
  cell              INTEGER NOT NULL,            -- place in the sweep, from 0
  plan              TEXT    NOT NULL,            -- name of the noise plan
  block             INTEGER NOT NULL,            -- from 0
  hardware          TEXT    NOT NULL,            -- class; '' until the first lease chooses it
  stack             TEXT    NOT NULL,            -- stack; '' until the first lease chooses it
  stack_fingerprint TEXT    NOT NULL DEFAULT '', -- pinned by the first lease; '' before
  trainer_build     TEXT    NOT NULL DEFAULT '', -- hash of the trainer's executable, pinned too
  axes              TEXT    NOT NULL,            -- JSON object: path -> value
  replicates        INTEGER NOT NULL,            -- its members are 0 up to but without this
  untouched         TEXT    NOT NULL DEFAULT 'waiting',  -- state of those without a row in `member`
  PRIMARY KEY (sweep, cell)
) STRICT, WITHOUT ROWID;

-- 0 up to at least the largest `replicates`: for the views, which show members that have no row.
CREATE TABLE number (n INTEGER PRIMARY KEY) STRICT;
INSERT INTO number
WITH RECURSIVE up(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM up WHERE n < 4095)
SELECT n FROM up;

-- What a noise plan does with each source: the rule that gives a member its lane. Off and fixed:
-- lane 0 of the cell's block; free: lane level + 1, where the level of replicate r is r itself or, of
-- k levels, the one at r % k. Members with equal block and lane have the same draws.
CREATE TABLE plan_source (
  sweep  INTEGER NOT NULL REFERENCES sweep,
  plan   TEXT    NOT NULL,
  source TEXT    NOT NULL,   -- 'init', 'data_order', ...
  state  TEXT    NOT NULL CHECK (state = 'off' OR state = 'fixed' OR state = 'free'),
  levels TEXT    NOT NULL DEFAULT '',  -- JSON list of a free source's levels; '': the replicates
  PRIMARY KEY (sweep, plan, source)
) STRICT, WITHOUT ROWID;

-- What the trainers of a cell's members were given, but for lane and seed of the free sources, which
-- follow from the replicate. A cell has a second one when its data set became known meanwhile.
CREATE TABLE specification (
  sweep   INTEGER NOT NULL,
  cell    INTEGER NOT NULL,
  version INTEGER NOT NULL,     -- from 1
  text    TEXT    NOT NULL,     -- canonical JSON
  PRIMARY KEY (sweep, cell, version),
  FOREIGN KEY (sweep, cell) REFERENCES cell
) STRICT, WITHOUT ROWID;

-- A member has a row when something has happened to it.
CREATE TABLE member (
  sweep     INTEGER NOT NULL,
  cell      INTEGER NOT NULL,
  replicate INTEGER NOT NULL,            -- from 0
  state     TEXT    NOT NULL CHECK (state = 'waiting' OR state = 'leased' OR state = 'done' OR
              state = 'diverged' OR state = 'failed' OR state = 'cancelled'),
  attempt   INTEGER NOT NULL DEFAULT 0,  -- number of the last attempt; 0 before the first
  forgiven  INTEGER NOT NULL DEFAULT 0,  -- attempts up to this one no longer count (retry)
  PRIMARY KEY (sweep, cell, replicate),
  FOREIGN KEY (sweep, cell) REFERENCES cell
) STRICT, WITHOUT ROWID;

-- Whose weights the members of sweeps of kind 'infer' evaluate. Their files stay as long as they are
-- named here.
CREATE TABLE inference (
  sweep        INTEGER NOT NULL,
  cell         INTEGER NOT NULL,
  replicate    INTEGER NOT NULL,
  of_sweep     INTEGER NOT NULL,  -- the member whose network and test set they are evaluated with
  of_cell      INTEGER NOT NULL,
  of_replicate INTEGER NOT NULL,
  sha256       TEXT    NOT NULL,  -- the content lies in blobs/ under this
  size_bytes   INTEGER NOT NULL,
  file         TEXT    NOT NULL,  -- what who brought them calls it; '' = that member trained them
  PRIMARY KEY (sweep, cell, replicate),
  FOREIGN KEY (sweep, cell) REFERENCES cell
) STRICT, WITHOUT ROWID;
CREATE INDEX inference_by_content ON inference (sha256);

-- The data set that a sweep is pinned to by its first hello.
CREATE TABLE sweep_data (
  sweep    INTEGER NOT NULL REFERENCES sweep,
  data_set TEXT    NOT NULL,
  identity TEXT    NOT NULL,    -- hash over the contents of all examples
  PRIMARY KEY (sweep, data_set)
) STRICT, WITHOUT ROWID;

-- One physical device, or those of a slot with several, joined by '+'.
CREATE TABLE unit (
  unit INTEGER PRIMARY KEY,
  name TEXT    NOT NULL UNIQUE  -- GPU UUID; of processors the host's name and their model
) STRICT;

-- The settings that some trainer has or had: what sweeps were checked against, by what their
-- definitions name as "schema".
CREATE TABLE settings_schema (
  identity BLOB PRIMARY KEY,    -- SHA-256 of all but the words for people
  settings TEXT NOT NULL        -- JSON: path, kind, limits, default and help of each
) STRICT, WITHOUT ROWID;

-- What fingerprints of a stack on a hardware class were taken of, as far as it has names.
CREATE TABLE software (
  fingerprint TEXT PRIMARY KEY,  -- as in cell.stack_fingerprint
  versions    TEXT NOT NULL      -- JSON object: "cudnn" -> "9.12.0"
) STRICT, WITHOUT ROWID;

CREATE TABLE worker (
  worker    INTEGER PRIMARY KEY,
  name      TEXT    NOT NULL,
  identity  TEXT    NOT NULL,   -- random number of its state directory
  inventory TEXT    NOT NULL,   -- JSON: its devices, offers and slots, and what it withholds
  version   TEXT    NOT NULL,
  seen_us   INTEGER NOT NULL,   -- last sign of life, to the hour; once it is gone for one: exactly
  forgotten INTEGER NOT NULL DEFAULT 0, -- 1: it has gone for good; its leases keep its name
  drained   INTEGER NOT NULL DEFAULT 0  -- 1: a person lets it take nothing
) STRICT;

-- Devices that a person took out of use.
CREATE TABLE quarantine (
  worker INTEGER NOT NULL REFERENCES worker,
  unit   TEXT    NOT NULL,   -- GPU UUID, or what a host's processors are called; '' = all of the worker
  PRIMARY KEY (worker, unit)
) STRICT, WITHOUT ROWID;

-- The right of one worker to run one attempt. The number rises for ever: it is the fencing token.
CREATE TABLE lease (
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
  steps_per_epoch INTEGER,               -- step / this is the epoch of a record that has none; NULL: all have one
  gpus        INTEGER NOT NULL DEFAULT 0,  -- GPUs, or what is declared, of that slot; of processors, and where nobody took it up, 0
  UNIQUE (sweep, cell, replicate, attempt),
  FOREIGN KEY (sweep, cell) REFERENCES cell
) STRICT;
CREATE INDEX lease_live ON lease (lease) WHERE dropped_us IS NULL;
CREATE INDEX lease_lost ON lease (lease) WHERE drop_cause <> 'none' AND dropped_us IS NOT NULL;

-- What trainers said of where they ran. What was measured in one attempt is in its row.
CREATE TABLE environment (
  environment INTEGER PRIMARY KEY,    -- the first 63 bits of sha256
  sha256      TEXT NOT NULL UNIQUE,   -- of facts
  facts       TEXT NOT NULL           -- JSON object
) STRICT;

-- What the data were that attempts have read.
CREATE TABLE data_identity (
  data_identity INTEGER PRIMARY KEY,  -- the first 63 bits of the SHA-256 of the next
  sha256        TEXT NOT NULL UNIQUE
) STRICT;

-- How the attempt of a lease ended. No row: it has not, or was never heard of again.
CREATE TABLE attempt (
  lease                 INTEGER PRIMARY KEY REFERENCES lease,
  outcome               TEXT    NOT NULL CHECK (outcome = 'done' OR outcome = 'diverged' OR
                          outcome = 'failed'),
  accepted              INTEGER NOT NULL,  -- 1: this is the member's result
  refused_because       TEXT    NOT NULL,  -- why not; '' when accepted
  cause                 TEXT    NOT NULL,  -- cause class of a failure, 'none' without one
  message               TEXT    NOT NULL,
  environment           INTEGER REFERENCES environment,
  measured              TEXT    NOT NULL,  -- JSON object of what was measured, '' without one
  data_identity         INTEGER REFERENCES data_identity,  -- NULL: no data were read
  class_accuracy        TEXT    NOT NULL,  -- JSON list by class, '' without; "nan" is no number
  train_seconds         REAL    NOT NULL,  -- without start-up
  train_seconds_special INTEGER NOT NULL,
  record_batches        INTEGER NOT NULL,  -- how many the worker sent
  ended_us              INTEGER NOT NULL
) STRICT;

CREATE TABLE attempt_hash (
  lease  INTEGER NOT NULL REFERENCES lease,
  name   TEXT    NOT NULL,      -- 'init', 'first_batches', 'weights', 'logits', 'weights_at/N'
  sha256 BLOB    NOT NULL,      -- 32 bytes
  PRIMARY KEY (lease, name)
) STRICT, WITHOUT ROWID;

-- Final values. Those of single classes are in attempt.class_accuracy.
CREATE TABLE attempt_metric (
  lease   INTEGER NOT NULL REFERENCES lease,
  name    TEXT    NOT NULL,     -- 'loss' in nats, 'top1' and 'top5' in 0 to 1
  value   REAL    NOT NULL,
  special INTEGER NOT NULL,
  PRIMARY KEY (lease, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE artifact (
  lease      INTEGER NOT NULL REFERENCES lease,
  kind       TEXT    NOT NULL,  -- 'predictions', 'weights', 'log', 'evaluation_images', ...
  path       TEXT    NOT NULL,  -- in the trainer's work directory
  sha256     TEXT    NOT NULL,  -- the content lies in blobs/ under this
  size_bytes INTEGER NOT NULL,
  collected_us INTEGER,         -- when it was removed to make room; NULL: it is there
  PRIMARY KEY (lease, kind, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX artifact_by_content ON artifact (sha256) WHERE collected_us IS NULL;
-- Few members have those, and every study looks for them.
CREATE INDEX artifact_of_sets ON artifact (lease)
  WHERE kind IN ('evaluation_images', 'evaluation_labels', 'evaluation_groups');

-- Names of measured values, kept once.
CREATE TABLE metric (
  metric INTEGER PRIMARY KEY,
  name   TEXT    NOT NULL UNIQUE
) STRICT;

-- Measured values. The hot table: no further index.
CREATE TABLE record (
  lease   INTEGER NOT NULL REFERENCES lease,
  batch   INTEGER NOT NULL,     -- sequence number of the message, from 1 within an attempt
  item    INTEGER NOT NULL,     -- place in the batch
  step    INTEGER NOT NULL,     -- optimiser steps done
  metric  INTEGER NOT NULL REFERENCES metric,
  value   REAL,                 -- NULL: a nan
  epoch   REAL,                 -- epochs done, may be a fraction; NULL: step / lease.steps_per_epoch
  PRIMARY KEY (lease, batch, item)
) STRICT, WITHOUT ROWID;

-- What happened, only ever appended. The number is the resume token of every watch.
CREATE TABLE event (
  event     INTEGER PRIMARY KEY,
  sweep     INTEGER,            -- NULL: of no sweep
  cell      INTEGER,            -- NULL: of no single member
  replicate INTEGER,
  kind      TEXT    NOT NULL,
  text      TEXT    NOT NULL,
  at_us     INTEGER NOT NULL,
  caller    TEXT    NOT NULL DEFAULT ''  -- who asked for it; '' = nobody, or not known
) STRICT;
CREATE INDEX event_of_sweep ON event (sweep, event);
CREATE INDEX event_asked ON event (sweep, event) WHERE caller <> '' AND cell IS NULL;

-- How many steps were kept, each in one transaction with its number. One row.
CREATE TABLE step (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  step INTEGER NOT NULL  -- of the last one; the file noisefloor.step is never ahead of it
) STRICT;
INSERT INTO step VALUES (1, 0);

-- Each time that the data were restored from a backup. No row: never.
CREATE TABLE restoration (
  epoch       INTEGER PRIMARY KEY,  -- the how many-th time, from 1
  restored_us INTEGER NOT NULL,
  backup_us   INTEGER NOT NULL,     -- when the backup was made
  above       INTEGER NOT NULL      -- leases and events since then have larger numbers than this
) STRICT;

-- Who may call. The token itself is kept nowhere.
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

-- Pools of workers that come and go on a cluster. Those that are gone stay, for what their launches
-- tell.
CREATE TABLE pool (
  pool       INTEGER PRIMARY KEY,  -- its number
  name       TEXT    NOT NULL,     -- of those that are not gone each once
  wish       TEXT    NOT NULL,     -- JSON object: what people say of it
  tag        TEXT    NOT NULL,     -- in the names of its jobs
  state      INTEGER NOT NULL,     -- 1 active, 2 paused, 3 being removed
  why        TEXT    NOT NULL,     -- it is paused
  forgiven   INTEGER NOT NULL,     -- launches up to this one no longer count as failed
  learned    TEXT    NOT NULL,     -- JSON object: what its last new worker had; '' = none has come yet
  created_by TEXT    NOT NULL,     -- '' = not known
  created_us INTEGER NOT NULL,
  gone_us    INTEGER               -- NULL: it is there
) STRICT;

-- Jobs of pools, with a worker in each. Kept before the cluster is asked.
CREATE TABLE launch (
  launch     INTEGER PRIMARY KEY,  -- its number
  pool       INTEGER NOT NULL REFERENCES pool,
  nonce      TEXT    NOT NULL,     -- of those that were submitted together
  place      INTEGER NOT NULL,     -- among them
  stays      INTEGER NOT NULL,     -- 1: its worker does not leave for want of members
  job        TEXT    NOT NULL,     -- the cluster's key; '' = not known
  phase      INTEGER NOT NULL,     -- 1 intended, 2 waiting, 3 alive, 4 ended
  ending     INTEGER NOT NULL,     -- 0 none, 1 well, 2 taken, 3 broken, 4 refused, 5 gone, 6 surplus
  reason     TEXT    NOT NULL,     -- why it waits, or how it ended
  node       TEXT    NOT NULL,
  heard      INTEGER NOT NULL,     -- 1: its worker was here
  created_us INTEGER NOT NULL,
  began_us   INTEGER,
  ended_us   INTEGER
) STRICT;
CREATE INDEX launch_of_pool ON launch (pool, ended_us);

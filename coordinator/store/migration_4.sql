-- What follows from a rule is no longer kept: waiting members, lanes, the specification of each
-- attempt, and what was measured no longer makes two environments of one. The functions nf_... are of
-- migration_functions.cc. Views are dropped before and made anew after.

CREATE TABLE number (n INTEGER PRIMARY KEY) STRICT;
INSERT INTO number
WITH RECURSIVE up(n) AS (
  SELECT 0 UNION ALL
  SELECT n + 1 FROM up WHERE n < max(4095, (SELECT coalesce(max(replicate), 0) FROM member)))
SELECT n FROM up;

CREATE TABLE plan_source (
  sweep  INTEGER NOT NULL REFERENCES sweep,
  plan   TEXT    NOT NULL,
  source TEXT    NOT NULL,   -- 'init', 'data_order', ...
  state  TEXT    NOT NULL CHECK (state = 'off' OR state = 'fixed' OR state = 'free'),
  PRIMARY KEY (sweep, plan, source)
) STRICT, WITHOUT ROWID;

INSERT OR IGNORE INTO plan_source
SELECT c.sweep, c.plan, l.source, l.state
FROM lane l JOIN cell c USING (sweep, cell) WHERE l.replicate = 0;
DROP TABLE lane;

CREATE TABLE cell_4 (
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

INSERT INTO cell_4
SELECT c.sweep, c.cell, c.plan, c.block, c.hardware, c.stack, c.stack_fingerprint,
       c.trainer_build, c.axes,
       (SELECT count(*) FROM member m WHERE m.sweep = c.sweep AND m.cell = c.cell), 'waiting'
FROM cell c;

CREATE TABLE member_4 (
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

INSERT INTO member_4
SELECT sweep, cell, replicate, state, attempt, forgiven FROM member
WHERE state <> 'waiting' OR attempt > 0 OR forgiven > 0;

CREATE TABLE specification (
  sweep   INTEGER NOT NULL,
  cell    INTEGER NOT NULL,
  version INTEGER NOT NULL,     -- from 1
  text    TEXT    NOT NULL,     -- canonical JSON
  PRIMARY KEY (sweep, cell, version),
  FOREIGN KEY (sweep, cell) REFERENCES cell
) STRICT, WITHOUT ROWID;

INSERT INTO specification
SELECT sweep, cell, row_number() OVER (PARTITION BY sweep, cell ORDER BY first_lease), text
FROM (SELECT sweep, cell, nf_cell_specification(specification) AS text, min(lease) AS first_lease
      FROM lease GROUP BY sweep, cell, nf_cell_specification(specification));

CREATE TABLE lease_4 (
  lease       INTEGER PRIMARY KEY,
  sweep       INTEGER NOT NULL,
  cell        INTEGER NOT NULL,
  replicate   INTEGER NOT NULL,
  attempt     INTEGER NOT NULL,          -- number of the attempt at this member, from 1
  worker      INTEGER NOT NULL REFERENCES worker,
  specification_sha256 BLOB NOT NULL,    -- 32 bytes: of what the trainer was given
  granted_us  INTEGER NOT NULL,
  dropped_us  INTEGER,                   -- NULL while it is live
  drop_cause  TEXT    NOT NULL DEFAULT '',  -- cause class of the drop; 'none': its result was accepted
  drop_reason TEXT    NOT NULL DEFAULT '',  -- in words
  UNIQUE (sweep, cell, replicate, attempt),
  FOREIGN KEY (sweep, cell) REFERENCES cell
) STRICT;

INSERT INTO lease_4
SELECT lease, sweep, cell, replicate, attempt, worker, nf_sha256(specification), granted_us,
       dropped_us, drop_cause, drop_reason
FROM lease;

-- A text that is not what its hash says stays as it is, under that hash, and is found by its readers.
CREATE TEMP TABLE split (old TEXT PRIMARY KEY, sha256 TEXT, facts TEXT, measured TEXT) STRICT;
INSERT INTO split (old, facts, measured)
SELECT sha256, nf_facts(facts, sha256), nf_measured(facts, sha256) FROM environment;
UPDATE split SET sha256 =
  iif(facts = (SELECT e.facts FROM environment e WHERE e.sha256 = old), old,
      lower(hex(nf_sha256(facts))));
CREATE TABLE environment_4 (
  environment INTEGER PRIMARY KEY,    -- the first 63 bits of sha256
  sha256      TEXT NOT NULL UNIQUE,   -- of facts
  facts       TEXT NOT NULL           -- JSON object
) STRICT;

INSERT INTO environment_4
SELECT nf_key(sha256), sha256, min(facts) FROM split GROUP BY sha256;

CREATE TABLE data_identity (
  data_identity INTEGER PRIMARY KEY,  -- the first 63 bits of the SHA-256 of the next
  sha256        TEXT NOT NULL UNIQUE
) STRICT;

INSERT INTO data_identity
SELECT DISTINCT nf_key(lower(hex(nf_sha256(data_identity)))), data_identity FROM attempt WHERE data_identity <> '';

CREATE TEMP TABLE classes (lease INTEGER PRIMARY KEY, list TEXT) STRICT;
INSERT INTO classes
SELECT lease, '[' || group_concat(nf_number(value, special)) || ']'
FROM (SELECT lease, value, special FROM attempt_metric WHERE name GLOB 'class_accuracy/[0-9]*'
      ORDER BY lease, CAST(substr(name, 16) AS INTEGER))
GROUP BY lease;
DELETE FROM attempt_metric WHERE name GLOB 'class_accuracy/[0-9]*';

CREATE TABLE attempt_4 (
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

INSERT INTO attempt_4
SELECT a.lease, a.outcome, a.accepted, a.refused_because, a.cause, a.message,
       -- One that is not there stays one that is not there.
       iif(a.environment IS NULL, NULL, coalesce(e.environment, -1)),
       coalesce(s.measured, ''), d.data_identity, coalesce(c.list, ''), a.train_seconds,
       a.train_seconds_special, a.record_batches, a.ended_us
FROM attempt a LEFT JOIN split s ON s.old = a.environment
     LEFT JOIN environment_4 e ON e.sha256 = s.sha256
     LEFT JOIN data_identity d ON d.sha256 = a.data_identity
     LEFT JOIN classes c ON c.lease = a.lease;

CREATE TABLE attempt_hash_4 (
  lease  INTEGER NOT NULL REFERENCES lease,
  name   TEXT    NOT NULL,      -- 'init', 'first_batches', 'weights', 'logits', 'weights_at/N'
  sha256 BLOB    NOT NULL,      -- 32 bytes
  PRIMARY KEY (lease, name)
) STRICT, WITHOUT ROWID;

INSERT INTO attempt_hash_4 SELECT lease, name, nf_unhex(sha256) FROM attempt_hash;

CREATE TABLE event_4 (
  event     INTEGER PRIMARY KEY,
  sweep     INTEGER,            -- NULL: of no sweep
  cell      INTEGER,            -- NULL: of no single member
  replicate INTEGER,
  kind      TEXT    NOT NULL,
  text      TEXT    NOT NULL,
  at_us     INTEGER NOT NULL
) STRICT;

INSERT INTO event_4 SELECT event, sweep, cell, replicate, kind, text, at_us FROM event;

ALTER TABLE worker ADD COLUMN forgotten INTEGER NOT NULL DEFAULT 0;

DROP TABLE split;
DROP TABLE classes;
DROP TABLE event;
DROP TABLE attempt_hash;
DROP TABLE attempt;
DROP TABLE environment;
DROP TABLE lease;
DROP TABLE member;
DROP TABLE cell;
ALTER TABLE cell_4 RENAME TO cell;
ALTER TABLE member_4 RENAME TO member;
ALTER TABLE lease_4 RENAME TO lease;
ALTER TABLE environment_4 RENAME TO environment;
ALTER TABLE attempt_4 RENAME TO attempt;
ALTER TABLE attempt_hash_4 RENAME TO attempt_hash;
ALTER TABLE event_4 RENAME TO event;
CREATE INDEX lease_live ON lease (lease) WHERE dropped_us IS NULL;
CREATE INDEX lease_lost ON lease (lease) WHERE drop_cause <> 'none' AND dropped_us IS NOT NULL;
CREATE INDEX event_of_sweep ON event (sweep, event);

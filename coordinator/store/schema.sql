-- The data of one noisefloor directory. Times are microseconds since 1970 (UTC), `_us`. Numbers
-- that may be not finite have a column beside them: 0 finite, 1 nan, 2 +inf, 3 -inf; the value is
-- then 0, because SQLite would keep a nan as NULL. Numbers of 64 bits without a sign (seeds) are
-- decimal text. Hashes are SHA-256, hexadecimal. Views for people are at the end.

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
  submitted_us         INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX sweep_by_request ON sweep (request_id) WHERE request_id <> '';
CREATE INDEX sweep_by_hash ON sweep (specification_sha256);

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
  PRIMARY KEY (sweep, cell)
) STRICT, WITHOUT ROWID;

CREATE TABLE member (
  sweep     INTEGER NOT NULL,
  cell      INTEGER NOT NULL,
  replicate INTEGER NOT NULL,            -- from 0
  state     TEXT    NOT NULL CHECK (state IN
              ('waiting', 'leased', 'done', 'diverged', 'failed', 'cancelled')),
  attempt   INTEGER NOT NULL DEFAULT 0,  -- number of the last attempt; 0 before the first
  forgiven  INTEGER NOT NULL DEFAULT 0,  -- attempts up to this one no longer count (retry)
  PRIMARY KEY (sweep, cell, replicate),
  FOREIGN KEY (sweep, cell) REFERENCES cell
) STRICT, WITHOUT ROWID;

-- What a member has of each noise source.
CREATE TABLE lane (
  sweep     INTEGER NOT NULL,
  cell      INTEGER NOT NULL,
  replicate INTEGER NOT NULL,
  source    TEXT    NOT NULL,   -- 'init', 'data_order', ...
  state     TEXT    NOT NULL CHECK (state IN ('off', 'fixed', 'free')),
  block     INTEGER NOT NULL,   -- members with equal block and lane have the same draws
  lane      INTEGER NOT NULL,   -- 0 fixed, replicate + 1 free
  seed      TEXT    NOT NULL,
  PRIMARY KEY (sweep, cell, replicate, source),
  FOREIGN KEY (sweep, cell, replicate) REFERENCES member
) STRICT, WITHOUT ROWID;

-- The data set that a sweep is pinned to by its first hello.
CREATE TABLE sweep_data (
  sweep    INTEGER NOT NULL REFERENCES sweep,
  data_set TEXT    NOT NULL,
  identity TEXT    NOT NULL,    -- hash over the contents of all examples
  PRIMARY KEY (sweep, data_set)
) STRICT, WITHOUT ROWID;

-- One physical device.
CREATE TABLE unit (
  unit TEXT PRIMARY KEY         -- GPU UUID, host CPU
) STRICT, WITHOUT ROWID;

CREATE TABLE worker (
  worker   INTEGER PRIMARY KEY,
  name     TEXT    NOT NULL,
  identity TEXT    NOT NULL,    -- random number of its state directory
  slots    INTEGER NOT NULL,    -- trainers side by side
  unit     TEXT    NOT NULL REFERENCES unit,
  classes  TEXT    NOT NULL,    -- JSON: hardware classes it offers
  stacks   TEXT    NOT NULL,    -- JSON: stacks it offers, with fingerprints
  version  TEXT    NOT NULL,
  seen_us  INTEGER NOT NULL     -- last time it opened a session
) STRICT;

-- The right of one worker to run one attempt. The number rises for ever: it is the fencing token.
CREATE TABLE lease (
  lease       INTEGER PRIMARY KEY,
  sweep       INTEGER NOT NULL,
  cell        INTEGER NOT NULL,
  replicate   INTEGER NOT NULL,
  attempt     INTEGER NOT NULL,          -- number of the attempt at this member, from 1
  worker      INTEGER NOT NULL REFERENCES worker,
  specification TEXT  NOT NULL,          -- canonical JSON: what the trainer was given
  granted_us  INTEGER NOT NULL,
  dropped_us  INTEGER,                   -- NULL while it is live
  drop_cause  TEXT    NOT NULL DEFAULT '',  -- cause class of the drop, '' for a normal end
  drop_reason TEXT    NOT NULL DEFAULT '',  -- in words
  UNIQUE (sweep, cell, replicate, attempt),
  FOREIGN KEY (sweep, cell, replicate) REFERENCES member
) STRICT;
CREATE INDEX lease_live ON lease (lease) WHERE dropped_us IS NULL;

-- What a trainer said of where it ran; equal ones are kept once.
CREATE TABLE environment (
  sha256 TEXT PRIMARY KEY,
  facts  TEXT NOT NULL          -- JSON object
) STRICT, WITHOUT ROWID;

-- How the attempt of a lease ended. No row: it has not, or was never heard of again.
CREATE TABLE attempt (
  lease                 INTEGER PRIMARY KEY REFERENCES lease,
  outcome               TEXT    NOT NULL CHECK (outcome IN ('done', 'diverged', 'failed')),
  accepted              INTEGER NOT NULL,  -- 1: this is the member's result
  refused_because       TEXT    NOT NULL,  -- why not; '' when accepted
  cause                 TEXT    NOT NULL,  -- cause class of a failure, 'none' without one
  message               TEXT    NOT NULL,
  environment           TEXT    REFERENCES environment,
  data_identity         TEXT    NOT NULL,  -- of the data that were read
  train_seconds         REAL    NOT NULL,  -- without start-up
  train_seconds_special INTEGER NOT NULL,
  record_batches        INTEGER NOT NULL,  -- how many the worker sent
  ended_us              INTEGER NOT NULL
) STRICT;

CREATE TABLE attempt_hash (
  lease  INTEGER NOT NULL REFERENCES lease,
  name   TEXT    NOT NULL,      -- 'init', 'first_batches', 'weights', 'logits', 'weights_at/N'
  sha256 TEXT    NOT NULL,
  PRIMARY KEY (lease, name)
) STRICT, WITHOUT ROWID;

-- Final values; those of single classes are 'class_accuracy/N'.
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
  PRIMARY KEY (lease, kind, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX artifact_by_content ON artifact (sha256);

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
  epoch   REAL    NOT NULL,     -- epochs done, may be a fraction
  metric  INTEGER NOT NULL REFERENCES metric,
  value   REAL    NOT NULL,
  special INTEGER NOT NULL,
  PRIMARY KEY (lease, batch, item)
) STRICT, WITHOUT ROWID;

-- What happened, only ever appended. The number is the resume token of every watch.
CREATE TABLE event (
  event     INTEGER PRIMARY KEY AUTOINCREMENT,
  sweep     INTEGER,            -- NULL: of no sweep
  cell      INTEGER,            -- NULL: of no single member
  replicate INTEGER,
  kind      TEXT    NOT NULL,
  text      TEXT    NOT NULL,
  at_us     INTEGER NOT NULL
) STRICT;
CREATE INDEX event_of_sweep ON event (sweep, event);
CREATE INDEX event_by_time ON event (at_us);

-- Views in plain words; described in coordinator/store/README.md. Not-finite values: +inf and -inf
-- are themselves, nan is NULL with special = 'nan'.

CREATE VIEW v_sweep AS
SELECT s.sweep, s.name, datetime(s.submitted_us / 1000000, 'unixepoch') AS submitted_utc,
       s.specification_sha256, s.replicates, s.blocks, s.notes, s.tags,
       count(m.state) AS members,
       count(*) FILTER (WHERE m.state = 'waiting') AS waiting,
       count(*) FILTER (WHERE m.state = 'leased') AS leased,
       count(*) FILTER (WHERE m.state = 'done') AS done,
       count(*) FILTER (WHERE m.state = 'diverged') AS diverged,
       count(*) FILTER (WHERE m.state = 'failed') AS failed,
       count(*) FILTER (WHERE m.state = 'cancelled') AS cancelled
FROM sweep s LEFT JOIN member m USING (sweep)
GROUP BY s.sweep;

CREATE VIEW v_attempt AS
SELECT 's' || l.sweep || 'c' || l.cell || 'r' || l.replicate AS member,
       l.sweep, l.cell, l.replicate, l.attempt, l.lease,
       w.name AS worker, w.unit,
       datetime(l.granted_us / 1000000, 'unixepoch') AS granted_utc,
       datetime(a.ended_us / 1000000, 'unixepoch') AS ended_utc,
       CASE WHEN a.lease IS NOT NULL THEN a.outcome
            WHEN l.dropped_us IS NULL THEN 'running' ELSE 'lost' END AS outcome,
       coalesce(a.accepted, 0) AS accepted,
       coalesce(nullif(a.refused_because, ''), l.drop_reason) AS why,
       a.cause, a.message,
       CASE a.train_seconds_special WHEN 0 THEN a.train_seconds END AS train_seconds,
       a.environment AS environment_sha256
FROM lease l JOIN worker w USING (worker) LEFT JOIN attempt a USING (lease);

CREATE VIEW v_metric AS
SELECT 's' || l.sweep || 'c' || l.cell || 'r' || l.replicate AS member,
       l.sweep, l.cell, l.replicate, l.attempt, a.accepted, m.name AS metric,
       CASE m.special WHEN 0 THEN m.value WHEN 2 THEN 9e999 WHEN 3 THEN -9e999 END AS value,
       CASE m.special WHEN 0 THEN '' WHEN 1 THEN 'nan' WHEN 2 THEN 'inf' ELSE '-inf' END AS special
FROM attempt_metric m JOIN attempt a USING (lease) JOIN lease l USING (lease);

CREATE VIEW v_hash AS
SELECT 's' || l.sweep || 'c' || l.cell || 'r' || l.replicate AS member,
       l.sweep, l.cell, l.replicate, l.attempt, a.accepted,
       c.plan, c.hardware, c.stack, w.name AS worker, w.unit, h.name AS hash, h.sha256
FROM attempt_hash h JOIN attempt a USING (lease) JOIN lease l USING (lease)
     JOIN worker w USING (worker) JOIN cell c ON c.sweep = l.sweep AND c.cell = l.cell;

CREATE VIEW v_member AS
SELECT 's' || m.sweep || 'c' || m.cell || 'r' || m.replicate AS member,
       s.name AS sweep_name, m.sweep, m.cell, m.replicate,
       c.plan, c.hardware, c.stack, c.block, c.axes, m.state, m.attempt,
       w.name AS worker, w.unit, a.train_seconds,
       (SELECT sha256 FROM attempt_hash h WHERE h.lease = a.lease AND h.name = 'init')
         AS init_sha256,
       (SELECT sha256 FROM attempt_hash h WHERE h.lease = a.lease AND h.name = 'first_batches')
         AS first_batches_sha256,
       (SELECT sha256 FROM attempt_hash h WHERE h.lease = a.lease AND h.name = 'weights')
         AS weights_sha256,
       (SELECT sha256 FROM attempt_hash h WHERE h.lease = a.lease AND h.name = 'logits')
         AS logits_sha256
FROM member m JOIN sweep s USING (sweep) JOIN cell c ON c.sweep = m.sweep AND c.cell = m.cell
     LEFT JOIN lease l ON l.sweep = m.sweep AND l.cell = m.cell AND l.replicate = m.replicate
       AND l.lease = (SELECT a2.lease FROM attempt a2 JOIN lease l2 USING (lease)
                      WHERE l2.sweep = m.sweep AND l2.cell = m.cell
                        AND l2.replicate = m.replicate AND a2.accepted = 1)
     LEFT JOIN attempt a ON a.lease = l.lease
     LEFT JOIN worker w ON w.worker = l.worker;

-- Replaced by migration_2.sql.
CREATE VIEW v_accuracy AS
SELECT 's' || l.sweep || 'c' || l.cell || 'r' || l.replicate AS member,
       l.sweep, l.cell, l.replicate, c.plan, c.hardware, c.stack, c.block, c.axes,
       max(CASE WHEN x.name = 'top1' AND x.special = 0 THEN x.value END) AS top1,
       max(CASE WHEN x.name = 'top5' AND x.special = 0 THEN x.value END) AS top5,
       max(CASE WHEN x.name = 'loss' AND x.special = 0 THEN x.value END) AS loss
FROM attempt a JOIN lease l USING (lease)
     JOIN cell c ON c.sweep = l.sweep AND c.cell = l.cell
     LEFT JOIN attempt_metric x USING (lease)
WHERE a.accepted = 1
GROUP BY a.lease;

CREATE VIEW v_record AS
SELECT 's' || l.sweep || 'c' || l.cell || 'r' || l.replicate AS member,
       l.sweep, l.cell, l.replicate, l.attempt, coalesce(a.accepted, 0) AS accepted,
       m.name AS metric, r.step, r.epoch,
       CASE r.special WHEN 0 THEN r.value WHEN 2 THEN 9e999 WHEN 3 THEN -9e999 END AS value,
       CASE r.special WHEN 0 THEN '' WHEN 1 THEN 'nan' WHEN 2 THEN 'inf' ELSE '-inf' END AS special
FROM record r JOIN metric m USING (metric) JOIN lease l USING (lease)
     LEFT JOIN attempt a USING (lease);

CREATE VIEW v_artifact AS
SELECT 's' || l.sweep || 'c' || l.cell || 'r' || l.replicate AS member,
       l.sweep, l.cell, l.replicate, l.attempt, a.accepted, f.kind, f.size_bytes, f.sha256,
       'blobs/' || substr(f.sha256, 1, 2) || '/' || substr(f.sha256, 3) AS file
FROM artifact f JOIN attempt a USING (lease) JOIN lease l USING (lease);

CREATE VIEW v_event AS
SELECT event, datetime(at_us / 1000000, 'unixepoch') AS at_utc, sweep,
       CASE WHEN cell IS NOT NULL THEN 's' || sweep || 'c' || cell || 'r' || replicate END
         AS member,
       kind, text
FROM event;

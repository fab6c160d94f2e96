-- A home as version 0.1.0 kept it (schema 2), shortened: members done, diverged, failed, leased and
-- waiting, and a class without examples (nan).
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
-- Migration 2.
-- v_accuracy says how the attempt ended, so that a mean can be taken over the members that are
-- done, and gives a loss as v_metric does. A loss that nobody told is NULL in both its columns.

DROP VIEW v_accuracy;

CREATE VIEW v_accuracy AS
SELECT 's' || l.sweep || 'c' || l.cell || 'r' || l.replicate AS member,
       l.sweep, l.cell, l.replicate, c.plan, c.hardware, c.stack, c.block, c.axes, a.outcome,
       CASE t1.special WHEN 0 THEN t1.value END AS top1,
       CASE t5.special WHEN 0 THEN t5.value END AS top5,
       CASE s.special WHEN 0 THEN s.value WHEN 2 THEN 9e999 WHEN 3 THEN -9e999 END AS loss,
       CASE s.special WHEN 0 THEN '' WHEN 1 THEN 'nan' WHEN 2 THEN 'inf' WHEN 3 THEN '-inf' END
         AS loss_special
FROM attempt a JOIN lease l USING (lease)
     JOIN cell c ON c.sweep = l.sweep AND c.cell = l.cell
     LEFT JOIN attempt_metric t1 ON t1.lease = a.lease AND t1.name = 'top1'
     LEFT JOIN attempt_metric t5 ON t5.lease = a.lease AND t5.name = 'top5'
     LEFT JOIN attempt_metric s ON s.lease = a.lease AND s.name = 'loss'
WHERE a.accepted = 1;

INSERT INTO sweep (sweep, name, specification_sha256, request_id, seed, replicates, blocks, definition, notes, tags, submitted_us) VALUES (1, 'old-home', '04565a5ecdfac43197b8f8157f3a73b16b61a0ae2f4042e9ecb16d124c156795', 'cli-18ea6221f29f58da-166d45b2cdc1-6e9e', '0', 2, 1, '{"axes":[[{"path":"train.optimizer.learning_rate","values":[0.05,1000000.0]}]],"blocks":1,"hardware":[""],"name":"old-home","notes":"","plans":[{"name":"control","states":{"augment":"fixed","autotune":"fixed","data_order":"fixed","dropout":"fixed","init":"fixed","kernels":"fixed","poke":"off","reduce_order":"fixed","threads":"off"}},{"name":"algo","states":{"augment":"free","autotune":"fixed","data_order":"free","dropout":"free","init":"free","kernels":"fixed","poke":"off","reduce_order":"fixed","threads":"off"}}],"replicates":2,"seed":"0","stacks":[""],"tags":{},"training":{"augment.crop_padding":0,"augment.cutout":0,"augment.flip":false,"augment.standardise":false,"data.identity":"","data.name":"fashion-mnist-sample","data.test_examples":100,"data.train_examples":256,"evaluate.batch_size":1000,"evaluate.every_epochs":1,"evaluate.predictions":"final","model.batch_norm":true,"model.batch_norm_epsilon":0.001,"model.batch_norm_momentum":0.01,"model.dropout":0.0,"model.hidden":128,"model.init":"glorot_uniform","model.name":"mlp","sources.augment.key":"example","sources.data_order.window":0,"sources.poke.element":0,"sources.poke.parameter":"","sources.poke.step":0,"sources.threads.choices":[],"train.batch_size":128,"train.drop_last":false,"train.epochs":1,"train.label_smoothing":0.0,"train.optimizer.beta1":0.9,"train.optimizer.beta2":0.999,"train.optimizer.epsilon":1e-07,"train.optimizer.learning_rate":0.05,"train.optimizer.momentum":0.0,"train.optimizer.name":"sgd","train.optimizer.nesterov":false,"train.optimizer.weight_decay":0.0,"train.precision":"fp32","train.schedule.factor":0.1,"train.schedule.milestones":[],"train.schedule.name":"constant","train.schedule.warmup_epochs":0.0,"train.shards":1,"train.threads":1}}', '', '{}', 1795355299404402);
INSERT INTO cell (sweep, cell, plan, block, hardware, stack, stack_fingerprint, trainer_build, axes) VALUES (1, 0, 'control', 0, 'cpu-amd-avx512', 'torch-2.11-cu130', '2c0a2693b67a27e066030ef89536c1b24bb518c6754af6ad7434896aa85989da', '229ed91f24316751ba533f0bf82f9b8cc91d304bf428d758942d61e830c042b5', '{"train.optimizer.learning_rate":0.05}');
INSERT INTO cell (sweep, cell, plan, block, hardware, stack, stack_fingerprint, trainer_build, axes) VALUES (1, 1, 'algo', 0, 'cpu-amd-avx512', 'torch-2.11-cu130', '2c0a2693b67a27e066030ef89536c1b24bb518c6754af6ad7434896aa85989da', '229ed91f24316751ba533f0bf82f9b8cc91d304bf428d758942d61e830c042b5', '{"train.optimizer.learning_rate":0.05}');
INSERT INTO cell (sweep, cell, plan, block, hardware, stack, stack_fingerprint, trainer_build, axes) VALUES (1, 2, 'control', 0, 'cpu-amd-avx512', 'torch-2.11-cu130', '2c0a2693b67a27e066030ef89536c1b24bb518c6754af6ad7434896aa85989da', '229ed91f24316751ba533f0bf82f9b8cc91d304bf428d758942d61e830c042b5', '{"train.optimizer.learning_rate":1000000.0}');
INSERT INTO cell (sweep, cell, plan, block, hardware, stack, stack_fingerprint, trainer_build, axes) VALUES (1, 3, 'algo', 0, 'cpu-amd-avx512', 'torch-2.11-cu130', '2c0a2693b67a27e066030ef89536c1b24bb518c6754af6ad7434896aa85989da', '229ed91f24316751ba533f0bf82f9b8cc91d304bf428d758942d61e830c042b5', '{"train.optimizer.learning_rate":1000000.0}');
INSERT INTO member (sweep, cell, replicate, state, attempt, forgiven) VALUES (1, 0, 0, 'done', 1, 0);
INSERT INTO member (sweep, cell, replicate, state, attempt, forgiven) VALUES (1, 0, 1, 'done', 1, 0);
INSERT INTO member (sweep, cell, replicate, state, attempt, forgiven) VALUES (1, 1, 0, 'done', 1, 0);
INSERT INTO member (sweep, cell, replicate, state, attempt, forgiven) VALUES (1, 1, 1, 'done', 1, 0);
INSERT INTO member (sweep, cell, replicate, state, attempt, forgiven) VALUES (1, 2, 0, 'diverged', 1, 0);
INSERT INTO member (sweep, cell, replicate, state, attempt, forgiven) VALUES (1, 2, 1, 'failed', 1, 0);
INSERT INTO member (sweep, cell, replicate, state, attempt, forgiven) VALUES (1, 3, 0, 'leased', 1, 0);
INSERT INTO member (sweep, cell, replicate, state, attempt, forgiven) VALUES (1, 3, 1, 'waiting', 0, 0);
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 0, 0, 'augment', 'fixed', 0, 0, '887372448136608204');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 0, 0, 'autotune', 'fixed', 0, 0, '14298995770697794155');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 0, 0, 'data_order', 'fixed', 0, 0, '14850480464321812899');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 0, 0, 'dropout', 'fixed', 0, 0, '13614370539285667271');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 0, 0, 'init', 'fixed', 0, 0, '15114123258453576503');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 0, 0, 'kernels', 'fixed', 0, 0, '6312628821297648509');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 0, 0, 'poke', 'off', 0, 0, '1549005968793581465');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 0, 0, 'reduce_order', 'fixed', 0, 0, '1103408769626369956');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 0, 0, 'threads', 'off', 0, 0, '1493750453348663889');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 0, 1, 'augment', 'fixed', 0, 0, '887372448136608204');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 0, 1, 'autotune', 'fixed', 0, 0, '14298995770697794155');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 0, 1, 'data_order', 'fixed', 0, 0, '14850480464321812899');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 0, 1, 'dropout', 'fixed', 0, 0, '13614370539285667271');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 0, 1, 'init', 'fixed', 0, 0, '15114123258453576503');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 0, 1, 'kernels', 'fixed', 0, 0, '6312628821297648509');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 0, 1, 'poke', 'off', 0, 0, '1549005968793581465');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 0, 1, 'reduce_order', 'fixed', 0, 0, '1103408769626369956');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 0, 1, 'threads', 'off', 0, 0, '1493750453348663889');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 1, 0, 'augment', 'free', 0, 1, '17437957434853675253');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 1, 0, 'autotune', 'fixed', 0, 0, '14298995770697794155');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 1, 0, 'data_order', 'free', 0, 1, '3566030246231908003');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 1, 0, 'dropout', 'free', 0, 1, '6965449082168090598');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 1, 0, 'init', 'free', 0, 1, '1743917784442841159');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 1, 0, 'kernels', 'fixed', 0, 0, '6312628821297648509');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 1, 0, 'poke', 'off', 0, 0, '1549005968793581465');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 1, 0, 'reduce_order', 'fixed', 0, 0, '1103408769626369956');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 1, 0, 'threads', 'off', 0, 0, '1493750453348663889');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 1, 1, 'augment', 'free', 0, 2, '14881243337297323411');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 1, 1, 'autotune', 'fixed', 0, 0, '14298995770697794155');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 1, 1, 'data_order', 'free', 0, 2, '863549271797167256');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 1, 1, 'dropout', 'free', 0, 2, '7936102753656008295');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 1, 1, 'init', 'free', 0, 2, '13752686981196726545');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 1, 1, 'kernels', 'fixed', 0, 0, '6312628821297648509');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 1, 1, 'poke', 'off', 0, 0, '1549005968793581465');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 1, 1, 'reduce_order', 'fixed', 0, 0, '1103408769626369956');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 1, 1, 'threads', 'off', 0, 0, '1493750453348663889');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 2, 0, 'augment', 'fixed', 0, 0, '887372448136608204');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 2, 0, 'autotune', 'fixed', 0, 0, '14298995770697794155');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 2, 0, 'data_order', 'fixed', 0, 0, '14850480464321812899');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 2, 0, 'dropout', 'fixed', 0, 0, '13614370539285667271');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 2, 0, 'init', 'fixed', 0, 0, '15114123258453576503');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 2, 0, 'kernels', 'fixed', 0, 0, '6312628821297648509');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 2, 0, 'poke', 'off', 0, 0, '1549005968793581465');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 2, 0, 'reduce_order', 'fixed', 0, 0, '1103408769626369956');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 2, 0, 'threads', 'off', 0, 0, '1493750453348663889');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 2, 1, 'augment', 'fixed', 0, 0, '887372448136608204');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 2, 1, 'autotune', 'fixed', 0, 0, '14298995770697794155');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 2, 1, 'data_order', 'fixed', 0, 0, '14850480464321812899');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 2, 1, 'dropout', 'fixed', 0, 0, '13614370539285667271');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 2, 1, 'init', 'fixed', 0, 0, '15114123258453576503');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 2, 1, 'kernels', 'fixed', 0, 0, '6312628821297648509');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 2, 1, 'poke', 'off', 0, 0, '1549005968793581465');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 2, 1, 'reduce_order', 'fixed', 0, 0, '1103408769626369956');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 2, 1, 'threads', 'off', 0, 0, '1493750453348663889');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 3, 0, 'augment', 'free', 0, 1, '17437957434853675253');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 3, 0, 'autotune', 'fixed', 0, 0, '14298995770697794155');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 3, 0, 'data_order', 'free', 0, 1, '3566030246231908003');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 3, 0, 'dropout', 'free', 0, 1, '6965449082168090598');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 3, 0, 'init', 'free', 0, 1, '1743917784442841159');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 3, 0, 'kernels', 'fixed', 0, 0, '6312628821297648509');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 3, 0, 'poke', 'off', 0, 0, '1549005968793581465');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 3, 0, 'reduce_order', 'fixed', 0, 0, '1103408769626369956');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 3, 0, 'threads', 'off', 0, 0, '1493750453348663889');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 3, 1, 'augment', 'free', 0, 2, '14881243337297323411');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 3, 1, 'autotune', 'fixed', 0, 0, '14298995770697794155');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 3, 1, 'data_order', 'free', 0, 2, '863549271797167256');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 3, 1, 'dropout', 'free', 0, 2, '7936102753656008295');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 3, 1, 'init', 'free', 0, 2, '13752686981196726545');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 3, 1, 'kernels', 'fixed', 0, 0, '6312628821297648509');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 3, 1, 'poke', 'off', 0, 0, '1549005968793581465');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 3, 1, 'reduce_order', 'fixed', 0, 0, '1103408769626369956');
INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES (1, 3, 1, 'threads', 'off', 0, 0, '1493750453348663889');
INSERT INTO sweep_data (sweep, data_set, identity) VALUES (1, 'fashion-mnist-sample', '7e3278861a28387b921c8dddfb48d61b05c35e83a87b02114ee496a411228e4c');
INSERT INTO unit (unit) VALUES ('Example 9000');
INSERT INTO worker (worker, name, identity, slots, unit, classes, stacks, version, seen_us) VALUES (1, 'box', '7307944887007077275', 2, 'Example 9000', '["cpu-amd-avx512","cpu-amd-avx2","cpu-amd-sse"]', '[{"build":"229ed91f24316751ba533f0bf82f9b8cc91d304bf428d758942d61e830c042b5","fingerprint":"2c0a2693b67a27e066030ef89536c1b24bb518c6754af6ad7434896aa85989da","name":"torch-2.11-cu130"}]', '0.2.0', 1795355299315374);
INSERT INTO environment (sha256, facts) VALUES ('0784b05c96d90eab83ed300bbb430fea73bc18dcba2fe64179285dc8c7a5b90a', '{"aten_cpu_capability":"AVX512","build":"229ed91f24316751ba533f0bf82f9b8cc91d304bf428d758942d61e830c042b5","data_identity":"7e3278861a28387b921c8dddfb48d61b05c35e83a87b02114ee496a411228e4c","gpu":null,"hardware_class":"cpu-amd-avx512","load_at_end":"0.40 0.34 1.04 5/117 28353","machine":{"c_library":"glibc 2.36","caches":{"L1d":"48K","L1i":"32K","L2":"1024K","L3":"32768K"},"cores_allowed":1,"cores_online":2,"cpu_family":"26","cpu_model":"Example 9000","cpu_stepping":"1","cpu_vendor":"amd","host":"box","huge_pages":"always [madvise] never","instruction_sets":["sse2","sse4_1"],"kernel":"Linux 6.1.0","load":"0.40 0.34 1.04 3/116 28352","memory":"24684092 kB"},"measured":{"evaluate_seconds":0.016166893,"steps":2,"train_seconds":0.033137043},"notes":["oneDNN''s instruction set and MKL''s reproducibility mode are asked for by variables and were observed in this process: see observed","clock rates, temperature and other processes of the machine are not controlled; they can change times, and the order of arrival when reduce_order is free, but no other bits"],"observed":{"mkl_cbwr":"AUTO","onednn_convolutions":["jit:avx512_core"],"onednn_isa":"Intel AVX-512 with AVX512BW, AVX512VL, and AVX512DQ extensions"},"stack":"torch-2.11-cu130","stack_fingerprint":"d180e73f4049909b96fe86ea063f26600f967d48fe1ef4b488c5f68e9ceea1be","switches":[{"asked":"on","name":"deterministic_algorithms","read":"on"},{"asked":"off","name":"deterministic_warn_only","read":"off"}],"variables":{"ATEN_CPU_CAPABILITY":"avx512","CUDA_VISIBLE_DEVICES":""},"versions":{"compiler":"g++ 12.2.0","library":"libtorch_cpu.so (451209129 bytes)","libtorch":"2.11.0","mkl":"Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build 20240605 for Intel(R) 64 architecture applications","onednn":"Intel(R) MKL-DNN v3.10.2 (Git Hash f1d471933dc852f956fd05389f9313c7148783d5)","openmp":"OpenMP 201511 (a.k.a. OpenMP 4.5)"}}');
INSERT INTO environment (sha256, facts) VALUES ('be846782e47b7250b13d6a4af31b976872a4756a5e433af91827b247fe3c4019', '{"aten_cpu_capability":"AVX512","build":"229ed91f24316751ba533f0bf82f9b8cc91d304bf428d758942d61e830c042b5","data_identity":"7e3278861a28387b921c8dddfb48d61b05c35e83a87b02114ee496a411228e4c","gpu":null,"hardware_class":"cpu-amd-avx512","load_at_end":"0.40 0.34 1.04 6/117 28353","machine":{"c_library":"glibc 2.36","caches":{"L1d":"48K","L1i":"32K","L2":"1024K","L3":"32768K"},"cores_allowed":1,"cores_online":2,"cpu_family":"26","cpu_model":"Example 9000","cpu_stepping":"1","cpu_vendor":"amd","host":"box","huge_pages":"always [madvise] never","instruction_sets":["sse2","sse4_1"],"kernel":"Linux 6.1.0","load":"0.40 0.34 1.04 3/116 28352","memory":"24684092 kB"},"measured":{"evaluate_seconds":0.027908846,"steps":2,"train_seconds":0.026866802},"notes":["oneDNN''s instruction set and MKL''s reproducibility mode are asked for by variables and were observed in this process: see observed","clock rates, temperature and other processes of the machine are not controlled; they can change times, and the order of arrival when reduce_order is free, but no other bits"],"observed":{"mkl_cbwr":"AUTO","onednn_convolutions":["jit:avx512_core"],"onednn_isa":"Intel AVX-512 with AVX512BW, AVX512VL, and AVX512DQ extensions"},"stack":"torch-2.11-cu130","stack_fingerprint":"d180e73f4049909b96fe86ea063f26600f967d48fe1ef4b488c5f68e9ceea1be","switches":[{"asked":"on","name":"deterministic_algorithms","read":"on"},{"asked":"off","name":"deterministic_warn_only","read":"off"}],"variables":{"ATEN_CPU_CAPABILITY":"avx512","CUDA_VISIBLE_DEVICES":""},"versions":{"compiler":"g++ 12.2.0","library":"libtorch_cpu.so (451209129 bytes)","libtorch":"2.11.0","mkl":"Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build 20240605 for Intel(R) 64 architecture applications","onednn":"Intel(R) MKL-DNN v3.10.2 (Git Hash f1d471933dc852f956fd05389f9313c7148783d5)","openmp":"OpenMP 201511 (a.k.a. OpenMP 4.5)"}}');
INSERT INTO environment (sha256, facts) VALUES ('e408f6f6f6f8b65030702a7654c99a79b0b3a58d37da1f709d7dd2b606288e5d', '{"aten_cpu_capability":"AVX512","build":"229ed91f24316751ba533f0bf82f9b8cc91d304bf428d758942d61e830c042b5","data_identity":"7e3278861a28387b921c8dddfb48d61b05c35e83a87b02114ee496a411228e4c","gpu":null,"hardware_class":"cpu-amd-avx512","load_at_end":"0.40 0.34 1.04 5/119 28369","machine":{"c_library":"glibc 2.36","caches":{"L1d":"48K","L1i":"32K","L2":"1024K","L3":"32768K"},"cores_allowed":1,"cores_online":2,"cpu_family":"26","cpu_model":"Example 9000","cpu_stepping":"1","cpu_vendor":"amd","host":"box","huge_pages":"always [madvise] never","instruction_sets":["sse2","sse4_1"],"kernel":"Linux 6.1.0","load":"0.40 0.34 1.04 4/121 28369","memory":"24684092 kB"},"measured":{"evaluate_seconds":0.00606108,"steps":2,"train_seconds":0.0044455},"notes":["oneDNN''s instruction set and MKL''s reproducibility mode are asked for by variables and were observed in this process: see observed","clock rates, temperature and other processes of the machine are not controlled; they can change times, and the order of arrival when reduce_order is free, but no other bits"],"observed":{"mkl_cbwr":"AUTO","onednn_convolutions":["jit:avx512_core"],"onednn_isa":"Intel AVX-512 with AVX512BW, AVX512VL, and AVX512DQ extensions"},"stack":"torch-2.11-cu130","stack_fingerprint":"d180e73f4049909b96fe86ea063f26600f967d48fe1ef4b488c5f68e9ceea1be","switches":[{"asked":"on","name":"deterministic_algorithms","read":"on"},{"asked":"off","name":"deterministic_warn_only","read":"off"}],"variables":{"ATEN_CPU_CAPABILITY":"avx512","CUDA_VISIBLE_DEVICES":""},"versions":{"compiler":"g++ 12.2.0","library":"libtorch_cpu.so (451209129 bytes)","libtorch":"2.11.0","mkl":"Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build 20240605 for Intel(R) 64 architecture applications","onednn":"Intel(R) MKL-DNN v3.10.2 (Git Hash f1d471933dc852f956fd05389f9313c7148783d5)","openmp":"OpenMP 201511 (a.k.a. OpenMP 4.5)"}}');
INSERT INTO environment (sha256, facts) VALUES ('e4481df7dc65bc72924cd30ed1009f0fbb43e156edb38ccb8707b22e248a2c2b', '{"aten_cpu_capability":"AVX512","build":"229ed91f24316751ba533f0bf82f9b8cc91d304bf428d758942d61e830c042b5","data_identity":"7e3278861a28387b921c8dddfb48d61b05c35e83a87b02114ee496a411228e4c","gpu":null,"hardware_class":"cpu-amd-avx512","load_at_end":"0.40 0.34 1.04 3/121 28362","machine":{"c_library":"glibc 2.36","caches":{"L1d":"48K","L1i":"32K","L2":"1024K","L3":"32768K"},"cores_allowed":1,"cores_online":2,"cpu_family":"26","cpu_model":"Example 9000","cpu_stepping":"1","cpu_vendor":"amd","host":"box","huge_pages":"always [madvise] never","instruction_sets":["sse2","sse4_1"],"kernel":"Linux 6.1.0","load":"0.40 0.34 1.04 3/121 28362","memory":"24684092 kB"},"measured":{"evaluate_seconds":0.03245764,"steps":2,"train_seconds":0.009538857},"notes":["oneDNN''s instruction set and MKL''s reproducibility mode are asked for by variables and were observed in this process: see observed","clock rates, temperature and other processes of the machine are not controlled; they can change times, and the order of arrival when reduce_order is free, but no other bits"],"observed":{"mkl_cbwr":"AUTO","onednn_convolutions":["jit:avx512_core"],"onednn_isa":"Intel AVX-512 with AVX512BW, AVX512VL, and AVX512DQ extensions"},"stack":"torch-2.11-cu130","stack_fingerprint":"d180e73f4049909b96fe86ea063f26600f967d48fe1ef4b488c5f68e9ceea1be","switches":[{"asked":"on","name":"deterministic_algorithms","read":"on"},{"asked":"off","name":"deterministic_warn_only","read":"off"}],"variables":{"ATEN_CPU_CAPABILITY":"avx512","CUDA_VISIBLE_DEVICES":""},"versions":{"compiler":"g++ 12.2.0","library":"libtorch_cpu.so (451209129 bytes)","libtorch":"2.11.0","mkl":"Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build 20240605 for Intel(R) 64 architecture applications","onednn":"Intel(R) MKL-DNN v3.10.2 (Git Hash f1d471933dc852f956fd05389f9313c7148783d5)","openmp":"OpenMP 201511 (a.k.a. OpenMP 4.5)"}}');
INSERT INTO environment (sha256, facts) VALUES ('e7e9d770a57b89da92353d1b57ec79fe3547f62dc0cee4d26d4a6648b88b33b8', '{"aten_cpu_capability":"AVX512","build":"229ed91f24316751ba533f0bf82f9b8cc91d304bf428d758942d61e830c042b5","data_identity":"7e3278861a28387b921c8dddfb48d61b05c35e83a87b02114ee496a411228e4c","gpu":null,"hardware_class":"cpu-amd-avx512","load_at_end":"0.40 0.34 1.04 3/121 28369","machine":{"c_library":"glibc 2.36","caches":{"L1d":"48K","L1i":"32K","L2":"1024K","L3":"32768K"},"cores_allowed":1,"cores_online":2,"cpu_family":"26","cpu_model":"Example 9000","cpu_stepping":"1","cpu_vendor":"amd","host":"box","huge_pages":"always [madvise] never","instruction_sets":["sse2","sse4_1"],"kernel":"Linux 6.1.0","load":"0.40 0.34 1.04 5/120 28366","memory":"24684092 kB"},"measured":{"evaluate_seconds":0.010427983,"steps":2,"train_seconds":0.005902664},"notes":["oneDNN''s instruction set and MKL''s reproducibility mode are asked for by variables and were observed in this process: see observed","clock rates, temperature and other processes of the machine are not controlled; they can change times, and the order of arrival when reduce_order is free, but no other bits"],"observed":{"mkl_cbwr":"AUTO","onednn_convolutions":["jit:avx512_core"],"onednn_isa":"Intel AVX-512 with AVX512BW, AVX512VL, and AVX512DQ extensions"},"stack":"torch-2.11-cu130","stack_fingerprint":"d180e73f4049909b96fe86ea063f26600f967d48fe1ef4b488c5f68e9ceea1be","switches":[{"asked":"on","name":"deterministic_algorithms","read":"on"},{"asked":"off","name":"deterministic_warn_only","read":"off"}],"variables":{"ATEN_CPU_CAPABILITY":"avx512","CUDA_VISIBLE_DEVICES":""},"versions":{"compiler":"g++ 12.2.0","library":"libtorch_cpu.so (451209129 bytes)","libtorch":"2.11.0","mkl":"Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build 20240605 for Intel(R) 64 architecture applications","onednn":"Intel(R) MKL-DNN v3.10.2 (Git Hash f1d471933dc852f956fd05389f9313c7148783d5)","openmp":"OpenMP 201511 (a.k.a. OpenMP 4.5)"}}');
INSERT INTO lease (lease, sweep, cell, replicate, attempt, worker, specification, granted_us, dropped_us, drop_cause, drop_reason) VALUES (1, 1, 0, 0, 1, 1, '{"augment":{"crop_padding":0,"cutout":0,"flip":false,"standardise":false},"data":{"identity":"7e3278861a28387b921c8dddfb48d61b05c35e83a87b02114ee496a411228e4c","name":"fashion-mnist-sample","test_examples":100,"train_examples":256},"evaluate":{"batch_size":1000,"every_epochs":1,"predictions":"final"},"hardware_class":"cpu-amd-avx512","model":{"batch_norm":true,"batch_norm_epsilon":0.001,"batch_norm_momentum":0.01,"dropout":0.0,"hidden":128,"init":"glorot_uniform","name":"mlp"},"noise":{"augment":{"block":0,"lane":0,"seed":"887372448136608204","state":"fixed"},"autotune":{"block":0,"lane":0,"seed":"14298995770697794155","state":"fixed"},"data_order":{"block":0,"lane":0,"seed":"14850480464321812899","state":"fixed"},"dropout":{"block":0,"lane":0,"seed":"13614370539285667271","state":"fixed"},"init":{"block":0,"lane":0,"seed":"15114123258453576503","state":"fixed"},"kernels":{"block":0,"lane":0,"seed":"6312628821297648509","state":"fixed"},"poke":{"block":0,"lane":0,"seed":"1549005968793581465","state":"off"},"reduce_order":{"block":0,"lane":0,"seed":"1103408769626369956","state":"fixed"},"threads":{"block":0,"lane":0,"seed":"1493750453348663889","state":"off"}},"sources":{"augment":{"key":"example"},"data_order":{"window":0},"poke":{"element":0,"parameter":"","step":0},"threads":{"choices":[]}},"stack":"torch-2.11-cu130","train":{"batch_size":128,"drop_last":false,"epochs":1,"label_smoothing":0.0,"optimizer":{"beta1":0.9,"beta2":0.999,"epsilon":1e-07,"learning_rate":0.05,"momentum":0.0,"name":"sgd","nesterov":false,"weight_decay":0.0},"precision":"fp32","schedule":{"factor":0.1,"milestones":[],"name":"constant","warmup_epochs":0.0},"shards":1,"threads":1}}', 1795355299404402, 1795355300200218, 'none', '');
INSERT INTO lease (lease, sweep, cell, replicate, attempt, worker, specification, granted_us, dropped_us, drop_cause, drop_reason) VALUES (2, 1, 1, 0, 1, 1, '{"augment":{"crop_padding":0,"cutout":0,"flip":false,"standardise":false},"data":{"identity":"7e3278861a28387b921c8dddfb48d61b05c35e83a87b02114ee496a411228e4c","name":"fashion-mnist-sample","test_examples":100,"train_examples":256},"evaluate":{"batch_size":1000,"every_epochs":1,"predictions":"final"},"hardware_class":"cpu-amd-avx512","model":{"batch_norm":true,"batch_norm_epsilon":0.001,"batch_norm_momentum":0.01,"dropout":0.0,"hidden":128,"init":"glorot_uniform","name":"mlp"},"noise":{"augment":{"block":0,"lane":1,"seed":"17437957434853675253","state":"free"},"autotune":{"block":0,"lane":0,"seed":"14298995770697794155","state":"fixed"},"data_order":{"block":0,"lane":1,"seed":"3566030246231908003","state":"free"},"dropout":{"block":0,"lane":1,"seed":"6965449082168090598","state":"free"},"init":{"block":0,"lane":1,"seed":"1743917784442841159","state":"free"},"kernels":{"block":0,"lane":0,"seed":"6312628821297648509","state":"fixed"},"poke":{"block":0,"lane":0,"seed":"1549005968793581465","state":"off"},"reduce_order":{"block":0,"lane":0,"seed":"1103408769626369956","state":"fixed"},"threads":{"block":0,"lane":0,"seed":"1493750453348663889","state":"off"}},"sources":{"augment":{"key":"example"},"data_order":{"window":0},"poke":{"element":0,"parameter":"","step":0},"threads":{"choices":[]}},"stack":"torch-2.11-cu130","train":{"batch_size":128,"drop_last":false,"epochs":1,"label_smoothing":0.0,"optimizer":{"beta1":0.9,"beta2":0.999,"epsilon":1e-07,"learning_rate":0.05,"momentum":0.0,"name":"sgd","nesterov":false,"weight_decay":0.0},"precision":"fp32","schedule":{"factor":0.1,"milestones":[],"name":"constant","warmup_epochs":0.0},"shards":1,"threads":1}}', 1795355299404402, 1795355300150658, 'none', '');
INSERT INTO lease (lease, sweep, cell, replicate, attempt, worker, specification, granted_us, dropped_us, drop_cause, drop_reason) VALUES (3, 1, 2, 0, 1, 1, '{"augment":{"crop_padding":0,"cutout":0,"flip":false,"standardise":false},"data":{"identity":"7e3278861a28387b921c8dddfb48d61b05c35e83a87b02114ee496a411228e4c","name":"fashion-mnist-sample","test_examples":100,"train_examples":256},"evaluate":{"batch_size":1000,"every_epochs":1,"predictions":"final"},"hardware_class":"cpu-amd-avx512","model":{"batch_norm":true,"batch_norm_epsilon":0.001,"batch_norm_momentum":0.01,"dropout":0.0,"hidden":128,"init":"glorot_uniform","name":"mlp"},"noise":{"augment":{"block":0,"lane":0,"seed":"887372448136608204","state":"fixed"},"autotune":{"block":0,"lane":0,"seed":"14298995770697794155","state":"fixed"},"data_order":{"block":0,"lane":0,"seed":"14850480464321812899","state":"fixed"},"dropout":{"block":0,"lane":0,"seed":"13614370539285667271","state":"fixed"},"init":{"block":0,"lane":0,"seed":"15114123258453576503","state":"fixed"},"kernels":{"block":0,"lane":0,"seed":"6312628821297648509","state":"fixed"},"poke":{"block":0,"lane":0,"seed":"1549005968793581465","state":"off"},"reduce_order":{"block":0,"lane":0,"seed":"1103408769626369956","state":"fixed"},"threads":{"block":0,"lane":0,"seed":"1493750453348663889","state":"off"}},"sources":{"augment":{"key":"example"},"data_order":{"window":0},"poke":{"element":0,"parameter":"","step":0},"threads":{"choices":[]}},"stack":"torch-2.11-cu130","train":{"batch_size":128,"drop_last":false,"epochs":1,"label_smoothing":0.0,"optimizer":{"beta1":0.9,"beta2":0.999,"epsilon":1e-07,"learning_rate":1000000.0,"momentum":0.0,"name":"sgd","nesterov":false,"weight_decay":0.0},"precision":"fp32","schedule":{"factor":0.1,"milestones":[],"name":"constant","warmup_epochs":0.0},"shards":1,"threads":1}}', 1795355300150658, 1795355300720333, 'none', '');
INSERT INTO lease (lease, sweep, cell, replicate, attempt, worker, specification, granted_us, dropped_us, drop_cause, drop_reason) VALUES (4, 1, 3, 0, 1, 1, '{"augment":{"crop_padding":0,"cutout":0,"flip":false,"standardise":false},"data":{"identity":"7e3278861a28387b921c8dddfb48d61b05c35e83a87b02114ee496a411228e4c","name":"fashion-mnist-sample","test_examples":100,"train_examples":256},"evaluate":{"batch_size":1000,"every_epochs":1,"predictions":"final"},"hardware_class":"cpu-amd-avx512","model":{"batch_norm":true,"batch_norm_epsilon":0.001,"batch_norm_momentum":0.01,"dropout":0.0,"hidden":128,"init":"glorot_uniform","name":"mlp"},"noise":{"augment":{"block":0,"lane":1,"seed":"17437957434853675253","state":"free"},"autotune":{"block":0,"lane":0,"seed":"14298995770697794155","state":"fixed"},"data_order":{"block":0,"lane":1,"seed":"3566030246231908003","state":"free"},"dropout":{"block":0,"lane":1,"seed":"6965449082168090598","state":"free"},"init":{"block":0,"lane":1,"seed":"1743917784442841159","state":"free"},"kernels":{"block":0,"lane":0,"seed":"6312628821297648509","state":"fixed"},"poke":{"block":0,"lane":0,"seed":"1549005968793581465","state":"off"},"reduce_order":{"block":0,"lane":0,"seed":"1103408769626369956","state":"fixed"},"threads":{"block":0,"lane":0,"seed":"1493750453348663889","state":"off"}},"sources":{"augment":{"key":"example"},"data_order":{"window":0},"poke":{"element":0,"parameter":"","step":0},"threads":{"choices":[]}},"stack":"torch-2.11-cu130","train":{"batch_size":128,"drop_last":false,"epochs":1,"label_smoothing":0.0,"optimizer":{"beta1":0.9,"beta2":0.999,"epsilon":1e-07,"learning_rate":1000000.0,"momentum":0.0,"name":"sgd","nesterov":false,"weight_decay":0.0},"precision":"fp32","schedule":{"factor":0.1,"milestones":[],"name":"constant","warmup_epochs":0.0},"shards":1,"threads":1}}', 1795355300200218, NULL, '', '');
INSERT INTO lease (lease, sweep, cell, replicate, attempt, worker, specification, granted_us, dropped_us, drop_cause, drop_reason) VALUES (5, 1, 0, 1, 1, 1, '{"augment":{"crop_padding":0,"cutout":0,"flip":false,"standardise":false},"data":{"identity":"7e3278861a28387b921c8dddfb48d61b05c35e83a87b02114ee496a411228e4c","name":"fashion-mnist-sample","test_examples":100,"train_examples":256},"evaluate":{"batch_size":1000,"every_epochs":1,"predictions":"final"},"hardware_class":"cpu-amd-avx512","model":{"batch_norm":true,"batch_norm_epsilon":0.001,"batch_norm_momentum":0.01,"dropout":0.0,"hidden":128,"init":"glorot_uniform","name":"mlp"},"noise":{"augment":{"block":0,"lane":0,"seed":"887372448136608204","state":"fixed"},"autotune":{"block":0,"lane":0,"seed":"14298995770697794155","state":"fixed"},"data_order":{"block":0,"lane":0,"seed":"14850480464321812899","state":"fixed"},"dropout":{"block":0,"lane":0,"seed":"13614370539285667271","state":"fixed"},"init":{"block":0,"lane":0,"seed":"15114123258453576503","state":"fixed"},"kernels":{"block":0,"lane":0,"seed":"6312628821297648509","state":"fixed"},"poke":{"block":0,"lane":0,"seed":"1549005968793581465","state":"off"},"reduce_order":{"block":0,"lane":0,"seed":"1103408769626369956","state":"fixed"},"threads":{"block":0,"lane":0,"seed":"1493750453348663889","state":"off"}},"sources":{"augment":{"key":"example"},"data_order":{"window":0},"poke":{"element":0,"parameter":"","step":0},"threads":{"choices":[]}},"stack":"torch-2.11-cu130","train":{"batch_size":128,"drop_last":false,"epochs":1,"label_smoothing":0.0,"optimizer":{"beta1":0.9,"beta2":0.999,"epsilon":1e-07,"learning_rate":0.05,"momentum":0.0,"name":"sgd","nesterov":false,"weight_decay":0.0},"precision":"fp32","schedule":{"factor":0.1,"milestones":[],"name":"constant","warmup_epochs":0.0},"shards":1,"threads":1}}', 1795355300720333, 1795355300801720, 'none', '');
INSERT INTO lease (lease, sweep, cell, replicate, attempt, worker, specification, granted_us, dropped_us, drop_cause, drop_reason) VALUES (6, 1, 1, 1, 1, 1, '{"augment":{"crop_padding":0,"cutout":0,"flip":false,"standardise":false},"data":{"identity":"7e3278861a28387b921c8dddfb48d61b05c35e83a87b02114ee496a411228e4c","name":"fashion-mnist-sample","test_examples":100,"train_examples":256},"evaluate":{"batch_size":1000,"every_epochs":1,"predictions":"final"},"hardware_class":"cpu-amd-avx512","model":{"batch_norm":true,"batch_norm_epsilon":0.001,"batch_norm_momentum":0.01,"dropout":0.0,"hidden":128,"init":"glorot_uniform","name":"mlp"},"noise":{"augment":{"block":0,"lane":2,"seed":"14881243337297323411","state":"free"},"autotune":{"block":0,"lane":0,"seed":"14298995770697794155","state":"fixed"},"data_order":{"block":0,"lane":2,"seed":"863549271797167256","state":"free"},"dropout":{"block":0,"lane":2,"seed":"7936102753656008295","state":"free"},"init":{"block":0,"lane":2,"seed":"13752686981196726545","state":"free"},"kernels":{"block":0,"lane":0,"seed":"6312628821297648509","state":"fixed"},"poke":{"block":0,"lane":0,"seed":"1549005968793581465","state":"off"},"reduce_order":{"block":0,"lane":0,"seed":"1103408769626369956","state":"fixed"},"threads":{"block":0,"lane":0,"seed":"1493750453348663889","state":"off"}},"sources":{"augment":{"key":"example"},"data_order":{"window":0},"poke":{"element":0,"parameter":"","step":0},"threads":{"choices":[]}},"stack":"torch-2.11-cu130","train":{"batch_size":128,"drop_last":false,"epochs":1,"label_smoothing":0.0,"optimizer":{"beta1":0.9,"beta2":0.999,"epsilon":1e-07,"learning_rate":0.05,"momentum":0.0,"name":"sgd","nesterov":false,"weight_decay":0.0},"precision":"fp32","schedule":{"factor":0.1,"milestones":[],"name":"constant","warmup_epochs":0.0},"shards":1,"threads":1}}', 1795355300752289, 1795355300816192, 'none', '');
INSERT INTO lease (lease, sweep, cell, replicate, attempt, worker, specification, granted_us, dropped_us, drop_cause, drop_reason) VALUES (7, 1, 2, 1, 1, 1, '{"augment":{"crop_padding":0,"cutout":0,"flip":false,"standardise":false},"data":{"identity":"7e3278861a28387b921c8dddfb48d61b05c35e83a87b02114ee496a411228e4c","name":"fashion-mnist-sample","test_examples":100,"train_examples":256},"evaluate":{"batch_size":1000,"every_epochs":1,"predictions":"final"},"hardware_class":"cpu-amd-avx512","model":{"batch_norm":true,"batch_norm_epsilon":0.001,"batch_norm_momentum":0.01,"dropout":0.0,"hidden":128,"init":"glorot_uniform","name":"mlp"},"noise":{"augment":{"block":0,"lane":0,"seed":"887372448136608204","state":"fixed"},"autotune":{"block":0,"lane":0,"seed":"14298995770697794155","state":"fixed"},"data_order":{"block":0,"lane":0,"seed":"14850480464321812899","state":"fixed"},"dropout":{"block":0,"lane":0,"seed":"13614370539285667271","state":"fixed"},"init":{"block":0,"lane":0,"seed":"15114123258453576503","state":"fixed"},"kernels":{"block":0,"lane":0,"seed":"6312628821297648509","state":"fixed"},"poke":{"block":0,"lane":0,"seed":"1549005968793581465","state":"off"},"reduce_order":{"block":0,"lane":0,"seed":"1103408769626369956","state":"fixed"},"threads":{"block":0,"lane":0,"seed":"1493750453348663889","state":"off"}},"sources":{"augment":{"key":"example"},"data_order":{"window":0},"poke":{"element":0,"parameter":"","step":0},"threads":{"choices":[]}},"stack":"torch-2.11-cu130","train":{"batch_size":128,"drop_last":false,"epochs":1,"label_smoothing":0.0,"optimizer":{"beta1":0.9,"beta2":0.999,"epsilon":1e-07,"learning_rate":1000000.0,"momentum":0.0,"name":"sgd","nesterov":false,"weight_decay":0.0},"precision":"fp32","schedule":{"factor":0.1,"milestones":[],"name":"constant","warmup_epochs":0.0},"shards":1,"threads":1}}', 1795355300801720, 1795355300871181, 'out_of_memory', 'no room');
INSERT INTO attempt (lease, outcome, accepted, refused_because, cause, message, environment, data_identity, train_seconds, train_seconds_special, record_batches, ended_us) VALUES (1, 'done', 1, '', 'none', '', '0784b05c96d90eab83ed300bbb430fea73bc18dcba2fe64179285dc8c7a5b90a', '7e3278861a28387b921c8dddfb48d61b05c35e83a87b02114ee496a411228e4c', 0.033137043, 0, 3, 1795355300200218);
INSERT INTO attempt (lease, outcome, accepted, refused_because, cause, message, environment, data_identity, train_seconds, train_seconds_special, record_batches, ended_us) VALUES (2, 'done', 1, '', 'none', '', 'be846782e47b7250b13d6a4af31b976872a4756a5e433af91827b247fe3c4019', '7e3278861a28387b921c8dddfb48d61b05c35e83a87b02114ee496a411228e4c', 0.026866802, 0, 3, 1795355300150658);
INSERT INTO attempt (lease, outcome, accepted, refused_because, cause, message, environment, data_identity, train_seconds, train_seconds_special, record_batches, ended_us) VALUES (3, 'diverged', 1, '', 'none', 'the loss is not finite after 2 steps', 'e4481df7dc65bc72924cd30ed1009f0fbb43e156edb38ccb8707b22e248a2c2b', '7e3278861a28387b921c8dddfb48d61b05c35e83a87b02114ee496a411228e4c', 0.009538857, 0, 3, 1795355300720333);
INSERT INTO attempt (lease, outcome, accepted, refused_because, cause, message, environment, data_identity, train_seconds, train_seconds_special, record_batches, ended_us) VALUES (5, 'done', 1, '', 'none', '', 'e7e9d770a57b89da92353d1b57ec79fe3547f62dc0cee4d26d4a6648b88b33b8', '7e3278861a28387b921c8dddfb48d61b05c35e83a87b02114ee496a411228e4c', 0.005902664, 0, 3, 1795355300801720);
INSERT INTO attempt (lease, outcome, accepted, refused_because, cause, message, environment, data_identity, train_seconds, train_seconds_special, record_batches, ended_us) VALUES (6, 'done', 1, '', 'none', '', 'e408f6f6f6f8b65030702a7654c99a79b0b3a58d37da1f709d7dd2b606288e5d', '7e3278861a28387b921c8dddfb48d61b05c35e83a87b02114ee496a411228e4c', 0.0044455, 0, 3, 1795355300816192);
INSERT INTO attempt (lease, outcome, accepted, refused_because, cause, message, environment, data_identity, train_seconds, train_seconds_special, record_batches, ended_us) VALUES (7, 'failed', 0, 'out_of_memory', 'out_of_memory', 'no room', NULL, '', 0.006982404, 0, 3, 1795355300871181);
INSERT INTO attempt_hash (lease, name, sha256) VALUES (1, 'first_batches', 'c5a0f4830d491eac092df1c84b1a3cb1b7329c268b25032f17068eecc21bab5a');
INSERT INTO attempt_hash (lease, name, sha256) VALUES (1, 'init', '1be504b589b0bcea37113edab3132a8391480eeeefb5fece7411d6af07470828');
INSERT INTO attempt_hash (lease, name, sha256) VALUES (1, 'logits', 'c2023c1c8974391dd392ac8e1823ddcf603049106a990fe29ed5f064106648cd');
INSERT INTO attempt_hash (lease, name, sha256) VALUES (1, 'weights', 'edd1af6b03d91dc5723c732052fb259422672b7632a1659a5d4640ed406875fe');
INSERT INTO attempt_hash (lease, name, sha256) VALUES (1, 'weights_at/1', 'edd1af6b03d91dc5723c732052fb259422672b7632a1659a5d4640ed406875fe');
INSERT INTO attempt_hash (lease, name, sha256) VALUES (2, 'first_batches', '7dc67f70a91ee4f6595c34f9f93ef7811f9db3129e8fd15760ef1efa6164971b');
INSERT INTO attempt_hash (lease, name, sha256) VALUES (2, 'init', '6e3d65fe164c46d55fc409f1af7c1e818cbbd9d64ceaf52858008af4f88937d5');
INSERT INTO attempt_hash (lease, name, sha256) VALUES (2, 'logits', '61dcea2e4e598a2c81e19c92c6950328375c095c8a01e1fb8deb84b71be399b1');
INSERT INTO attempt_hash (lease, name, sha256) VALUES (2, 'weights', 'bfa36c06bfddb3b70b988116d4d62e0e2065af21bd35d6e919a74afb1d2a364e');
INSERT INTO attempt_hash (lease, name, sha256) VALUES (2, 'weights_at/1', 'bfa36c06bfddb3b70b988116d4d62e0e2065af21bd35d6e919a74afb1d2a364e');
INSERT INTO attempt_hash (lease, name, sha256) VALUES (3, 'first_batches', 'c5a0f4830d491eac092df1c84b1a3cb1b7329c268b25032f17068eecc21bab5a');
INSERT INTO attempt_hash (lease, name, sha256) VALUES (3, 'init', '1be504b589b0bcea37113edab3132a8391480eeeefb5fece7411d6af07470828');
INSERT INTO attempt_hash (lease, name, sha256) VALUES (3, 'logits', 'd08327bd77e658b5eded8c04f98639924a1e350e192a1d182f48a7f0a7d69af6');
INSERT INTO attempt_hash (lease, name, sha256) VALUES (3, 'weights', '6b3f5b03dd5a2c8c5de1e6eae69af838c668dfc1396d287aad179a0111132614');
INSERT INTO attempt_hash (lease, name, sha256) VALUES (3, 'weights_at/1', '6b3f5b03dd5a2c8c5de1e6eae69af838c668dfc1396d287aad179a0111132614');
INSERT INTO attempt_hash (lease, name, sha256) VALUES (5, 'first_batches', 'c5a0f4830d491eac092df1c84b1a3cb1b7329c268b25032f17068eecc21bab5a');
INSERT INTO attempt_hash (lease, name, sha256) VALUES (5, 'init', '1be504b589b0bcea37113edab3132a8391480eeeefb5fece7411d6af07470828');
INSERT INTO attempt_hash (lease, name, sha256) VALUES (5, 'logits', 'c2023c1c8974391dd392ac8e1823ddcf603049106a990fe29ed5f064106648cd');
INSERT INTO attempt_hash (lease, name, sha256) VALUES (5, 'weights', 'edd1af6b03d91dc5723c732052fb259422672b7632a1659a5d4640ed406875fe');
INSERT INTO attempt_hash (lease, name, sha256) VALUES (5, 'weights_at/1', 'edd1af6b03d91dc5723c732052fb259422672b7632a1659a5d4640ed406875fe');
INSERT INTO attempt_hash (lease, name, sha256) VALUES (6, 'first_batches', 'e9537dd26025d11fda3b07fab29549629e87268669ab424545fbabe93a5a818c');
INSERT INTO attempt_hash (lease, name, sha256) VALUES (6, 'init', 'dc39015d262cf511fd13df29b191d6df21fd56e6b90d66cb91d49435cb311277');
INSERT INTO attempt_hash (lease, name, sha256) VALUES (6, 'logits', 'd92c6c6af732a0a75e580d607a366e10aeeb9593d2e594c93c38e380f70dd2a9');
INSERT INTO attempt_hash (lease, name, sha256) VALUES (6, 'weights', 'eea55e56bae161a36421e6ec7923ddebe07c993e62ab0ea5998b90221862feba');
INSERT INTO attempt_hash (lease, name, sha256) VALUES (6, 'weights_at/1', 'eea55e56bae161a36421e6ec7923ddebe07c993e62ab0ea5998b90221862feba');
INSERT INTO attempt_metric (lease, name, value, special) VALUES (1, 'class_accuracy/0', 1.66666666666666657414e-01, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (1, 'class_accuracy/1', 0.0, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (1, 'class_accuracy/2', 0.0, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (1, 'class_accuracy/3', 0.0, 1);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (1, 'class_accuracy/4', 0.2, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (1, 'class_accuracy/5', 0.0, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (1, 'class_accuracy/6', 0.5, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (1, 'class_accuracy/7', 0.3, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (1, 'class_accuracy/8', 0.125, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (1, 'class_accuracy/9', 7.77777777777777790113e-01, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (1, 'loss', 2.18618041179667166318e+00, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (1, 'top1', 0.26, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (1, 'top5', 0.74, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (2, 'class_accuracy/0', 0.5, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (2, 'class_accuracy/1', 4.28571428571428547638e-01, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (2, 'class_accuracy/2', 0.5, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (2, 'class_accuracy/3', 0.0, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (2, 'class_accuracy/4', 0.0, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (2, 'class_accuracy/5', 0.0, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (2, 'class_accuracy/6', 0.5, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (2, 'class_accuracy/7', 0.2, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (2, 'class_accuracy/8', 0.0, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (2, 'class_accuracy/9', 3.33333333333333314829e-01, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (2, 'loss', 2.21425410978534431549e+00, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (2, 'top1', 0.26, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (2, 'top5', 0.69, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (3, 'class_accuracy/0', 1.0, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (3, 'class_accuracy/1', 0.0, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (3, 'class_accuracy/2', 0.0, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (3, 'class_accuracy/3', 0.0, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (3, 'class_accuracy/4', 0.0, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (3, 'class_accuracy/5', 0.0, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (3, 'class_accuracy/6', 0.0, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (3, 'class_accuracy/7', 0.0, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (3, 'class_accuracy/8', 0.0, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (3, 'class_accuracy/9', 0.0, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (3, 'loss', 0.0, 1);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (3, 'top1', 0.12, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (3, 'top5', 0.52, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (5, 'class_accuracy/0', 1.66666666666666657414e-01, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (5, 'class_accuracy/1', 0.0, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (5, 'class_accuracy/2', 0.0, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (5, 'class_accuracy/3', 8.88888888888888839545e-01, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (5, 'class_accuracy/4', 0.2, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (5, 'class_accuracy/5', 0.0, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (5, 'class_accuracy/6', 0.5, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (5, 'class_accuracy/7', 0.3, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (5, 'class_accuracy/8', 0.125, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (5, 'class_accuracy/9', 7.77777777777777790113e-01, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (5, 'loss', 2.18618041179667166318e+00, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (5, 'top1', 0.26, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (5, 'top5', 0.74, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (6, 'class_accuracy/0', 0.75, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (6, 'class_accuracy/1', 0.0, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (6, 'class_accuracy/2', 0.0, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (6, 'class_accuracy/3', 0.0, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (6, 'class_accuracy/4', 0.0, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (6, 'class_accuracy/5', 1.42857142857142849212e-01, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (6, 'class_accuracy/6', 0.0, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (6, 'class_accuracy/7', 0.0, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (6, 'class_accuracy/8', 0.375, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (6, 'class_accuracy/9', 5.55555555555555580227e-01, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (6, 'loss', 2.20529359743601549581e+00, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (6, 'top1', 0.21, 0);
INSERT INTO attempt_metric (lease, name, value, special) VALUES (6, 'top5', 0.64, 0);
INSERT INTO artifact (lease, kind, path, sha256, size_bytes) VALUES (1, 'evaluation_images', 'evaluation_images.npy', '4483c39c87461868c14faa89dd62de031e7af1ddd488c6637d734f57b75423fb', 78528);
INSERT INTO artifact (lease, kind, path, sha256, size_bytes) VALUES (1, 'evaluation_labels', 'evaluation_labels.npy', 'f53d2a5e5150016307e76c8e7ce4503f0b5cdec03f9f96bf6fc9895a1fd35575', 528);
INSERT INTO artifact (lease, kind, path, sha256, size_bytes) VALUES (1, 'log', 'log', '7e3a900b7cd20c46b727ff870797b94b3d770b5575436185cafcf840f0731f22', 255);
INSERT INTO artifact (lease, kind, path, sha256, size_bytes) VALUES (1, 'predictions', 'predictions.npy', 'cc66763e8fb5c79be7a6632cccd09c58d2f57446fe2a459accab509ac00d3b49', 4128);
INSERT INTO artifact (lease, kind, path, sha256, size_bytes) VALUES (1, 'weights', 'weights.safetensors', 'fb5a08f8e8b8b088ea4fdabc218cfb44d455a930cedb20cb6dd82040967eb90a', 473624);
INSERT INTO artifact (lease, kind, path, sha256, size_bytes) VALUES (2, 'log', 'log', '4976250afa316e0c22dbf83087171793d9dabed2e7d8ddbabbf6ede81007ddcb', 255);
INSERT INTO artifact (lease, kind, path, sha256, size_bytes) VALUES (2, 'predictions', 'predictions.npy', '7bc7cfd84cafd66378e3007ff7b7ac6e616afe9932b00627baa05b8e873d3534', 4128);
INSERT INTO artifact (lease, kind, path, sha256, size_bytes) VALUES (2, 'weights', 'weights.safetensors', '6db67f8d7bafbafa2229532ca2700e36527b1f79cf7f5df423111774873b96d8', 473624);
INSERT INTO artifact (lease, kind, path, sha256, size_bytes) VALUES (3, 'log', 'log', '4ecb7116f40f656e28f9bc11843ff99972cb93101185281ed0bd7b4c6cdfe25a', 255);
INSERT INTO artifact (lease, kind, path, sha256, size_bytes) VALUES (3, 'predictions', 'predictions.npy', '1820a45cc421791f5f53719240717dc4e384b1a28f16072c85b6cbb05961425b', 4128);
INSERT INTO artifact (lease, kind, path, sha256, size_bytes) VALUES (3, 'weights', 'weights.safetensors', '5281df46e6f874897ccd398f8cb70591eba6d609ca3df5048e4774dc2631139f', 473624);
INSERT INTO artifact (lease, kind, path, sha256, size_bytes) VALUES (5, 'log', 'log', 'e89c0b707b40b744232bfbb4665f076e057d8f0ce45985a5fbbecc374639c8a8', 263);
INSERT INTO artifact (lease, kind, path, sha256, size_bytes) VALUES (5, 'predictions', 'predictions.npy', 'cc66763e8fb5c79be7a6632cccd09c58d2f57446fe2a459accab509ac00d3b49', 4128);
INSERT INTO artifact (lease, kind, path, sha256, size_bytes) VALUES (5, 'weights', 'weights.safetensors', 'fb5a08f8e8b8b088ea4fdabc218cfb44d455a930cedb20cb6dd82040967eb90a', 473624);
INSERT INTO artifact (lease, kind, path, sha256, size_bytes) VALUES (6, 'log', 'log', 'b408bf0094581db3f1e30e04784f153dc885bf77f848f575b183db365cad3e64', 263);
INSERT INTO artifact (lease, kind, path, sha256, size_bytes) VALUES (6, 'predictions', 'predictions.npy', '2f3451e3c8685601423c1844e20a052d8d4b7f36f490480927bb144618150ef8', 4128);
INSERT INTO artifact (lease, kind, path, sha256, size_bytes) VALUES (6, 'weights', 'weights.safetensors', '73fc9623b158797f68963e7b74e17ef49f0cee7d5a6699375c55a1192e2be597', 473624);
INSERT INTO metric (metric, name) VALUES (1, 'train_loss');
INSERT INTO metric (metric, name) VALUES (2, 'learning_rate');
INSERT INTO metric (metric, name) VALUES (3, 'train_loss_epoch');
INSERT INTO metric (metric, name) VALUES (4, 'test_loss');
INSERT INTO metric (metric, name) VALUES (5, 'test_top1');
INSERT INTO metric (metric, name) VALUES (6, 'test_top5');
INSERT INTO metric (metric, name) VALUES (7, 'test_top1_class_0');
INSERT INTO metric (metric, name) VALUES (8, 'test_top1_class_1');
INSERT INTO metric (metric, name) VALUES (9, 'test_top1_class_2');
INSERT INTO metric (metric, name) VALUES (10, 'test_top1_class_3');
INSERT INTO metric (metric, name) VALUES (11, 'test_top1_class_4');
INSERT INTO metric (metric, name) VALUES (12, 'test_top1_class_5');
INSERT INTO metric (metric, name) VALUES (13, 'test_top1_class_6');
INSERT INTO metric (metric, name) VALUES (14, 'test_top1_class_7');
INSERT INTO metric (metric, name) VALUES (15, 'test_top1_class_8');
INSERT INTO metric (metric, name) VALUES (16, 'test_top1_class_9');
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (1, 1, 0, 1, 0.5, 1, 2.32126665115356445312e+00, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (1, 1, 1, 1, 0.5, 2, 0.05, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (1, 2, 0, 2, 1.0, 1, 2.25416707992553710937e+00, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (1, 2, 1, 2, 1.0, 2, 0.05, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (1, 2, 2, 2, 1.0, 3, 2.28771686553955078125e+00, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (1, 3, 0, 2, 1.0, 4, 2.18618041179667166318e+00, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (1, 3, 1, 2, 1.0, 5, 0.26, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (1, 3, 2, 2, 1.0, 6, 0.74, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (2, 1, 0, 1, 0.5, 1, 2.344280242919921875e+00, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (2, 1, 1, 1, 0.5, 2, 0.05, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (2, 2, 0, 2, 1.0, 1, 2.28812670707702636718e+00, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (2, 2, 1, 2, 1.0, 2, 0.05, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (2, 2, 2, 2, 1.0, 3, 2.31620347499847412109e+00, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (2, 3, 0, 2, 1.0, 4, 2.21425410978534431549e+00, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (2, 3, 1, 2, 1.0, 5, 0.26, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (2, 3, 2, 2, 1.0, 6, 0.69, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (3, 1, 0, 1, 0.5, 1, 2.32126665115356445312e+00, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (3, 1, 1, 1, 0.5, 2, 1000000.0, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (3, 2, 0, 2, 1.0, 1, 7.90668689958502399987e+16, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (3, 2, 1, 2, 1.0, 2, 1000000.0, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (3, 2, 2, 2, 1.0, 3, 3.95334344979251199993e+16, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (3, 3, 0, 2, 1.0, 4, 0.0, 1);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (3, 3, 1, 2, 1.0, 5, 0.12, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (3, 3, 2, 2, 1.0, 6, 0.52, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (4, 1, 0, 1, 0.5, 1, 2.344280242919921875e+00, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (4, 1, 1, 1, 0.5, 2, 1000000.0, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (4, 2, 0, 2, 1.0, 1, 2.42851280710533120005e+16, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (4, 2, 1, 2, 1.0, 2, 1000000.0, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (4, 2, 2, 2, 1.0, 3, 1.21425640355266579995e+16, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (4, 3, 0, 2, 1.0, 4, 0.0, 1);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (4, 3, 1, 2, 1.0, 5, 0.12, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (4, 3, 2, 2, 1.0, 6, 0.52, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (5, 1, 0, 1, 0.5, 1, 2.32126665115356445312e+00, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (5, 1, 1, 1, 0.5, 2, 0.05, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (5, 2, 0, 2, 1.0, 1, 2.25416707992553710937e+00, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (5, 2, 1, 2, 1.0, 2, 0.05, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (5, 2, 2, 2, 1.0, 3, 2.28771686553955078125e+00, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (5, 3, 0, 2, 1.0, 4, 2.18618041179667166318e+00, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (5, 3, 1, 2, 1.0, 5, 0.26, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (5, 3, 2, 2, 1.0, 6, 0.74, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (6, 1, 0, 1, 0.5, 1, 2.44892024993896484375e+00, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (6, 1, 1, 1, 0.5, 2, 0.05, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (6, 2, 0, 2, 1.0, 1, 2.284015655517578125e+00, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (6, 2, 1, 2, 1.0, 2, 0.05, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (6, 2, 2, 2, 1.0, 3, 2.36646795272827148437e+00, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (6, 3, 0, 2, 1.0, 4, 2.20529359743601549581e+00, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (6, 3, 1, 2, 1.0, 5, 0.21, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (6, 3, 2, 2, 1.0, 6, 0.64, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (7, 1, 0, 1, 0.5, 1, 2.32126665115356445312e+00, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (7, 1, 1, 1, 0.5, 2, 1000000.0, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (7, 2, 0, 2, 1.0, 1, 7.90668689958502399987e+16, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (7, 2, 1, 2, 1.0, 2, 1000000.0, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (7, 2, 2, 2, 1.0, 3, 3.95334344979251199993e+16, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (7, 3, 0, 2, 1.0, 4, 0.0, 1);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (7, 3, 1, 2, 1.0, 5, 0.12, 0);
INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES (7, 3, 2, 2, 1.0, 6, 0.52, 0);
INSERT INTO event (event, sweep, cell, replicate, kind, text, at_us) VALUES (1, 1, NULL, NULL, 'sweep_submitted', 's1 old-home: 8 members in 4 cells', 1795355299404402);
INSERT INTO event (event, sweep, cell, replicate, kind, text, at_us) VALUES (2, 1, 0, 0, 'member_leased', 's1c0r0 attempt 1 on local', 1795355299404402);
INSERT INTO event (event, sweep, cell, replicate, kind, text, at_us) VALUES (3, 1, 1, 0, 'member_leased', 's1c1r0 attempt 1 on local', 1795355299404402);
INSERT INTO event (event, sweep, cell, replicate, kind, text, at_us) VALUES (4, 1, 1, 0, 'member_done', 's1c1r0 done on local: top-1 26.00 %', 1795355300150658);
INSERT INTO event (event, sweep, cell, replicate, kind, text, at_us) VALUES (5, 1, 2, 0, 'member_leased', 's1c2r0 attempt 1 on local', 1795355300150658);
INSERT INTO event (event, sweep, cell, replicate, kind, text, at_us) VALUES (6, 1, 0, 0, 'member_done', 's1c0r0 done on local: top-1 26.00 %', 1795355300200218);
INSERT INTO event (event, sweep, cell, replicate, kind, text, at_us) VALUES (7, 1, 3, 0, 'member_leased', 's1c3r0 attempt 1 on local', 1795355300200218);
INSERT INTO event (event, sweep, cell, replicate, kind, text, at_us) VALUES (8, 1, 2, 0, 'member_diverged', 's1c2r0 diverged on local: top-1 12.00 %', 1795355300720333);
INSERT INTO event (event, sweep, cell, replicate, kind, text, at_us) VALUES (9, 1, 0, 1, 'member_leased', 's1c0r1 attempt 1 on local', 1795355300720333);
INSERT INTO event (event, sweep, cell, replicate, kind, text, at_us) VALUES (10, 1, 3, 0, 'member_diverged', 's1c3r0 diverged on local: top-1 12.00 %', 1795355300752289);
INSERT INTO event (event, sweep, cell, replicate, kind, text, at_us) VALUES (11, 1, 1, 1, 'member_leased', 's1c1r1 attempt 1 on local', 1795355300752289);
INSERT INTO event (event, sweep, cell, replicate, kind, text, at_us) VALUES (12, 1, 0, 1, 'member_done', 's1c0r1 done on local: top-1 26.00 %', 1795355300801720);
INSERT INTO event (event, sweep, cell, replicate, kind, text, at_us) VALUES (13, 1, 2, 1, 'member_leased', 's1c2r1 attempt 1 on local', 1795355300801720);
INSERT INTO event (event, sweep, cell, replicate, kind, text, at_us) VALUES (14, 1, 1, 1, 'member_done', 's1c1r1 done on local: top-1 21.00 %', 1795355300816192);
INSERT INTO event (event, sweep, cell, replicate, kind, text, at_us) VALUES (15, 1, 3, 1, 'member_leased', 's1c3r1 attempt 1 on local', 1795355300816192);
INSERT INTO event (event, sweep, cell, replicate, kind, text, at_us) VALUES (16, 1, 2, 1, 'member_diverged', 's1c2r1 diverged on local: top-1 12.00 %', 1795355300871181);
INSERT INTO event (event, sweep, cell, replicate, kind, text, at_us) VALUES (17, 1, 3, 1, 'member_diverged', 's1c3r1 diverged on local: top-1 12.00 %', 1795355300878368);
INSERT INTO event (event, sweep, cell, replicate, kind, text, at_us) VALUES (18, NULL, NULL, NULL, 'worker_draining', 'local takes no more leases; it finishes 0 attempts', 1795355300935866);
PRAGMA application_id = 1313238130;
PRAGMA user_version = 2;

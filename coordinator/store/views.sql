-- Views in plain words, made anew whenever a file comes to a new version; described in README.md.
-- Sweeps that were deleted are in none of them, but for the event of it.
-- Not-finite values: +inf and -inf are themselves, nan is NULL with special = 'nan'.

CREATE VIEW v_sweep AS
WITH touched AS (
  SELECT sweep, cell, count(*) AS n,
         count(*) FILTER (WHERE state = 'waiting') AS waiting,
         count(*) FILTER (WHERE state = 'leased') AS leased,
         count(*) FILTER (WHERE state = 'done') AS done,
         count(*) FILTER (WHERE state = 'diverged') AS diverged,
         count(*) FILTER (WHERE state = 'failed') AS failed,
         count(*) FILTER (WHERE state = 'cancelled') AS cancelled
  FROM member GROUP BY sweep, cell),
counted AS (
  SELECT c.sweep, c.untouched, c.replicates, c.replicates - coalesce(t.n, 0) AS rest,
         coalesce(t.waiting, 0) AS waiting, coalesce(t.leased, 0) AS leased,
         coalesce(t.done, 0) AS done, coalesce(t.diverged, 0) AS diverged,
         coalesce(t.failed, 0) AS failed, coalesce(t.cancelled, 0) AS cancelled
  FROM cell c LEFT JOIN touched t USING (sweep, cell))
SELECT s.sweep, s.name, datetime(s.submitted_us / 1000000, 'unixepoch') AS submitted_utc,
       s.specification_sha256, s.replicates, s.blocks, s.notes, s.tags, s.owner,
       sum(c.replicates) AS members,
       sum(c.waiting + iif(c.untouched = 'waiting', c.rest, 0)) AS waiting,
       sum(c.leased) AS leased, sum(c.done) AS done, sum(c.diverged) AS diverged,
       sum(c.failed + iif(c.untouched = 'failed', c.rest, 0)) AS failed,
       sum(c.cancelled + iif(c.untouched = 'cancelled', c.rest, 0)) AS cancelled
FROM sweep s JOIN counted c USING (sweep)
WHERE s.deleted_us IS NULL
GROUP BY s.sweep;

-- How sweeps share the fleet, as people say.
CREATE VIEW v_sharing AS
SELECT sweep, name, owner, priority, paused, max_failures, archived, limits, weight,
       gpu_hours, coalesce((SELECT o.weight FROM share o WHERE o.owner = sweep.owner), 1) AS owner_weight
FROM sweep
WHERE deleted_us IS NULL;

CREATE VIEW v_attempt AS
SELECT 's' || l.sweep || 'c' || l.cell || 'r' || l.replicate AS member,
       l.sweep, l.cell, l.replicate, l.attempt, l.lease,
       w.name AS worker, u.name AS unit,
       datetime(l.granted_us / 1000000, 'unixepoch') AS granted_utc,
       datetime(a.ended_us / 1000000, 'unixepoch') AS ended_utc,
       CASE WHEN a.lease IS NOT NULL THEN a.outcome
            WHEN l.dropped_us IS NULL THEN 'running' ELSE 'lost' END AS outcome,
       coalesce(a.accepted, 0) AS accepted,
       coalesce(nullif(a.refused_because, ''), l.drop_reason) AS why,
       a.cause, a.message,
       CASE a.train_seconds_special WHEN 0 THEN a.train_seconds END AS train_seconds,
       (SELECT e.sha256 FROM environment e WHERE e.environment = a.environment)
         AS environment_sha256,
       nullif(a.measured, '') AS measured, l.gpus
FROM lease l JOIN worker w USING (worker) JOIN unit u USING (unit)
     LEFT JOIN attempt a USING (lease)
WHERE l.sweep NOT IN (SELECT sweep FROM sweep WHERE deleted_us IS NOT NULL);

CREATE VIEW v_metric AS
SELECT 's' || l.sweep || 'c' || l.cell || 'r' || l.replicate AS member,
       l.sweep, l.cell, l.replicate, l.attempt, a.accepted, m.name AS metric,
       CASE m.special WHEN 0 THEN m.value WHEN 2 THEN 9e999 WHEN 3 THEN -9e999 END AS value,
       CASE m.special WHEN 0 THEN '' WHEN 1 THEN 'nan' WHEN 2 THEN 'inf' ELSE '-inf' END AS special
FROM attempt_metric m JOIN attempt a USING (lease) JOIN lease l USING (lease)
WHERE l.sweep NOT IN (SELECT sweep FROM sweep WHERE deleted_us IS NOT NULL)
UNION ALL
SELECT 's' || l.sweep || 'c' || l.cell || 'r' || l.replicate,
       l.sweep, l.cell, l.replicate, l.attempt, a.accepted, 'class_accuracy/' || x.key,
       CASE x.type WHEN 'text' THEN CASE x.value WHEN 'inf' THEN 9e999 WHEN '-inf' THEN -9e999 END
                   ELSE x.value END,
       CASE x.type WHEN 'text' THEN x.value ELSE '' END
FROM attempt a JOIN lease l USING (lease), json_each(a.class_accuracy) x
WHERE a.class_accuracy <> ''
  AND l.sweep NOT IN (SELECT sweep FROM sweep WHERE deleted_us IS NOT NULL);

CREATE VIEW v_hash AS
SELECT 's' || l.sweep || 'c' || l.cell || 'r' || l.replicate AS member,
       l.sweep, l.cell, l.replicate, l.attempt, a.accepted,
       c.plan, c.hardware, c.stack, w.name AS worker, u.name AS unit, h.name AS hash,
       lower(hex(h.sha256)) AS sha256
FROM attempt_hash h JOIN attempt a USING (lease) JOIN lease l USING (lease)
     JOIN worker w USING (worker) JOIN unit u USING (unit) JOIN cell c ON c.sweep = l.sweep AND c.cell = l.cell
WHERE l.sweep NOT IN (SELECT sweep FROM sweep WHERE deleted_us IS NOT NULL);

CREATE VIEW v_member AS
SELECT 's' || c.sweep || 'c' || c.cell || 'r' || n.n AS member,
       s.name AS sweep_name, c.sweep, c.cell, n.n AS replicate,
       c.plan, c.hardware, c.stack, c.block, c.axes,
       coalesce(m.state, c.untouched) AS state, coalesce(m.attempt, 0) AS attempt,
       w.name AS worker, u.name AS unit, a.train_seconds,
       (SELECT lower(hex(sha256)) FROM attempt_hash h WHERE h.lease = a.lease AND h.name = 'init')
         AS init_sha256,
       (SELECT lower(hex(sha256)) FROM attempt_hash h
        WHERE h.lease = a.lease AND h.name = 'first_batches') AS first_batches_sha256,
       (SELECT lower(hex(sha256)) FROM attempt_hash h
        WHERE h.lease = a.lease AND h.name = 'weights') AS weights_sha256,
       (SELECT lower(hex(sha256)) FROM attempt_hash h WHERE h.lease = a.lease AND h.name = 'logits')
         AS logits_sha256
FROM sweep s JOIN cell c USING (sweep) JOIN number n ON n.n < c.replicates
     LEFT JOIN member m
       ON m.sweep = c.sweep AND m.cell = c.cell AND m.replicate = n.n
     LEFT JOIN lease l ON l.lease = (SELECT a2.lease FROM attempt a2 JOIN lease l2 USING (lease)
                      WHERE l2.sweep = m.sweep AND l2.cell = m.cell
                        AND l2.replicate = m.replicate AND a2.accepted = 1)
     LEFT JOIN attempt a ON a.lease = l.lease
     LEFT JOIN worker w ON w.worker = l.worker LEFT JOIN unit u ON u.unit = l.unit
WHERE s.deleted_us IS NULL;

-- What each member has of each noise source. Its seed follows from the sweep's seed, source, block
-- and lane (common/base/seed.h).
CREATE VIEW v_lane AS
SELECT 's' || c.sweep || 'c' || c.cell || 'r' || n.n AS member,
       c.sweep, c.cell, n.n AS replicate, p.source, p.state, c.block,
       CASE WHEN p.state <> 'free' THEN 0
            WHEN p.levels = '' THEN coalesce(s.of_replicate, n.n) + 1
            ELSE (SELECT e.value + 1 FROM json_each(p.levels) e
                  WHERE e.key = coalesce(s.of_replicate, n.n) %
                                (SELECT count(*) FROM json_each(p.levels)))
       END AS lane
FROM sweep s JOIN cell c USING (sweep) JOIN number n ON n.n < c.replicates
     JOIN plan_source p ON p.sweep = c.sweep AND p.plan = c.plan
WHERE s.deleted_us IS NULL;

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
WHERE a.accepted = 1
  AND l.sweep NOT IN (SELECT sweep FROM sweep WHERE deleted_us IS NOT NULL);

CREATE VIEW v_record AS
SELECT 's' || l.sweep || 'c' || l.cell || 'r' || l.replicate AS member,
       l.sweep, l.cell, l.replicate, l.attempt, coalesce(a.accepted, 0) AS accepted,
       m.name AS metric, r.step,
       coalesce(r.epoch, CAST(r.step AS REAL) / l.steps_per_epoch) AS epoch, r.value,
       CASE WHEN r.value IS NULL THEN 'nan' WHEN r.value = 9e999 THEN 'inf'
            WHEN r.value = -9e999 THEN '-inf' ELSE '' END AS special
FROM record r JOIN metric m USING (metric) JOIN lease l USING (lease)
     LEFT JOIN attempt a USING (lease)
WHERE l.sweep NOT IN (SELECT sweep FROM sweep WHERE deleted_us IS NOT NULL);

CREATE VIEW v_artifact AS
SELECT 's' || l.sweep || 'c' || l.cell || 'r' || l.replicate AS member,
       l.sweep, l.cell, l.replicate, l.attempt, a.accepted, f.kind, f.size_bytes, f.sha256,
       CASE WHEN f.collected_us IS NULL
         THEN 'blobs/' || substr(f.sha256, 1, 2) || '/' || substr(f.sha256, 3) END AS file,
       datetime(f.collected_us / 1000000, 'unixepoch') AS collected_utc
FROM artifact f JOIN attempt a USING (lease) JOIN lease l USING (lease)
WHERE l.sweep NOT IN (SELECT sweep FROM sweep WHERE deleted_us IS NOT NULL);

CREATE VIEW v_event AS
SELECT event, datetime(at_us / 1000000, 'unixepoch') AS at_utc, sweep,
       CASE WHEN cell IS NOT NULL THEN 's' || sweep || 'c' || cell || 'r' || replicate END
         AS member,
       kind, text, caller
FROM event
WHERE kind = 'sweep_deleted' OR sweep IS NULL
  OR sweep NOT IN (SELECT sweep FROM sweep WHERE deleted_us IS NOT NULL);

-- Who may call, and until when.
CREATE VIEW v_token AS
SELECT token, identity,
       CASE role WHEN 2 THEN 'reader' WHEN 3 THEN 'submitter' WHEN 4 THEN 'worker' ELSE 'admin' END
         AS role,
       datetime(created_us / 1000000, 'unixepoch') AS created_utc,
       datetime(expires_us / 1000000, 'unixepoch') AS expires_utc,
       datetime(revoked_us / 1000000, 'unixepoch') AS revoked_utc, created_by
FROM token;

-- Pools of workers on a cluster; those that are gone, too.
CREATE VIEW v_pool AS
SELECT pool, name,
       CASE WHEN gone_us IS NOT NULL THEN 'gone'
            ELSE CASE state WHEN 1 THEN 'active' WHEN 2 THEN 'paused' ELSE 'removing' END END
         AS state,
       why, wish, learned,
       (SELECT count(*) FROM launch l WHERE l.pool = p.pool) AS launches,
       (SELECT count(*) FROM launch l WHERE l.pool = p.pool AND l.phase < 4) AS live,
       (SELECT coalesce(sum(l.ended_us - l.began_us), 0) / 3.6e9 FROM launch l
        WHERE l.pool = p.pool AND l.ended_us IS NOT NULL AND l.began_us IS NOT NULL) AS hours,
       created_by, datetime(created_us / 1000000, 'unixepoch') AS created_utc
FROM pool p;

-- Their jobs, and the worker in each.
CREATE VIEW v_launch AS
SELECT launch, p.name AS pool, p.name || '-' || nonce || '-' || place AS worker, job,
       CASE phase WHEN 1 THEN 'intended' WHEN 2 THEN 'waiting' WHEN 3 THEN 'alive' ELSE 'ended' END
         AS phase,
       CASE ending WHEN 1 THEN 'well' WHEN 2 THEN 'taken' WHEN 3 THEN 'broken' WHEN 4 THEN 'refused'
                   WHEN 5 THEN 'gone' WHEN 6 THEN 'surplus' END AS ending,
       reason, node, heard, datetime(l.created_us / 1000000, 'unixepoch') AS created_utc,
       datetime(began_us / 1000000, 'unixepoch') AS began_utc,
       datetime(ended_us / 1000000, 'unixepoch') AS ended_utc
FROM launch l JOIN pool p USING (pool);

-- Members that train again what another has trained.
CREATE VIEW v_replay AS
SELECT 's' || c.sweep || 'c' || c.cell || 'r' || n.n AS member, c.sweep, c.cell, n.n AS replicate,
       's' || s.of_sweep || 'c' || s.of_cell || 'r' || s.of_replicate AS of
FROM sweep s JOIN cell c USING (sweep) JOIN number n ON n.n < c.replicates
WHERE s.kind = 'replay' AND s.deleted_us IS NULL;

-- Members that evaluate weights on another class, or the same: train-on x infer-on. `same_logits`: 1,
-- its predictions are those of the member that trained the weights, to the bit; 0, they are not; NULL:
-- one of them has not ended, or the weights were brought as a file.
CREATE VIEW v_infer AS
SELECT 's' || i.sweep || 'c' || i.cell || 'r' || i.replicate AS member,
       i.sweep, i.cell, i.replicate,
       's' || i.of_sweep || 'c' || i.of_cell || 'r' || i.of_replicate AS of, i.file,
       i.sha256 AS weights_file_sha256, c.plan, c.block, c.axes,
       t.hardware AS train_hardware, c.hardware AS infer_hardware,
       t.stack AS train_stack, c.stack AS infer_stack,
       t.stack_fingerprint AS train_fingerprint, c.stack_fingerprint AS infer_fingerprint,
       m.state, ma.top1, ma.loss, ma.loss_special, oa.top1 AS train_top1, oa.loss AS train_loss,
       m.logits_sha256, o.logits_sha256 AS train_logits_sha256,
       CASE WHEN i.file = '' THEN m.logits_sha256 = o.logits_sha256 END AS same_logits
FROM inference i JOIN sweep s USING (sweep)
     JOIN cell c ON c.sweep = i.sweep AND c.cell = i.cell
     LEFT JOIN cell t ON t.sweep = i.of_sweep AND t.cell = i.of_cell
     LEFT JOIN v_member m
       ON m.sweep = i.sweep AND m.cell = i.cell AND m.replicate = i.replicate
     LEFT JOIN v_accuracy ma
       ON ma.sweep = i.sweep AND ma.cell = i.cell AND ma.replicate = i.replicate
     LEFT JOIN v_member o
       ON o.sweep = i.of_sweep AND o.cell = i.of_cell AND o.replicate = i.of_replicate
     LEFT JOIN v_accuracy oa
       ON oa.sweep = i.of_sweep AND oa.cell = i.of_cell AND oa.replicate = i.of_replicate
WHERE s.deleted_us IS NULL;

-- What workers had when they were last there.
CREATE VIEW v_device AS
SELECT w.name AS worker, d.key AS device,
       (SELECT value FROM json_each(d.value) WHERE key = 'unit') AS unit,
       (SELECT value FROM json_each(d.value) WHERE key = 'model') AS model,
       CAST((SELECT value FROM json_each(d.value) WHERE key = 'memory_bytes') AS INTEGER)
         AS memory_bytes,
       (SELECT value FROM json_each(d.value) WHERE key = 'driver') AS driver,
       (SELECT value FROM json_each(d.value) WHERE key = 'note') AS note
FROM worker w, json_each(w.inventory, '$.devices') d WHERE w.forgotten = 0;

CREATE VIEW v_withheld AS
SELECT w.name AS worker,
       (SELECT value FROM json_each(d.value) WHERE key = 'what') AS what,
       (SELECT value FROM json_each(d.value) WHERE key = 'hardware_class') AS hardware,
       (SELECT value FROM json_each(d.value) WHERE key = 'stack') AS stack,
       (SELECT value FROM json_each(d.value) WHERE key = 'reason') AS reason
FROM worker w, json_each(w.inventory, '$.withheld') d WHERE w.forgotten = 0;

-- The software that cells are pinned to, by name: an empty version says that its worker told none.
CREATE VIEW v_software AS
SELECT f.fingerprint, f.hardware, f.stack, coalesce(v.key, '') AS name, coalesce(v.value, '') AS version
FROM (SELECT DISTINCT c.stack_fingerprint AS fingerprint, c.hardware, c.stack
      FROM cell c JOIN sweep s USING (sweep)
      WHERE c.stack_fingerprint <> '' AND s.deleted_us IS NULL) f
LEFT JOIN software w USING (fingerprint) LEFT JOIN json_each(w.versions) v;

-- What people have taken out of use.
CREATE VIEW v_out_of_use AS
SELECT name AS worker, '' AS unit, 'drained' AS how FROM worker WHERE drained = 1 AND forgotten = 0
UNION ALL
SELECT w.name, q.unit, 'quarantined' FROM quarantine q JOIN worker w USING (worker)
WHERE w.forgotten = 0;

-- What fingerprints of a stack on a hardware class were taken of, as far as it has names. Those of
-- before are told by the workers that come with them.
CREATE TABLE software (
  fingerprint TEXT PRIMARY KEY,  -- as in cell.stack_fingerprint
  versions    TEXT NOT NULL      -- JSON object: "cudnn" -> "9.12.0"
) STRICT, WITHOUT ROWID;

-- Steps have numbers.

-- How many steps were kept, each in one transaction with its number. One row.
CREATE TABLE step (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  step INTEGER NOT NULL  -- of the last one; the file noisefloor.step is never ahead of it
) STRICT;
INSERT INTO step VALUES (1, 0);

-- Sums over the pages.

-- No table changes: from this version on every page has a sum at its end, and programs that would
-- write pages without one do not open the file. Whoever brings it here writes all of it anew once.

-- Records: an epoch that follows from the step is not kept, and a value that is not finite is
-- itself, or NULL where it is a nan.

ALTER TABLE lease ADD COLUMN steps_per_epoch INTEGER;  -- step / this is the epoch of a record that has none; NULL: all have one

-- By the first record that says it to the bit.
UPDATE lease SET steps_per_epoch =
  (SELECT CAST(round(r.step / r.epoch) AS INTEGER) FROM record r
   WHERE r.lease = lease.lease AND r.step > 0 AND r.epoch > 0
     AND round(r.step / r.epoch) BETWEEN 1 AND 1e15
     AND CAST(r.step AS REAL) / CAST(round(r.step / r.epoch) AS INTEGER) = r.epoch
   ORDER BY r.batch, r.item LIMIT 1)
WHERE EXISTS (SELECT 1 FROM record r WHERE r.lease = lease.lease);

CREATE TABLE record_9 (
  lease   INTEGER NOT NULL REFERENCES lease,
  batch   INTEGER NOT NULL,     -- sequence number of the message, from 1 within an attempt
  item    INTEGER NOT NULL,     -- place in the batch
  step    INTEGER NOT NULL,     -- optimiser steps done
  metric  INTEGER NOT NULL REFERENCES metric,
  value   REAL,                 -- NULL: a nan
  epoch   REAL,                 -- epochs done, may be a fraction; NULL: step / lease.steps_per_epoch
  PRIMARY KEY (lease, batch, item)
) STRICT, WITHOUT ROWID;

INSERT INTO record_9
SELECT r.lease, r.batch, r.item, r.step, r.metric,
       CASE r.special WHEN 0 THEN r.value WHEN 2 THEN 9e999 WHEN 3 THEN -9e999 END,
       iif(r.epoch = CAST(r.step AS REAL) / l.steps_per_epoch, NULL, r.epoch)
FROM record r LEFT JOIN lease l USING (lease) ORDER BY r.lease, r.batch, r.item;

DROP TABLE record;
ALTER TABLE record_9 RENAME TO record;

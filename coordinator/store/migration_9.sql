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

-- Steps have numbers.

-- How many steps were kept, each in one transaction with its number. One row.
CREATE TABLE step (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  step INTEGER NOT NULL  -- of the last one; the file noisefloor.step is never ahead of it
) STRICT;
INSERT INTO step VALUES (1, 0);

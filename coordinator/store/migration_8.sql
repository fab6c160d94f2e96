-- Sweeps and their owners have weights.

ALTER TABLE sweep ADD COLUMN weight INTEGER NOT NULL DEFAULT 1;  -- its part of what its owner gets

-- What owners of sweeps get against each other, where people have said so. No row: 1.
CREATE TABLE share (
  owner  TEXT    NOT NULL PRIMARY KEY,
  weight INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What people had done with a whole sweep, however many events it has.
CREATE INDEX event_asked ON event (sweep, event) WHERE caller <> '' AND cell IS NULL;

-- Sweeps are extended, limited by class and deleted; failures before a retry no longer count.

ALTER TABLE sweep ADD COLUMN pardoned      INTEGER NOT NULL DEFAULT 0;    -- failed members that no longer count
ALTER TABLE sweep ADD COLUMN limits        TEXT    NOT NULL DEFAULT '{}'; -- JSON object: class -> members that may run at once
ALTER TABLE sweep ADD COLUMN deleted_us    INTEGER;                       -- NULL: it was not; else its rows go, and this one stays
ALTER TABLE sweep ADD COLUMN deleted_lease INTEGER NOT NULL DEFAULT 0;    -- the highest lease of then: none is used again
CREATE INDEX sweep_deleted ON sweep (sweep) WHERE deleted_us IS NOT NULL;

-- Files that were removed to make room; restored backups.

ALTER TABLE artifact ADD COLUMN collected_us INTEGER;  -- when it was removed; NULL: it is there
DROP INDEX artifact_by_content;
CREATE INDEX artifact_by_content ON artifact (sha256) WHERE collected_us IS NULL;

-- Each time that the data were restored from a backup. No row: never.
CREATE TABLE restoration (
  epoch       INTEGER PRIMARY KEY,  -- the how many-th time, from 1
  restored_us INTEGER NOT NULL,
  backup_us   INTEGER NOT NULL,     -- when the backup was made
  above       INTEGER NOT NULL      -- leases and events since then have larger numbers than this
) STRICT;

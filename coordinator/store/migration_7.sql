-- Sweeps are extended, limited by class and deleted; failures before a retry no longer count.

ALTER TABLE sweep ADD COLUMN pardoned      INTEGER NOT NULL DEFAULT 0;    -- failed members that no longer count
ALTER TABLE sweep ADD COLUMN limits        TEXT    NOT NULL DEFAULT '{}'; -- JSON object: class -> members that may run at once
ALTER TABLE sweep ADD COLUMN deleted_us    INTEGER;                       -- NULL: it was not; else its rows go, and this one stays
ALTER TABLE sweep ADD COLUMN deleted_lease INTEGER NOT NULL DEFAULT 0;    -- the highest lease of then: none is used again
CREATE INDEX sweep_deleted ON sweep (sweep) WHERE deleted_us IS NOT NULL;

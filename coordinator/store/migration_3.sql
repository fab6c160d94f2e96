-- The sweep file itself, so that a study can be read alone and submitted again.

ALTER TABLE sweep ADD COLUMN file TEXT NOT NULL DEFAULT '';  -- as submitted; '' = there was none

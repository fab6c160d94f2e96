-- Free sources may have levels that members share.

ALTER TABLE plan_source ADD COLUMN levels TEXT NOT NULL DEFAULT '';  -- JSON list of a free source's levels; '': the replicates

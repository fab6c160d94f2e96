-- Workers come and go on a cluster.

-- Pools of workers that come and go on a cluster. Those that are gone stay, for what their launches
-- tell.
CREATE TABLE pool (
  pool       INTEGER PRIMARY KEY,  -- its number
  name       TEXT    NOT NULL,     -- of those that are not gone each once
  wish       TEXT    NOT NULL,     -- JSON object: what people say of it
  tag        TEXT    NOT NULL,     -- in the names of its jobs
  state      INTEGER NOT NULL,     -- 1 active, 2 paused, 3 being removed
  why        TEXT    NOT NULL,     -- it is paused
  forgiven   INTEGER NOT NULL,     -- launches up to this one no longer count as failed
  learned    TEXT    NOT NULL,     -- JSON object: what its first worker had; '' = none has come yet
  created_by TEXT    NOT NULL,     -- '' = not known
  created_us INTEGER NOT NULL,
  gone_us    INTEGER               -- NULL: it is there
) STRICT;

-- Jobs of pools, with a worker in each. Kept before the cluster is asked.
CREATE TABLE launch (
  launch     INTEGER PRIMARY KEY,  -- its number
  pool       INTEGER NOT NULL REFERENCES pool,
  nonce      TEXT    NOT NULL,     -- of those that were submitted together
  place      INTEGER NOT NULL,     -- among them
  stays      INTEGER NOT NULL,     -- 1: its worker does not leave for want of members
  job        TEXT    NOT NULL,     -- the cluster's key; '' = not known
  phase      INTEGER NOT NULL,     -- 1 intended, 2 waiting, 3 alive, 4 ended
  ending     INTEGER NOT NULL,     -- 0 none, 1 well, 2 taken, 3 broken, 4 refused, 5 gone, 6 surplus
  reason     TEXT    NOT NULL,     -- why it waits, or how it ended
  node       TEXT    NOT NULL,
  heard      INTEGER NOT NULL,     -- 1: its worker was here
  created_us INTEGER NOT NULL,
  began_us   INTEGER,
  ended_us   INTEGER
) STRICT;
CREATE INDEX launch_of_pool ON launch (pool, ended_us);

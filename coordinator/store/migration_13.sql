-- Sweeps may evaluate weights.

-- Whose weights the members of sweeps of kind 'infer' evaluate. Their files stay as long as they are
-- named here.
CREATE TABLE inference (
  sweep        INTEGER NOT NULL,
  cell         INTEGER NOT NULL,
  replicate    INTEGER NOT NULL,
  of_sweep     INTEGER NOT NULL,  -- the member whose network and test set they are evaluated with
  of_cell      INTEGER NOT NULL,
  of_replicate INTEGER NOT NULL,
  sha256       TEXT    NOT NULL,  -- the content lies in blobs/ under this
  size_bytes   INTEGER NOT NULL,
  file         TEXT    NOT NULL,  -- what who brought them calls it; '' = that member trained them
  PRIMARY KEY (sweep, cell, replicate),
  FOREIGN KEY (sweep, cell) REFERENCES cell
) STRICT, WITHOUT ROWID;
CREATE INDEX inference_by_content ON inference (sha256);

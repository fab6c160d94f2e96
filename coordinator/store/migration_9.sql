-- What fingerprints of a stack on a hardware class were taken of, as far as it has names. Those of
-- before are told by the workers that come with them.
CREATE TABLE software (
  fingerprint TEXT PRIMARY KEY,  -- as in cell.stack_fingerprint
  versions    TEXT NOT NULL      -- JSON object: "cudnn" -> "9.12.0"
) STRICT, WITHOUT ROWID;

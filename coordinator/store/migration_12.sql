-- Sweeps may have a bound of GPU hours.

ALTER TABLE sweep ADD COLUMN gpu_hours REAL NOT NULL DEFAULT 0;  -- when it has used so many, nothing more begins; 0 = no bound

-- Of leases of before it is not told.
ALTER TABLE lease ADD COLUMN gpus INTEGER NOT NULL DEFAULT 0;  -- GPUs, or what is declared, of that slot; of processors 0

-- Retries, dead letters and replays.

-- Attempts allowed, by the class of the last failure.
ALTER TABLE job ADD COLUMN max_attempts INTEGER NOT NULL DEFAULT 4;
-- The worker of the last attempt that failed or was lost: another one is preferred.
ALTER TABLE job ADD COLUMN failed_on TEXT;
-- Waiting for licences uses no attempts, but ends some day.
ALTER TABLE job ADD COLUMN licence_waited_ms INTEGER NOT NULL DEFAULT 0;
UPDATE job SET max_attempts = coalesce((
    SELECT CASE a.class WHEN 'intervention' THEN 2 WHEN 'unknown' THEN 3 WHEN 'permanent' THEN 1
        ELSE 4 END
    FROM attempt a WHERE a.job = job.id AND a.reason IS NOT NULL
    ORDER BY a.epoch DESC LIMIT 1), 4);

-- Retries, dead letters and replays.

-- Attempts allowed, by the class of the last failure.
ALTER TABLE job ADD COLUMN max_attempts INTEGER NOT NULL DEFAULT 4;
-- The worker of the last attempt that failed or was lost: another one is preferred.
ALTER TABLE job ADD COLUMN failed_on TEXT;
-- Whether it failed before. Retries lie in lanes of their own beside those of fresh jobs.
ALTER TABLE job ADD COLUMN is_retry INTEGER NOT NULL DEFAULT 0;
DROP INDEX job_ready;
CREATE INDEX job_ready ON job (queue, class, project, priority, is_retry, ready_ms, id, failed_on)
    WHERE state = 'queued';
-- Waiting for licences uses no attempts, but ends some day.
ALTER TABLE job ADD COLUMN licence_waited_ms INTEGER NOT NULL DEFAULT 0;
UPDATE job SET max_attempts = coalesce((
    SELECT CASE a.class WHEN 'intervention' THEN 2 WHEN 'unknown' THEN 3 WHEN 'permanent' THEN 1
        ELSE 4 END
    FROM attempt a WHERE a.job = job.id AND a.reason IS NOT NULL
    ORDER BY a.epoch DESC LIMIT 1), 4);

-- Failures of a worker since its last success, the newest of each pipeline: the evidence.
CREATE TABLE worker_failure (
    worker TEXT NOT NULL,
    pipeline INTEGER NOT NULL REFERENCES pipeline (id),
    job INTEGER NOT NULL REFERENCES job (id),
    reason TEXT NOT NULL,
    class TEXT NOT NULL,
    message TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (worker, pipeline)
) STRICT, WITHOUT ROWID;
-- Workers that are given no work until somebody forgives them.
CREATE TABLE quarantine (
    worker TEXT PRIMARY KEY,
    since_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Alike letters have one fingerprint; the empty one and an absent log are filled in later.
ALTER TABLE dead_letter ADD COLUMN fingerprint TEXT NOT NULL DEFAULT '';
ALTER TABLE dead_letter ADD COLUMN log_tail TEXT;
-- What the last attempt was given, as JSON, with how many files it read in all.
ALTER TABLE dead_letter ADD COLUMN payload TEXT;
ALTER TABLE dead_letter ADD COLUMN dependencies INTEGER NOT NULL DEFAULT 0;
CREATE INDEX dead_letter_bare ON dead_letter (job) WHERE log_tail IS NULL;
CREATE INDEX dead_letter_alike ON dead_letter (fingerprint, job)
    WHERE replayed_as IS NULL AND dismissed = 0;
-- What a replay changed, as JSON.
ALTER TABLE job ADD COLUMN edit TEXT;
-- One export for a pipeline, whatever is replayed.
CREATE UNIQUE INDEX outbox_export_once ON outbox (pipeline) WHERE topic = 'export';

-- Recent submissions by the key that the client chose: the same key gets the same answer.
CREATE TABLE submission_key (
    key TEXT PRIMARY KEY,
    body BLOB NOT NULL CHECK (length(body) = 32),
    answer TEXT NOT NULL,
    at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX submission_key_age ON submission_key (at_ms);

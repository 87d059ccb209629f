-- Alike work at one time: see policy::flight.

-- Which other work it is alike to.
ALTER TABLE job ADD COLUMN flight BLOB CHECK (flight IS NULL OR length(flight) = 32);
-- The job of its flight that a session holds now: until that lease ends, this one is kept back.
ALTER TABLE job ADD COLUMN builder INTEGER;
-- The job whose result it took, without an attempt of its own.
ALTER TABLE job ADD COLUMN reused_from INTEGER;
DROP INDEX job_ready;
CREATE INDEX job_ready
    ON job (queue, class, project, priority, is_retry, ready_ms, id, failed_on, builder)
    WHERE state = 'queued' AND builder IS NULL;
-- One of a flight at a time.
CREATE UNIQUE INDEX job_flight ON job (flight)
    WHERE flight IS NOT NULL AND state IN ('claimed', 'processing');
CREATE INDEX job_alike ON job (flight) WHERE flight IS NOT NULL AND state = 'queued';
CREATE INDEX job_held ON job (builder) WHERE builder IS NOT NULL;

-- The job that made the result of a flight.
CREATE TABLE cached_result (
    flight BLOB PRIMARY KEY CHECK (length(flight) = 32),
    job INTEGER NOT NULL REFERENCES job (id)
) STRICT, WITHOUT ROWID;
CREATE INDEX cached_result_job ON cached_result (job);

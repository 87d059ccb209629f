-- Flow control: what operators paused, limits with their holders, projects, priorities.

-- Only what differs from running has a row.
CREATE TABLE control (
    scope TEXT NOT NULL CHECK (scope IN ('farm', 'queue', 'worker')),
    name TEXT NOT NULL,
    mode TEXT NOT NULL CHECK (mode IN ('paused', 'draining')),
    actor TEXT NOT NULL,
    reason TEXT NOT NULL,
    changed_ms INTEGER NOT NULL,
    PRIMARY KEY (scope, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE queue_limit (
    queue TEXT PRIMARY KEY,
    max_queued INTEGER NOT NULL CHECK (max_queued >= 0)
) STRICT, WITHOUT ROWID;

-- A semaphore without a row has no limit; its holders are kept all the same.
CREATE TABLE semaphore (
    name TEXT PRIMARY KEY,
    capacity INTEGER NOT NULL CHECK (capacity >= 0)
) STRICT, WITHOUT ROWID;

-- The count of a semaphore is the number of its rows here, never a number kept beside them.
CREATE TABLE semaphore_holder (
    semaphore TEXT NOT NULL,
    job INTEGER NOT NULL REFERENCES job (id),
    epoch INTEGER NOT NULL,
    PRIMARY KEY (semaphore, job, epoch)
) STRICT, WITHOUT ROWID;
CREATE INDEX semaphore_holder_job ON semaphore_holder (job);

-- A token is 60000 of `level`, so that a rate a minute refills by whole numbers a millisecond.
CREATE TABLE rate_limit (
    name TEXT PRIMARY KEY,
    per_minute INTEGER NOT NULL CHECK (per_minute >= 0),
    burst INTEGER NOT NULL CHECK (burst > 0),
    level INTEGER NOT NULL CHECK (level >= 0),
    at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE project (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    weight INTEGER NOT NULL DEFAULT 1 CHECK (weight BETWEEN 1 AND 1000),
    quota INTEGER CHECK (quota >= 0),
    -- Where the project stands in the fair share: it moves on by less the greater its weight.
    pass INTEGER NOT NULL DEFAULT 0 CHECK (pass >= 0)
) STRICT;
INSERT INTO project (id, name) VALUES (1, 'default');

-- Where the fair share of all projects stands.
CREATE TABLE fair_share (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    pass INTEGER NOT NULL CHECK (pass >= 0)
) STRICT;
INSERT INTO fair_share (one, pass) VALUES (1, 0);

-- What jobs ask for, each distinct set once: `job.class`. The first two are those of schema 1.
CREATE TABLE resource_class (
    code INTEGER PRIMARY KEY,
    base INTEGER NOT NULL,
    semaphores TEXT NOT NULL,
    rates TEXT NOT NULL,
    UNIQUE (base, semaphores, rates)
) STRICT;
INSERT INTO resource_class (code, base, semaphores, rates)
    VALUES (0, 0, '[]', '[]'), (1, 1, '[]', '[]');
CREATE TABLE class_semaphore (
    class INTEGER NOT NULL REFERENCES resource_class (code),
    semaphore TEXT NOT NULL,
    PRIMARY KEY (class, semaphore)
) STRICT, WITHOUT ROWID;

-- A column that is added cannot both refer to a table and have a value.
ALTER TABLE pipeline ADD COLUMN project INTEGER NOT NULL DEFAULT 1;
ALTER TABLE pipeline ADD COLUMN priority INTEGER NOT NULL DEFAULT 5
    CHECK (priority BETWEEN 0 AND 9);
ALTER TABLE job ADD COLUMN project INTEGER NOT NULL DEFAULT 1;

-- Jobs of one lane (queue, class, project, priority) lie together, the oldest first: a claim jumps
-- from lane to lane.
DROP INDEX job_ready;
CREATE INDEX job_ready ON job (queue, class, project, priority, ready_ms, id)
    WHERE state = 'queued';
CREATE INDEX job_leased ON job (project) WHERE state IN ('claimed', 'processing');

INSERT INTO counter (name, n)
    SELECT 'queued/' || queue, count(*) FROM job WHERE state = 'queued' GROUP BY queue;

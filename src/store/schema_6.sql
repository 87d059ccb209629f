-- Which workers may take a job, as JSON: requirements, a target, an excluded worker, a held
-- admission. Part of what makes a class, so the two tables are made anew with it.
CREATE TABLE resource_class_new (
    code INTEGER PRIMARY KEY,
    base INTEGER NOT NULL,
    semaphores TEXT NOT NULL,
    rates TEXT NOT NULL,
    terms TEXT NOT NULL DEFAULT '{}',
    UNIQUE (base, semaphores, rates, terms)
) STRICT;
INSERT INTO resource_class_new (code, base, semaphores, rates)
    SELECT code, base, semaphores, rates FROM resource_class;
CREATE TABLE class_semaphore_new (
    class INTEGER NOT NULL REFERENCES resource_class_new (code),
    semaphore TEXT NOT NULL,
    PRIMARY KEY (class, semaphore)
) STRICT, WITHOUT ROWID;
INSERT INTO class_semaphore_new SELECT class, semaphore FROM class_semaphore;
DROP TABLE class_semaphore;
DROP TABLE resource_class;
ALTER TABLE resource_class_new RENAME TO resource_class;
ALTER TABLE class_semaphore_new RENAME TO class_semaphore;

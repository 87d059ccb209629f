-- What other programs are told: written in the transaction of what it tells, delivered later.

-- Where each kind of news goes; as the settings said when the coordinator started.
CREATE TABLE webhook (
    kind TEXT PRIMARY KEY CHECK (kind IN ('dead_letter', 'published')),
    url TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE webhook_outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN ('dead_letter', 'published')),
    pipeline INTEGER NOT NULL REFERENCES pipeline (id),
    -- 0 where the news is of the whole pipeline.
    job INTEGER NOT NULL,
    url TEXT NOT NULL,
    body TEXT NOT NULL,
    next_ms INTEGER NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    trouble TEXT,
    done_ms INTEGER
) STRICT;
CREATE INDEX webhook_waiting ON webhook_outbox (next_ms) WHERE done_ms IS NULL;
CREATE INDEX webhook_in_order ON webhook_outbox (pipeline, id) WHERE done_ms IS NULL;
-- The same news is told once, whatever is replayed.
CREATE UNIQUE INDEX webhook_once ON webhook_outbox (kind, pipeline, job);

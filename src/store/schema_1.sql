CREATE TABLE asset (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    -- Compare-and-set guard of the asset's pointers: +1 whenever they move.
    generation INTEGER NOT NULL DEFAULT 0,
    published_version INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE asset_version (
    id INTEGER PRIMARY KEY,
    asset INTEGER NOT NULL REFERENCES asset (id),
    version INTEGER NOT NULL CHECK (version > 0),
    checksum BLOB NOT NULL CHECK (length(checksum) = 32),
    main_file TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    UNIQUE (asset, version),
    UNIQUE (asset, checksum)
) STRICT;

CREATE TABLE source_file (
    asset_version INTEGER NOT NULL REFERENCES asset_version (id),
    name TEXT NOT NULL,
    checksum BLOB NOT NULL CHECK (length(checksum) = 32),
    size_bytes INTEGER NOT NULL,
    PRIMARY KEY (asset_version, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX source_file_checksum ON source_file (checksum);

CREATE TABLE pipeline (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    asset_version INTEGER NOT NULL REFERENCES asset_version (id),
    recipe_name TEXT NOT NULL,
    recipe TEXT NOT NULL,
    profile TEXT NOT NULL,
    kind TEXT CHECK (kind IN ('mesh', 'image', 'sequence')),
    frame_count INTEGER,
    status TEXT NOT NULL CHECK (status IN ('running', 'succeeded', 'dead_lettered', 'cancelled')),
    trace_id TEXT NOT NULL,
    source_ref TEXT NOT NULL,
    still BLOB,
    export_folder TEXT,
    created_ms INTEGER NOT NULL,
    finished_ms INTEGER
) STRICT;
-- The same content goes through the same profile once.
CREATE UNIQUE INDEX pipeline_once ON pipeline (asset_version, profile)
    WHERE status IN ('running', 'succeeded');

CREATE TABLE stage (
    pipeline INTEGER NOT NULL REFERENCES pipeline (id),
    ordinal INTEGER NOT NULL,
    stage TEXT NOT NULL,
    status TEXT NOT NULL
        CHECK (status IN ('pending', 'running', 'succeeded', 'skipped', 'dead_lettered', 'cancelled')),
    parts_total INTEGER NOT NULL DEFAULT 0,
    parts_done INTEGER NOT NULL DEFAULT 0 CHECK (parts_done <= parts_total),
    PRIMARY KEY (pipeline, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE job (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    pipeline INTEGER NOT NULL REFERENCES pipeline (id),
    stage TEXT NOT NULL,
    chunk TEXT NOT NULL,
    queue TEXT NOT NULL,
    class INTEGER NOT NULL,
    priority INTEGER NOT NULL DEFAULT 5 CHECK (priority BETWEEN 0 AND 9),
    state TEXT NOT NULL CHECK (state IN ('queued', 'claimed', 'processing', 'retry_scheduled',
        'succeeded', 'failed_terminal', 'cancelled')),
    attempt INTEGER NOT NULL DEFAULT 0 CHECK (attempt >= 0),
    epoch INTEGER NOT NULL DEFAULT 0,
    session TEXT,
    ready_ms INTEGER NOT NULL,
    run_at_ms INTEGER,
    idempotency_key TEXT NOT NULL,
    replay_of INTEGER REFERENCES job (id),
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    finished_ms INTEGER,
    CHECK ((session IS NOT NULL) = (state IN ('claimed', 'processing'))),
    CHECK ((run_at_ms IS NOT NULL) = (state = 'retry_scheduled')),
    CHECK ((finished_ms IS NOT NULL) = (state IN ('succeeded', 'failed_terminal', 'cancelled')))
) STRICT;
CREATE INDEX job_ready ON job (queue, class, priority DESC, ready_ms, id) WHERE state = 'queued';
CREATE INDEX job_due ON job (run_at_ms) WHERE state = 'retry_scheduled';
CREATE INDEX job_session ON job (session) WHERE state IN ('claimed', 'processing');
CREATE INDEX job_pipeline ON job (pipeline);
CREATE INDEX job_state ON job (state, id);
-- One live job an effect.
CREATE UNIQUE INDEX job_once ON job (idempotency_key)
    WHERE state IN ('queued', 'claimed', 'processing', 'retry_scheduled');

-- Append-only; also the ledger of processed reports: a repeated report finds its outcome here.
CREATE TABLE attempt (
    job INTEGER NOT NULL REFERENCES job (id),
    epoch INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    session TEXT NOT NULL REFERENCES session (id),
    worker TEXT NOT NULL,
    claimed_ms INTEGER NOT NULL,
    started_ms INTEGER,
    ended_ms INTEGER,
    outcome TEXT NOT NULL
        CHECK (outcome IN ('running', 'succeeded', 'failed', 'lost', 'returned', 'cancelled')),
    reason TEXT,
    class TEXT,
    message TEXT,
    PRIMARY KEY (job, epoch)
) STRICT, WITHOUT ROWID;

CREATE TABLE output (
    job INTEGER NOT NULL REFERENCES job (id),
    name TEXT NOT NULL,
    checksum BLOB NOT NULL CHECK (length(checksum) = 32),
    size_bytes INTEGER NOT NULL,
    media_type TEXT NOT NULL,
    PRIMARY KEY (job, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX output_checksum ON output (checksum);

CREATE TABLE result (
    job INTEGER PRIMARY KEY REFERENCES job (id),
    warnings TEXT NOT NULL,
    drawn_by TEXT
) STRICT;

CREATE TABLE session (
    id TEXT PRIMARY KEY,
    worker TEXT NOT NULL,
    instance TEXT NOT NULL,
    capabilities TEXT NOT NULL,
    opened_ms INTEGER NOT NULL,
    closed_ms INTEGER,
    lost INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX session_open ON session (worker) WHERE closed_ms IS NULL;

CREATE TABLE dead_letter (
    job INTEGER PRIMARY KEY REFERENCES job (id),
    reason TEXT NOT NULL,
    class TEXT NOT NULL,
    message TEXT NOT NULL,
    worker TEXT,
    attempts INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    replayed_as INTEGER REFERENCES job (id),
    dismissed INTEGER NOT NULL DEFAULT 0,
    note TEXT
) STRICT;
CREATE INDEX dead_letter_open ON dead_letter (job) WHERE replayed_as IS NULL AND dismissed = 0;

CREATE TABLE pointer (
    asset INTEGER NOT NULL REFERENCES asset (id),
    output TEXT NOT NULL,
    checksum BLOB NOT NULL CHECK (length(checksum) = 32),
    size_bytes INTEGER NOT NULL,
    asset_version INTEGER NOT NULL REFERENCES asset_version (id),
    pipeline INTEGER NOT NULL REFERENCES pipeline (id),
    PRIMARY KEY (asset, output)
) STRICT, WITHOUT ROWID;

CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    topic TEXT NOT NULL CHECK (topic IN ('export')),
    pipeline INTEGER NOT NULL REFERENCES pipeline (id),
    next_ms INTEGER NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    trouble TEXT,
    done_ms INTEGER
) STRICT;
CREATE INDEX outbox_waiting ON outbox (next_ms) WHERE done_ms IS NULL;

CREATE TABLE counter (
    name TEXT PRIMARY KEY,
    n INTEGER NOT NULL CHECK (n >= 0)
) STRICT, WITHOUT ROWID;

-- Every change, in order, without gaps: the audit and the source of the event stream.
CREATE TABLE audit (
    seq INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    actor TEXT NOT NULL,
    pipeline INTEGER,
    job INTEGER,
    epoch INTEGER,
    from_state TEXT,
    to_state TEXT,
    cause TEXT NOT NULL,
    error_class TEXT,
    reason TEXT,
    change TEXT NOT NULL
) STRICT;
CREATE INDEX audit_job ON audit (job) WHERE job IS NOT NULL;

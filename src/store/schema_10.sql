-- Watch folders, and the ledger of every file seen there. Paths of files are bytes below the folder.
CREATE TABLE watch_folder (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    path TEXT NOT NULL UNIQUE,
    rules TEXT NOT NULL,
    paused INTEGER NOT NULL DEFAULT 0,
    health TEXT NOT NULL,
    added_ms INTEGER NOT NULL,
    removed_ms INTEGER
) STRICT;

-- What was handed in: one row for a main file or a series, with its newest version.
CREATE TABLE watch_drop (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    folder INTEGER NOT NULL REFERENCES watch_folder (id),
    main BLOB NOT NULL,
    main_shown TEXT NOT NULL,
    asset TEXT NOT NULL,
    asset_version INTEGER NOT NULL,
    content BLOB NOT NULL CHECK (length(content) = 32),
    profile TEXT NOT NULL,
    pipeline INTEGER NOT NULL REFERENCES pipeline (id),
    duplicate_of INTEGER REFERENCES watch_drop (id),
    missing TEXT NOT NULL,
    outcome TEXT NOT NULL,
    results TEXT,
    taken_ms INTEGER NOT NULL,
    UNIQUE (folder, main)
) STRICT;
CREATE INDEX watch_drop_content ON watch_drop (content, profile) WHERE duplicate_of IS NULL;
CREATE INDEX watch_drop_asset ON watch_drop (asset);
CREATE INDEX watch_drop_pipeline ON watch_drop (pipeline);
CREATE INDEX watch_drop_duplicate ON watch_drop (duplicate_of) WHERE duplicate_of IS NOT NULL;
CREATE INDEX watch_drop_unsettled ON watch_drop (folder, id) WHERE outcome IN ('open', 'failed');

CREATE TABLE watch_file (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    folder INTEGER NOT NULL REFERENCES watch_folder (id),
    path BLOB NOT NULL,
    shown TEXT NOT NULL,
    device INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    modified_ns INTEGER NOT NULL,
    changed_ns INTEGER NOT NULL,
    state TEXT NOT NULL,
    why TEXT,
    reason TEXT,
    since_ms INTEGER NOT NULL,
    part_of INTEGER REFERENCES watch_drop (id),
    is_main INTEGER NOT NULL DEFAULT 0,
    UNIQUE (folder, path)
) STRICT;
CREATE INDEX watch_file_state ON watch_file (folder, state);
CREATE INDEX watch_file_since ON watch_file (folder, since_ms, id);
CREATE INDEX watch_file_part ON watch_file (part_of) WHERE part_of IS NOT NULL;

-- What operators asked for and the watcher has not done yet.
CREATE TABLE watch_order (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    folder INTEGER NOT NULL REFERENCES watch_folder (id),
    file INTEGER NOT NULL,
    body TEXT NOT NULL,
    actor TEXT NOT NULL,
    at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX watch_order_folder ON watch_order (folder, id);

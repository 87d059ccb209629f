-- Scenes: a fourth kind of asset, and frames that are right before their job is done.

ALTER TABLE pipeline ADD COLUMN asset_kind TEXT
    CHECK (asset_kind IN ('mesh', 'image', 'sequence', 'scene'));
UPDATE pipeline SET asset_kind = kind WHERE kind IS NOT NULL;
ALTER TABLE pipeline DROP COLUMN kind;
ALTER TABLE pipeline RENAME COLUMN asset_kind TO kind;

-- Files of a job that has not succeeded: its next attempt need not make them again.
CREATE TABLE kept_output (
    job INTEGER NOT NULL REFERENCES job (id),
    name TEXT NOT NULL,
    checksum BLOB NOT NULL CHECK (length(checksum) = 32),
    size_bytes INTEGER NOT NULL,
    media_type TEXT NOT NULL,
    PRIMARY KEY (job, name)
) STRICT, WITHOUT ROWID;

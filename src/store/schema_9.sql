-- Short logs that came with the end of their attempt: a file for each would cost more than the work.
CREATE TABLE short_log (
    job INTEGER NOT NULL REFERENCES job (id),
    epoch INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (job, epoch)
) STRICT, WITHOUT ROWID;

-- What a claim, a submission and an export look up must not grow with the farm.
DROP INDEX job_pipeline;
CREATE INDEX job_pipeline ON job (pipeline, stage);
CREATE INDEX pipeline_version ON pipeline (asset_version, profile);
CREATE INDEX outbox_pipeline ON outbox (pipeline);
CREATE INDEX outbox_trouble ON outbox (id) WHERE done_ms IS NULL AND trouble IS NOT NULL;

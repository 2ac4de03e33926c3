-- expands
-- What rules remember of earlier actions: windows, and when something happened last. `until_ms` is when nobody
-- can ask for it any more.
CREATE TABLE rule_entries (
    key bytea NOT NULL, number bigserial, at_ms bigint NOT NULL, value text NOT NULL, amount numeric,
    is_merged boolean NOT NULL, until_ms bigint NOT NULL,
    PRIMARY KEY (key, number)
);
CREATE INDEX rule_entries_at ON rule_entries (key, at_ms);
CREATE INDEX rule_entries_until ON rule_entries (until_ms);
CREATE TABLE rule_times (key bytea PRIMARY KEY, at_ms bigint NOT NULL, until_ms bigint NOT NULL);
-- What happened once an outcome proves it.
CREATE TABLE rule_waits (
    activity_id text NOT NULL, key bytea NOT NULL, proof integer NOT NULL, at_ms bigint NOT NULL,
    until_ms bigint NOT NULL,
    PRIMARY KEY (activity_id, key)
);

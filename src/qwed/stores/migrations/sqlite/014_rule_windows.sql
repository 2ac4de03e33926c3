-- What rules remember of earlier actions: windows, and when something happened last. `until_ms` is when nobody
-- can ask for it any more.
CREATE TABLE rule_entries (
    key BLOB NOT NULL, number INTEGER NOT NULL, at_ms INTEGER NOT NULL, value TEXT NOT NULL,
    is_merged INTEGER NOT NULL, until_ms INTEGER NOT NULL,
    PRIMARY KEY (key, number)
) WITHOUT ROWID;
CREATE INDEX rule_entries_until ON rule_entries (until_ms);
CREATE TABLE rule_times (key BLOB PRIMARY KEY, at_ms INTEGER NOT NULL, until_ms INTEGER NOT NULL) WITHOUT ROWID;
-- What happened once an outcome proves it.
CREATE TABLE rule_waits (
    activity_id TEXT NOT NULL, key BLOB NOT NULL, proof INTEGER NOT NULL, at_ms INTEGER NOT NULL,
    until_ms INTEGER NOT NULL,
    PRIMARY KEY (activity_id, key)
) WITHOUT ROWID;

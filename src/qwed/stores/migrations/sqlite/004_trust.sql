-- What lowers an agent's trust, kept beside the record it follows from.

-- How many of the day's actions were not denied.
ALTER TABLE days ADD COLUMN actions INTEGER NOT NULL DEFAULT 0;

-- The misdeeds that still weigh on an agent.
CREATE TABLE conduct (
    agent_id TEXT PRIMARY KEY,
    body     BLOB NOT NULL
) WITHOUT ROWID;

-- Every change of level or status, in the order in which they were recorded.
CREATE TABLE trust_changes (
    number   INTEGER PRIMARY KEY,
    agent_id TEXT NOT NULL,
    at_ms    INTEGER NOT NULL,
    cause    TEXT NOT NULL,
    body     BLOB NOT NULL
);
CREATE INDEX trust_changes_by_agent ON trust_changes (agent_id, number);

CREATE INDEX outcomes_by_agent ON outcomes (agent_id, activity_id);

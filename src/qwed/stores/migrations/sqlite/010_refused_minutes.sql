-- How often an agent was refused before an engine looked at its action, by minute. `is_unstated`: some were
-- only counted, and the entry that says so is still to be written.
CREATE TABLE refused_minutes (
    agent_id    TEXT NOT NULL,
    minute      INTEGER NOT NULL,
    is_unstated INTEGER NOT NULL,
    body        BLOB NOT NULL,
    PRIMARY KEY (agent_id, minute)
) WITHOUT ROWID;
CREATE INDEX refused_minutes_unstated ON refused_minutes (minute) WHERE is_unstated;
CREATE INDEX refused_minutes_by_minute ON refused_minutes (minute);

-- expands
-- How often an agent was refused before an engine looked at its action, by minute. `is_unstated`: some were
-- only counted, and the entry that says so is still to be written.
CREATE TABLE refused_minutes (
    agent_id    text COLLATE "C" NOT NULL,
    minute      bigint NOT NULL,
    is_unstated boolean NOT NULL,
    body        bytea NOT NULL,
    PRIMARY KEY (agent_id, minute)
) WITH (fillfactor = 50);
CREATE INDEX refused_minutes_unstated ON refused_minutes (minute) WHERE is_unstated;
CREATE INDEX refused_minutes_by_minute ON refused_minutes (minute);

-- expands
-- Sessions of browsers that were signed out, until their cookies would have expired.
CREATE TABLE ended_sessions (
    session_id bytea PRIMARY KEY,
    expires_ms bigint NOT NULL
);
CREATE INDEX ended_sessions_by_expiry ON ended_sessions (expires_ms);

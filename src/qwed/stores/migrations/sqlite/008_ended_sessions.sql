-- Sessions of browsers that were signed out, until their cookies would have expired.
CREATE TABLE ended_sessions (
    session_id BLOB PRIMARY KEY,
    expires_ms INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX ended_sessions_by_expiry ON ended_sessions (expires_ms);

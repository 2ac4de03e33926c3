-- What the sessions of people stand on, sealed under the deployment's secret, until their cookies expire.
CREATE TABLE sign_ins (
    session_id BLOB PRIMARY KEY,
    body       BLOB NOT NULL,
    expires_ms INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX sign_ins_by_expiry ON sign_ins (expires_ms);

-- expands
-- What the sessions of people stand on, sealed under the deployment's secret, until their cookies expire.
CREATE TABLE sign_ins (
    session_id bytea PRIMARY KEY,
    body       bytea NOT NULL,
    expires_ms bigint NOT NULL
);
CREATE INDEX sign_ins_by_expiry ON sign_ins (expires_ms);

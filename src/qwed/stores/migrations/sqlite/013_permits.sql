-- Permits, one row each as it stands now, and what was found when one was not kept.
CREATE TABLE permits (
    jti TEXT PRIMARY KEY,
    activity_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    audience TEXT NOT NULL,
    action_hash TEXT NOT NULL,
    state TEXT NOT NULL,
    expires_ms INTEGER NOT NULL,
    version INTEGER NOT NULL,
    body BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX permits_by_activity ON permits (activity_id);
CREATE INDEX unused_permits ON permits (agent_id, action_hash) WHERE state = 'issued';
CREATE INDEX permits_due ON permits (expires_ms) WHERE state = 'issued';
CREATE TABLE permit_findings (
    finding_id TEXT PRIMARY KEY,
    principal_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    body BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX permit_findings_by_principal ON permit_findings (principal_id, at_ms);
CREATE INDEX permit_findings_by_agent ON permit_findings (agent_id, at_ms);

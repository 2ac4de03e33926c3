-- expands
-- Permits, one row each as it stands now, and what was found when one was not kept.
CREATE TABLE permits (
    jti text PRIMARY KEY,
    activity_id text NOT NULL,
    agent_id text NOT NULL,
    audience text NOT NULL,
    action_hash text NOT NULL,
    state text NOT NULL,
    expires_ms bigint NOT NULL,
    version integer NOT NULL,
    body bytea NOT NULL
);
CREATE INDEX permits_by_activity ON permits (activity_id);
CREATE INDEX unused_permits ON permits (agent_id, action_hash) WHERE state = 'issued';
CREATE INDEX permits_due ON permits (expires_ms) WHERE state = 'issued';
CREATE TABLE permit_findings (
    finding_id text PRIMARY KEY,
    principal_id text NOT NULL,
    agent_id text NOT NULL,
    kind text NOT NULL,
    at_ms bigint NOT NULL,
    body bytea NOT NULL
);
CREATE INDEX permit_findings_by_principal ON permit_findings (principal_id, at_ms);
CREATE INDEX permit_findings_by_agent ON permit_findings (agent_id, at_ms);

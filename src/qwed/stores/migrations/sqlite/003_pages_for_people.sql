-- What pages for people read, so that none of them has to count the whole record.

-- Decisions by hour, outcome and code, under their principal and, under '', of everybody.
CREATE TABLE hours (
    principal_id TEXT NOT NULL,
    hour         INTEGER NOT NULL,
    decision     TEXT NOT NULL,
    error_code   TEXT NOT NULL,
    entries      INTEGER NOT NULL,
    cost_nano    INTEGER NOT NULL,
    PRIMARY KEY (principal_id, hour, decision, error_code)
) WITHOUT ROWID;

INSERT INTO hours
    SELECT principal_id, at_ms / 3600000, decision, coalesce(error_code, ''), count(*),
           CAST(min(4611686018427387904, total(cost_nano)) AS INTEGER)
    FROM activities WHERE decision != 'NOTED' GROUP BY 1, 2, 3, 4;
INSERT INTO hours
    SELECT '', hour, decision, error_code, sum(entries),
           CAST(min(4611686018427387904, total(cost_nano)) AS INTEGER)
    FROM hours GROUP BY hour, decision, error_code;

CREATE INDEX activities_by_principal ON activities (principal_id, seq);
-- Changes that people made: few, and looked for among many decisions.
CREATE INDEX activities_noted ON activities (agent_id, seq) WHERE decision = 'NOTED';
CREATE INDEX approvals_waiting ON approvals (principal_id, approval_id, ends_ms, status) WHERE status = 'open';

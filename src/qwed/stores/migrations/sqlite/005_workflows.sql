-- Policy tokens that were accepted, and which of their nodes are done.
CREATE TABLE workflows (
    workflow_id  TEXT PRIMARY KEY,
    principal_id TEXT NOT NULL,
    body         BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE workflow_nodes (
    workflow_id TEXT NOT NULL,
    node_id     TEXT NOT NULL,
    jti         TEXT NOT NULL,
    PRIMARY KEY (workflow_id, node_id)
) WITHOUT ROWID;
